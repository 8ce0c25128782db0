import { expect, it } from "vitest";
import { m } from "../../src/messages/messages.ts";
import { MirrorError } from "../../src/mirror/mirror-error.ts";
import { StepSize } from "../../src/mirror/step-size.ts";

const failure = (isTooLong: boolean) => new MirrorError("mirror_slow", m.mirror.orderUnknown, { isTooLong });

it("shrinks with a step that took too long or failed over a value, and with nothing else, and grows with each that is done", () => {
  const size = new StepSize();
  size.noteFailed(failure(false));
  size.noteFailed(new Error("no room"));
  expect(size.of(2_000)).toBe(2_000);
  size.noteFailed(failure(true));
  expect(size.of(2_000)).toBe(500);
  size.noteFailed(failure(false), { isOfValue: true });
  expect(size.of(2_000)).toBe(125);
  for (let failures = 0; failures < 20; failures++) size.noteFailed(failure(true));
  expect(size.of(2_000)).toBe(1);
  for (let steps = 0; steps < 20; steps++) size.noteDone();
  expect(size.of(2_000)).toBe(2_000);
});
