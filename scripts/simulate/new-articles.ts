/*
 * A shop with a catalog, whose service ignores stock and prices of articles that it does not have yet: new articles reach the
 * tables in any order, minutes or an hour apart. Drawn with its own random numbers (`found.ts`).
 */
import { integerBetween, pickOne, type Random } from "../../src/sandbox/random.ts";
import { AS_USUAL, type Forms, SAYS_BY_COUNTS, SAYS_BY_NAMES } from "./forms.ts";
import type { Added, CrashPoint, FeedName, Step } from "./schedule.ts";
import { HOUR, idle, MINUTE, pass } from "./steps.ts";

/** Forms that say from the first answer on what was not accepted. */
const SAYS = ["counts", "counts", ...SAYS_BY_COUNTS, ...SAYS_BY_NAMES] as const;
const CRASHES: readonly CrashPoint[] = ["request", "answer", "before commit", "in commit", "after commit"];

const write = (feed: FeedName, key: number, how: "upsert" | "in flight" | "delete-insert" = "upsert"): Step => ({
  after: 0,
  do: "write",
  feed,
  key,
  how,
});
const remove = (key: number): Step => ({ after: 0, do: "remove", feed: "catalog", key });

export function newArticles(random: Random, forms: Forms): Added | undefined {
  if (!AS_USUAL.has(forms.importAnswer) || forms.takenRecords !== null || forms.limited === "import") return undefined;
  if (forms.ignores !== "nothing") return undefined;
  // Of a table that is sent whole a part is not refused.
  const catalog = forms.whole ? "silent" : pickOne(random, ["silent", "silent", "errors", "said"] as const);
  const prices = forms.prices || random() < 0.5;
  const importAnswer = catalog === "said" ? pickOne(random, SAYS) : forms.importAnswer;
  const feeds: FeedName[] = prices ? ["stocks", "prices", "catalog"] : ["stocks", "catalog"];
  const rounds = integerBetween(random, 1, 3);
  return {
    forms: { ...forms, catalog, prices, importAnswer, leavesSite: random() < 0.5 },
    first: [0, 1, 2, 3].filter(() => random() < 0.5).map((key) => write("catalog", key)),
    steps: Array.from({ length: rounds }, () => round(random, feeds, rounds === 1)).flat(),
  };
}

/**
 * Where one record is always denied, its feed holds all imports again and again, and one whose articles are unknown has the turns between: the
 * catalog comes late. Such services ignore unknown articles silently.
 */
export function withoutDenied(forms: Forms, steps: readonly Step[]): Forms {
  const isSaid = forms.catalog === "errors" || forms.catalog === "said";
  return isSaid && steps.some(isDeniedForEver) ? { ...forms, catalog: "silent" } : forms;
}

function isDeniedForEver(step: Step): boolean {
  if (step.do !== "lie" || step.lie.on !== "import" || step.lie.span !== "for ever") return false;
  return [401, 402, 403].includes(step.lie.status);
}

function round(random: Random, feeds: readonly FeedName[], isAlone: boolean): Step[] {
  const key = integerBetween(random, 0, 3);
  const maybe = (share: number, steps: () => Step[]) => (random() < share ? steps() : []);
  return [
    ...maybe(0.4, () => leave(random, key)),
    ...shuffled(random, feeds).flatMap((feed): Step[] => [
      ...(feed === "catalog" ? maybe(0.6, () => trouble(random, key)) : []),
      write(feed, key),
      ...maybe(0.2, () => [write(feed, integerBetween(random, 0, 3))]),
      ...gap(random, isAlone),
    ]),
    ...idle(integerBetween(random, 1, 2)),
    ...maybe(0.4, () => [
      write("catalog", key, pickOne(random, ["upsert", "delete-insert"])),
      ...maybe(0.5, () => [pass()]),
    ]),
    ...maybe(0.4, () => [write(pickOne(random, feeds), key), pass()]),
  ];
}

/** Until the next table has the article. */
function gap(random: Random, isAlone: boolean): Step[] {
  const roll = random();
  if (roll < 0.3) return [];
  if (roll < 0.8) return idle(integerBetween(random, 1, 2));
  // How answers are while nothing is accepted for a day counts as usual.
  return [{ after: pickOne(random, isAlone ? [12 * MINUTE, HOUR, 5 * HOUR] : [12 * MINUTE, HOUR]), do: "wait" }];
}

/** The article is deleted for a while; the answer to that may be lost. */
function leave(random: Random, key: number): Step[] {
  return [
    remove(key),
    ...(random() < 0.3 ? [] : idle(integerBetween(random, 2, 4))),
    ...(random() < 0.3 ? [lost(random), pass()] : []),
    ...(random() < 0.3 ? [write("stocks", key), pass()] : []),
  ];
}

const lost = (random: Random): Step => ({
  after: 0,
  do: "net",
  on: "import",
  fate: { kind: "reset", when: pickOne(random, ["before", "after"]) },
});

/** While the article's record is sent, or would be. */
function trouble(random: Random, key: number): Step[] {
  const roll = random();
  if (roll < 0.25) return [lost(random)];
  if (roll < 0.5)
    return [{ after: 0, do: "crash", at: pickOne(random, CRASHES), skip: integerBetween(random, 0, 6), reboot: false }];
  if (roll < 0.65) return [write("stocks", key, "in flight")];
  const status = pickOne(random, [402, 403, 404, 422, 429, 500, 503]);
  const lie = { on: "import", status, body: "refusal", when: "before", ageMs: 0, retryAfter: null } as const;
  const ms = pickOne(random, [2 * MINUTE, 12 * MINUTE]);
  return [{ after: 0, do: "lie", lie: { ...lie, of: { feed: "catalog" }, span: { ms } } }];
}

function shuffled<T>(random: Random, all: readonly T[]): T[] {
  return all
    .map((each) => ({ each, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ each }) => each);
}
