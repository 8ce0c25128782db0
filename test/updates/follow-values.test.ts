import fc from "fast-check";
import { describe, expect } from "vitest";
import { parseTimestamp } from "../../src/answers/timestamp.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { startWithRewritten } from "../support/rewritten.ts";
import { itSome, itWhole, runs, some } from "../support/whole.ts";

/** JSON literals at the ends of their types. */
const EXTREMES = [
  ...["0000-01-01T00:00:00Z", "0001-01-01", "1969-12-31T23:59:59.999999999Z", "2262-04-11T23:47:16.854775808Z"],
  ...[
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59.999999999+14:00",
    "+275760-09-13T00:00:00Z",
    "-000001-01-01T00:00:00Z",
  ],
  ...["2026-02-30T00:00:00Z", "2026-03-01T24:00:00Z", "Sun, 01 Mar 2026 12:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"],
  ...["9999999999", "9999999999999", "9999999999999999", "", " ", "null", "\u0000", "../confirm", "__proto__", "NaN"],
]
  .map((text) => JSON.stringify(text))
  .concat(["-1", "0", "-0.0", "1e400", "-1e400", "1e-400", "9999999999", "9999999999999999", "9223372036854775807"])
  .concat(["9223372036854775808", "-9223372036854775809", "123456789012345678901234567890", "1.7976931348623157e308"])
  .concat(["true", "false", "null", "[]", "{}", "[[[]]]", '{"a":{"b":null}}', '"\\ud800"', '"\\u0000"', '"\uffff😀"']);

const FIELDS = ["order_id", "number", "status", "created_at", "updated_at", "currency", "total", "items", "lines"];

const record = fc.tuple(
  fc.dictionary(fc.constantFrom(...FIELDS), fc.constantFrom(...EXTREMES)),
  fc.boolean(),
  fc.nat({ max: 2 }),
);
const element = fc.oneof({ weight: 4, arbitrary: record }, { weight: 1, arbitrary: fc.constantFrom(...EXTREMES) });

/** U+E000 stands for a byte that is no UTF-8. */
const RAW = Buffer.from("\ue000").toString("latin1");

/** Serves every page of changes with these elements beside what it holds, wherever they are asked from. */
function beside(test: Followed, elements: readonly string[], more = ""): void {
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  service.handle = (request) => {
    const response = handle(request);
    if (!request.path.includes("/updates")) return response;
    const text = response.body.toString("latin1");
    const [, list = ""] = /"updates":\[(.*)\]/s.exec(text) ?? [];
    const extra = Buffer.from(elements.join(",")).toString("latin1").replace(RAW, "\xff");
    const end = Buffer.from(more).toString("latin1");
    const body = `{"updates":[${[extra, list].filter((part) => part !== "").join(",")}]${end}}`;
    return { ...response, status: 200, body: Buffer.from(body, "latin1") };
  };
}

const isNow = (test: Followed) => {
  const mark = parseTimestamp(test.watermark() ?? "", "UTC");
  return mark !== undefined && Number(mark.instantNs / 1_000_000n) <= test.clock.nowMs() + 1_000;
};

itSome(1)(["orders", "updates"] as const)(
  "an order whose time is absurd has no other change asked for in a way that the service does not understand: %s",
  async (endpoint) => {
    const test = await startWithRewritten(3);
    const absurd = endpoint === "updates" ? test.ids[0]! : test.sandbox.service.createOrder();
    test.rewrite(endpoint, (order) =>
      order["order_id"] === absurd ? { ...order, updated_at: 8640000000000001 } : order,
    );
    await test.run("orders");
    test.change(test.ids[0]!, { status: "paid" });
    await test.poll();
    for (const status of ["paid", "packed", "shipped"]) {
      test.change(test.ids[1]!, { status });
      await test.poll();
      expect(test.statusOf(test.ids[1]!).status).toBe(status);
    }
    expect(test.sinces().filter((since) => !/^2026-03-01T/.test(since))).toEqual([]);
  },
);

describe("any value in any field of a change", () => {
  itWhole(
    "leaves the page's other changes stored, and the watermark a time that the service has reached",
    async () => {
      const test = await startFollowed(4);
      const honest = test.sandbox.service.handle;
      let status = 0;
      // Paths that never matched are the configuration's fault, not a record's.
      test.change(test.ids[3]!, { status: "s0" });
      await test.poll();
      await fc.assert(
        fc.asyncProperty(fc.array(element, { minLength: 1, maxLength: 4 }), async (elements) => {
          test.sandbox.service.handle = honest;
          beside(
            test,
            elements.map((each) => {
              if (typeof each === "string") return each;
              const [fields, hasId, order] = each;
              const written = Object.entries(fields).map(([key, value]) => `"${key}":${value}`);
              return `{${[...(hasId ? [`"order_id":"${test.ids[order]}"`] : []), ...written].join(",")}}`;
            }),
          );
          status += 1;
          test.change(test.ids[3]!, { status: `s${status}` });
          test.clock.advance(60_000);
          const result = await test.run("updates");
          // The position waits for what holds nothing; everything beside it is stored.
          const isHollow = result.error !== null;
          if (isHollow) expect(String(result.error?.message)).toContain("Empty records");
          expect(test.statusOf(test.ids[3]!).status).toBe(`s${status}`);
          if (!isHollow) expect(isNow(test)).toBe(true);
        }),
        { numRuns: runs(15, 250) },
      );
    },
    60_000,
  );

  itSome(1)([
    ["beyond the year 2262", '{"order_id":"ID","updated_at":"9999-12-31T23:59:59Z"}'],
    ["10 MB of text", `{"order_id":"ID","updated_at":"${"9".repeat(10_000_000)}"}`],
    ["no UTF-8", '{"order_id":"ID","updated_at":"\ue000"}'],
    ["false in the place of a record", "false"],
  ])("stops nothing: %s", async (_name, text) => {
    const test = await startFollowed(2);
    const evil = text.replace("ID", test.ids[0]!);
    beside(test, [evil]);
    for (const status of ["paid", "packed"]) {
      test.change(test.ids[1]!, { status });
      await test.poll();
      expect(test.statusOf(test.ids[1]!).status).toBe(status);
      expect(isNow(test)).toBe(true);
    }
  });

  itWhole.each(some(EXTREMES, 5))("beside the page's list changes nothing: next is %s", async (value) => {
    const test = await startFollowed(2, { settings: { updates: { next: "$.next" } } });
    beside(test, [], `,"next":${value}`);
    test.change(test.ids[1]!, { status: "paid" });
    test.clock.advance(60_000);
    await test.run("updates");
    expect(test.statusOf(test.ids[1]!).status).toBe("paid");
    const mark = test.watermark()!;
    test.sandbox.service.handle = Object.getPrototypeOf(test.sandbox.service)
      .handle as typeof test.sandbox.service.handle;
    test.change(test.ids[0]!, { status: "paid" });
    test.clock.advance(400_000);
    const result = await test.run("updates");
    expect(result.error, `after ${mark}`).toBeNull();
    // A token that was answered well, by a service that knows none such: the next sweep finds what it hides.
    if (test.statusOf(test.ids[0]!).status !== "paid") await test.sweep();
    expect(test.statusOf(test.ids[0]!).status).toBe("paid");
  });
});
