import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LostVersion, noteLost, type SetBack } from "../../src/updates/reads/plan-set-back.ts";

const HOUR_MS = 3_600_000;
const NOON_MS = Date.UTC(2026, 2, 1, 12);
const hour = (hours: number) => NOON_MS + hours * HOUR_MS;

/** An order that was changed at one time and is as it was at an earlier one. */
function lost(orderId: string, lostHours: number, keptHours: number, atHours = 4): LostVersion {
  return { orderId, lostMs: hour(lostHours), keptMs: hour(keptHours), atMs: hour(atHours) };
}

function noteAll(versions: readonly LostVersion[], known: SetBack = { lost: [] }): SetBack {
  return versions.reduce((all, version) => noteLost(all, version, { serviceMs: version.atMs }), known);
}

describe("versions that the service has lost", () => {
  it("of one order say nothing of the others", () => {
    expect(noteAll([lost("a", 2, -5), lost("a", 3, -5)]).noticed).toBeUndefined();
  });

  it("of two orders show the state that it has", () => {
    expect(noteAll([lost("a", 2, -5), lost("b", 3, -2)]).noticed).toEqual({
      keptMs: hour(-2),
      lostBeforeMs: hour(4),
      atMs: hour(4),
    });
  });

  it.each([
    ["one has kept what is later than what the other has lost", [lost("a", 2, -5), lost("b", 3, 2)]],
    ["they are two days and more apart", [lost("a", 2, -5, 4), lost("b", 3, -2, 53)]],
  ])("are of no one moment where %s", (_, versions) => {
    expect(noteAll(versions).noticed).toBeUndefined();
  });

  it("count beside one that has nothing to do with them", () => {
    const versions = [lost("alone", -10, -20), lost("a", 2, -5), lost("b", 3, -2)];
    expect(noteAll(versions).noticed?.keptMs).toBe(hour(-2));
  });

  it("are noticed once, however many are found later", () => {
    const once = noteAll([lost("a", 2, -5), lost("b", 3, -2)]);
    expect(noteAll([lost("c", 1, -3, 5), lost("d", 3.5, -1, 6)], once)).toBe(once);
  });

  it("are noticed anew where it goes back again", () => {
    const once = noteAll([lost("a", 2, -5), lost("b", 3, -2)]);
    const twice = noteAll([lost("a", 6, 5, 8), lost("c", 7, 4, 8)], once);
    expect(twice.noticed?.keptMs).toBe(hour(5));
  });

  it("never name a state from after something that was lost, and keep a bounded number", () => {
    const version = fc.record({
      orderId: fc.constantFrom("a", "b", "c", "d", "e"),
      lostMs: fc.integer({ min: 0, max: 1_000 }),
      keptMs: fc.integer({ min: 0, max: 1_000 }),
      atMs: fc.integer({ min: 0, max: 1_000 }),
    });
    fc.assert(
      fc.property(fc.array(version, { maxLength: 80 }), (versions) => {
        let known: SetBack = { lost: [] };
        for (const each of versions) {
          const before = known;
          known = noteLost(before, each, { serviceMs: each.atMs });
          expect(known.lost.length).toBeLessThanOrEqual(50);
          if (known.noticed === before.noticed) continue;
          expect(known.noticed?.keptMs).toBeLessThan(each.lostMs);
          expect(known.noticed?.keptMs).toBeGreaterThanOrEqual(each.keptMs);
        }
      }),
    );
  });
});
