import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readOrderId } from "../../src/answers/uuid.ts";

const id = "0b9a3d2e-11aa-4f6b-9c3d-0123456789ab";

describe("readOrderId", () => {
  it("gives the one spelling that is stored", () => {
    expect(readOrderId(id.toUpperCase())).toBe(id);
    fc.assert(fc.property(fc.uuid(), (uuid) => readOrderId(uuid) === uuid));
  });

  it.each([
    ...["", "42", "../confirm", `{${id}}`, ` ${id}`, `${id}\n`, `urn:uuid:${id}`, id.replaceAll("-", "")],
    ...[id.slice(1), `${id}0`, id.replace("0b", "0g"), id.replace("-", "_"), `${id}/../x`, `${id}\0`],
  ])("refuses %j", (text) => {
    expect(readOrderId(text)).toBeUndefined();
  });
});
