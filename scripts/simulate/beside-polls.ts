/*
 * Changes that only a poll finds which asks as it should: from before its position, or from a time that it has seen already. Each
 * order changes once, so that no later change brings what was passed over, and nothing else shows it before the night. Each is
 * drawn with its own random numbers (`found.ts`).
 */
import { pickOne, type Random } from "../../src/sandbox/random.ts";
import { type Forms, isUnsafe } from "./forms.ts";
import type { Apart, Step } from "./schedule.ts";
import { idle, MINUTE, orders, SECOND } from "./steps.ts";

/** The first order changes all the time, and each of so many others once: in a minute, and so around a poll. */
const OTHERS = 8;
/** Less than the eight seconds by which a change appears late. */
const APART = 7 * SECOND;
const BESIDE = MINUTE / OTHERS - APART;

const change = (after: number, order: number, timestamp: "now" | "late" = "now"): Step => {
  return { after, do: "change", order, what: "lines", timestamp };
};

/** All orders come in one batch. */
function atOnce(forms: Forms): Forms | undefined {
  if (isUnsafe(forms) || forms.retention || forms.limited !== "none" || forms.sinceAgeMax !== null) return undefined;
  if (forms.keeps !== "oldest" || forms.lagMs > 0 || forms.scope === "confirmed") return undefined;
  const content = { carry: "changes", lines: true, next: "none" } as const;
  return { ...forms, ...content, batchSize: 2 * OTHERS };
}

/** Changes appear some seconds late: the overlap finds them. */
export function lateBesidePolls(random: Random, forms: Forms): Apart | undefined {
  const lookBackMs = forms.lookBackMs === 0 ? 30_000 : forms.lookBackMs;
  const drawn = atOnce(forms);
  if (drawn === undefined) return undefined;
  const pairs = Array.from({ length: OTHERS }, (_, place) => [change(BESIDE, 0), change(APART, 1 + place, "late")]);
  return {
    forms: { ...drawn, lookBackMs, precision: pickOne(random, ["s", "ms"] as const), page: 100 },
    steps: [orders(OTHERS + 1), ...idle(3), ...pairs.flat(), ...idle(2)],
  };
}

/** So many changes of one minute and the next are on two pages, and the second minute is on both. */
const PAGE = 5;
const EARLIER = 2;

/** Times are cut to the minute, and a page ends within one: it is asked from that minute on, and not from behind it. */
export function cutWithinMinute(random: Random, forms: Forms): Apart | undefined {
  const drawn = atOnce(forms);
  if (drawn === undefined) return undefined;
  const later = Array.from({ length: PAGE - 1 }, (_, place) => change(2 * SECOND, EARLIER + place));
  return {
    forms: { ...drawn, lookBackMs: pickOne(random, [30_000, 600_000] as const), precision: "min", page: PAGE },
    steps: [
      orders(OTHERS + 1),
      ...idle(12),
      change(0, 0),
      change(SECOND, 1),
      { after: MINUTE - 2 * PAGE * SECOND, do: "wait" },
      ...later,
      ...idle(2),
    ],
  };
}
