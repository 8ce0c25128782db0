import { expect, it } from "vitest";
import { untilSettled } from "../../scripts/soak/settle.ts";

const MINUTE_MS = 60_000;

/** Looks at what is left by then, of so many that become one less every so many minutes down to a rest. */
async function settle({ from, everyMinutes, rest = 0, endsMs = Number.POSITIVE_INFINITY }: Record<string, number>) {
  let nowMs = 0;
  const look = () => {
    const left = Math.max(rest, (from ?? 0) - Math.floor(nowMs / ((everyMinutes ?? 1) * MINUTE_MS)));
    return left === 0 ? [] : [`${left} orders are owed a read`];
  };
  const clock = {
    isRunning: () => nowMs < endsMs,
    nowMs: () => nowMs,
    wait: async (ms: number) => {
      nowMs += ms;
    },
  };
  return { left: await untilSettled(look, clock), minutes: nowMs / MINUTE_MS };
}

it("waits for as long as less is left", async () => {
  expect(await settle({ from: 20, everyMinutes: 9 })).toEqual({ left: [], minutes: 180 });
});

it("gives what stands still for longer than a confirm waits after a lost answer", async () => {
  expect(await settle({ from: 5, everyMinutes: 1, rest: 2 })).toEqual({
    left: ["2 orders are owed a read"],
    minutes: 73,
  });
});

it("waits no longer than the daemon runs", async () => {
  expect(await settle({ from: 5, rest: 5, endsMs: MINUTE_MS })).toMatchObject({ minutes: 1 });
});
