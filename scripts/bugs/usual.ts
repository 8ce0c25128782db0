/* Bugs that overlook what only somebody notices who knows what is usual. */
import { hostile, type PlantedBug, tested } from "./bug.ts";

const SHORTFALL = "src/completeness/shortfall.ts";
const DATES = "src/service/served-dates.ts";

/** A batch lacks an order, and this beside its list says so. */
const part = (beside: string) => ({ forms: { beside }, step: { do: "lie", lie: { body: "part" } } }) as const;
const LACKING = { step: { do: "lie", lie: { body: "no value" } } } as const;
const COPIED = { step: { do: "lie", lie: { body: "cached with its date" } } } as const;

export const USUAL_BUGS: readonly PlantedBug[] = [
  hostile(
    "a total beside a batch overlooked",
    SHORTFALL,
    ['if (field.kind !== "count" || isPages(field)) return false;', 'if (field.kind !== "number") return false;'],
    part("total"),
  ),
  hostile(
    "a number beside a batch overlooked",
    SHORTFALL,
    ["equal === UNNAMED_EQUAL_TIMES &&", "equal === 0 &&"],
    part("number"),
  ),
  hostile(
    "a flag beside a batch overlooked",
    SHORTFALL,
    ["if (isPartFlag(field)) return field.says;", "if (isPartFlag(field)) return false;"],
    part("partial"),
  ),
  hostile(
    "orders that were left out of a batch overlooked",
    SHORTFALL,
    ["return field.says && (field.isClear ||", "return false && (field.isClear ||"],
    part("skipped"),
  ),
  hostile(
    "a text of what was left out of a batch overlooked",
    "src/completeness/list-metadata.ts",
    ["const isMessage = isBeside &&", "const isMessage = !isBeside &&"],
    part("message"),
  ),
  hostile(
    "ids beside a batch overlooked",
    "src/completeness/orders-beside-list.ts",
    ["if (!this.#isSettled(fresh)) missing.push(field);", "if (!this.#isSettled([])) missing.push(field);"],
    part("ids"),
  ),
  tested(
    "test/service/served-dates.test.ts",
    "a copy of an order taken for fresh by its Date",
    { in: "#isOld", find: "return nowMs - atMs > FRESH_MS &&", replace: "return nowMs < atMs &&" },
    DATES,
  ),
  hostile(
    "a copy of an order taken for the service's time",
    DATES,
    ["? !this.#isBehind(date, nowMs) :", "? nowMs >= 0 :"],
    COPIED,
  ),
  hostile(
    "a list that is written later taken for a replica that is behind",
    "src/updates/times/change-lag.ts",
    ["if (ns === undefined) return false;", "if (ns !== 0n) return false;"],
    { forms: { lagMs: [20_000, 240_000], lagStamp: "entry" } },
  ),
  hostile(
    "a value that all orders lose at once believed",
    "src/completeness/lost-values.ts",
    ["  let lost = findLacking(order);\n", "  let lost: LostPart[] = [];\n"],
    LACKING,
  ),
];
