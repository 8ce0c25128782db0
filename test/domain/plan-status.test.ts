import { describe, expect, it } from "vitest";
import { compareStatus, type OrderMoves } from "../../src/domain/plan-status.ts";

const REQUEST = { statusSent: "packed", statusBefore: "new" };
const STILL: OrderMoves = {
  hasComeBack: false,
  hasStatusChanged: false,
  isSameContent: true,
  stampBefore: "2026-03-01T12:00:00Z",
  stamp: "2026-03-01T12:00:00Z",
};
const LATER = "2026-03-01T12:00:05Z";

const compare = (now: string | null, moves: Partial<OrderMoves> = {}, request = REQUEST) =>
  compareStatus(now, request, { ...STILL, ...moves }, "UTC");

describe("an order that is read after a lost answer", () => {
  it.each<[string, string | null, Partial<OrderMoves>, string]>([
    ["has the wanted status", "packed", {}, "wanted"],
    ["has the wanted status beside other changes", "packed", { isSameContent: false, stamp: LATER }, "wanted"],
    ["has its former status, and nothing else has happened", "new", {}, "former"],
    ["has a third status", "shipped", {}, "another"],
    ["has no status any more", null, {}, "another"],
    ["had the wanted status in between, and has the former one", "new", { hasComeBack: true }, "wanted"],
    ["had the wanted status in between, and has a third one", "shipped", { hasComeBack: true }, "wanted"],
    ["had a third status in between", "new", { hasStatusChanged: true, isSameContent: false, stamp: LATER }, "moved"],
    ["bears a newer stamp that nothing else explains", "new", { stamp: LATER }, "moved"],
    ["bears a newer stamp because of another change", "new", { isSameContent: false, stamp: LATER }, "former"],
    ["bears an older stamp", "new", { stamp: "2026-03-01T11:59:59Z" }, "former"],
    ["bears no stamp any more", "new", { stamp: null }, "former"],
    ["had no stamp", "new", { stampBefore: null, stamp: LATER }, "former"],
    ["bears what is no stamp", "new", { stamp: "just now" }, "former"],
    ["bears the same stamp with more digits", "new", { stamp: "2026-03-01T12:00:00.412Z" }, "former"],
    ["bears the same stamp in another zone", "new", { stamp: "2026-03-01T15:00:00+03:00" }, "former"],
  ])("%s", (_, now, moves, verdict) => {
    expect(compare(now, moves)).toBe(verdict);
  });

  it("has its former status where it never had one", () => {
    expect(compare(null, {}, { statusSent: "packed", statusBefore: null as never })).toBe("former");
  });

  it("tells by the stamp of a service that names no zone", () => {
    const naive = { stampBefore: "2026-03-01 12:00:00", stamp: "2026-03-01 12:00:01" };
    expect(compareStatus("new", REQUEST, { ...STILL, ...naive }, "Europe/Moscow")).toBe("moved");
  });
});
