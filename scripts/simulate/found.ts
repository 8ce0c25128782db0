/*
 * Situations found by attacks from outside that the other draws do not contain. Each is drawn with its own random
 * numbers, so that the rest of a life does not change.
 */
import { integerBetween, pickOne, type Random, seededRandom } from "../../src/sandbox/random.ts";
import { cutWithinMinute, lateBesidePolls } from "./beside-polls.ts";
import { confirmFails, endpointFails, positionFails, rowFails, wideFails } from "./but-one.ts";
import {
  AS_USUAL,
  type Forms,
  isUnsafe,
  LINKS,
  namesOneBatch,
  namesZone,
  SAYS_A_NUMBER,
  SAYS_AS_USUAL,
  SAYS_BY_COUNTS,
  SAYS_BY_NAMES,
  SAYS_OF_CHANGES,
  SAYS_OF_PARTS,
  SAYS_OF_RECORDS,
  SAYS_OTHERWISE,
  SAYS_OUTCOMES,
  SAYS_PLAINLY,
} from "./forms.ts";
import { OTHERWISE } from "./hostile/grammar.ts";
import { EMPTY_WORDS } from "./hostile/lies.ts";
import { newArticles } from "./new-articles.ts";
import type { Added, Apart, Fate, Respelled, Step, WorldKind } from "./schedule.ts";
import { MISTYPED_KEYS, SLIPS } from "./slips.ts";
import { change, HOUR, idle, MINUTE, orders, PASS, pass, SECOND } from "./steps.ts";
import { TIMES_BACK } from "./times-back.ts";

const DAY = 24 * HOUR;

/** The probability, and what is drawn. */
interface Found {
  readonly tag: number;
  readonly shares: Readonly<Record<WorldKind, number>>;
  readonly draw: (random: Random, forms: Forms, world: WorldKind) => Added | undefined;
}

const FOUND: readonly Found[] = [
  { tag: 0x5a9e, shares: { usual: 0.04, hostile: 0.08 }, draw: oneName },
  { tag: 0x5a1d, shares: { usual: 0.03, hostile: 0.12 }, draw: leftOut(SAYS_OF_RECORDS) },
  { tag: 0x5a63, shares: { usual: 0.02, hostile: 0.08 }, draw: leftOut(SAYS_OF_PARTS) },
  { tag: 0x5a2e, shares: { usual: 0.02, hostile: 0.08 }, draw: emptyOtherwise },
  { tag: 0x5a3f, shares: { usual: 0.02, hostile: 0.06 }, draw: emptyBatch },
  { tag: 0x5a41, shares: { usual: 0.02, hostile: 0.08 }, draw: skewed },
  { tag: 0x5a52, shares: { usual: 0.02, hostile: 0.06 }, draw: renamed },
  { tag: 0x3e0c, shares: { usual: 0.04, hostile: 0.08 }, draw: requested },
  { tag: 0x71e5, shares: { usual: 0.03, hostile: 0.05 }, draw: otherTimes },
  { tag: 0x71bb, shares: { usual: 0.06, hostile: 0.1 }, draw: timesBack },
  { tag: 0x7ab1, shares: { usual: 0.02, hostile: 0.04 }, draw: remade },
  { tag: 0x40fe, shares: { usual: 0.03, hostile: 0.06 }, draw: moved },
  { tag: 0x1d1d, shares: { usual: 0.03, hostile: 0.06 }, draw: underOneId },
  { tag: 0x61c5, shares: { usual: 0.03, hostile: 0.06 }, draw: cancelledUnread },
  { tag: 0x61f7, shares: { usual: 0.03, hostile: 0.06 }, draw: cancelledUnseen },
  { tag: 0x5ec1, shares: { usual: 0.02, hostile: 0.05 }, draw: repeatingSecret },
  { tag: 0x3f0d, shares: { usual: 0.02, hostile: 0.05 }, draw: movedOn },
  { tag: 0x3f1e, shares: { usual: 0.02, hostile: 0.04 }, draw: movedOnAtOnce },
  { tag: 0x3f2f, shares: { usual: 0.015, hostile: 0.04 }, draw: queuedAsItIs },
  { tag: 0x3f2f, shares: { usual: 0.02, hostile: 0.05 }, draw: movedOnWithinPoll },
  { tag: 0x18e0, shares: { usual: 0.02, hostile: 0.04 }, draw: sinceIgnored },
  { tag: 0x6a3e, shares: { usual: 0.02, hostile: 0.04 }, draw: madeAnew },
  { tag: 0x5a74, shares: { usual: 0.02, hostile: 0.08 }, draw: leftOut(SAYS_BY_COUNTS) },
  { tag: 0x5a85, shares: { usual: 0.02, hostile: 0.06 }, draw: leftOutAtFirst(SAYS_BY_COUNTS) },
  { tag: 0x0c01, shares: { usual: 0.03, hostile: 0.06 }, draw: ownOrder },
  { tag: 0xf04e, shares: { usual: 0.02, hostile: 0.04 }, draw: refer },
  { tag: 0x0c4e, shares: { usual: 0.03, hostile: 0.06 }, draw: cancelledOtherwise },
  { tag: 0x5a96, shares: { usual: 0.03, hostile: 0.08 }, draw: leftOutAsUsual },
  { tag: 0x5aa7, shares: { usual: 0.02, hostile: 0.05 }, draw: leftOutPlainly },
  { tag: 0x9a6e, shares: { usual: 0.03, hostile: 0.06 }, draw: inPages },
  { tag: 0x409c, shares: { usual: 0.03, hostile: 0.06 }, draw: notConfirmed },
  { tag: 0x61d2, shares: { usual: 0.02, hostile: 0.04 }, draw: withinMinute },
  { tag: 0x54a7, shares: { usual: 0.03, hostile: 0.06 }, draw: sharedArticle },
  { tag: 0x60e1, shares: { usual: 0.03, hostile: 0.06 }, draw: goneElsewhere },
  { tag: 0x1a7e, shares: { usual: 0.03, hostile: 0.06 }, draw: confirmedLate },
  { tag: 0x501d, shares: { usual: 0.03, hostile: 0.06 }, draw: soldOut },
  { tag: 0x5a4a, shares: { usual: 0.01, hostile: 0.02 }, draw: emptyFirst },
  { tag: 0x3f40, shares: { usual: 0.01, hostile: 0.02 }, draw: movedOnInOtherTimes },
  { tag: 0xc407, shares: { usual: 0.02, hostile: 0.04 }, draw: fromCron },
  { tag: 0xc4a8, shares: { usual: 0.03, hostile: 0.06 }, draw: waitedAhead },
  { tag: 0xc4b9, shares: { usual: 0.02, hostile: 0 }, draw: lostAhead },
  { tag: 0x7a3e, shares: { usual: 0, hostile: 0.06 }, draw: wrongTime },
  { tag: 0x0d7a, shares: { usual: 0.02, hostile: 0.04 }, draw: oddTrigger },
  { tag: 0x3157, shares: { usual: 0.05, hostile: 0.1 }, draw: mistyped },
  { tag: 0x10ad, shares: { usual: 0.02, hostile: 0.04 }, draw: otherJournal },
  // A share of the few UTF-16 files only.
  { tag: 0xd83d, shares: { usual: 0.3, hostile: 0.4 }, draw: cutKeys },
  { tag: 0x429d, shares: { usual: 0.02, hostile: 0.04 }, draw: waitUntil },
  { tag: 0x5e7b, shares: { usual: 0.01, hostile: 0.03 }, draw: skewedAfterLoss },
  { tag: 0xa5a1, shares: { usual: 0.02, hostile: 0.05 }, draw: asksAgain },
  { tag: 0x0e44, shares: { usual: 0, hostile: 0.05 }, draw: refusesItsWay },
  { tag: 0xb1de, shares: { usual: 0.01, hostile: 0 }, draw: wideFails },
  { tag: 0xb2ef, shares: { usual: 0.01, hostile: 0 }, draw: positionFails },
  { tag: 0xb3f1, shares: { usual: 0.04, hostile: 0 }, draw: confirmFails },
  { tag: 0xb4a2, shares: { usual: 0.01, hostile: 0 }, draw: rowFails },
  { tag: 0xb5c3, shares: { usual: 0.02, hostile: 0 }, draw: endpointFails },
  { tag: 0x5ab8, shares: { usual: 0.02, hostile: 0.06 }, draw: leftOutAtFirst(SAYS_BY_NAMES) },
  { tag: 0x0ee1, shares: { usual: 0.08, hostile: 0.06 }, draw: ownProperty },
  { tag: 0x5ac9, shares: { usual: 0.02, hostile: 0.06 }, draw: leftOutOtherwise },
  { tag: 0x5ada, shares: { usual: 0.04, hostile: 0.06 }, draw: fewChanges },
  { tag: 0x5aeb, shares: { usual: 0.04, hostile: 0.06 }, draw: silentLimit },
  { tag: 0x5afc, shares: { usual: 0.03, hostile: 0.06 }, draw: lostOutcome },
  { tag: 0xbe51, shares: { usual: 0.015, hostile: 0.02 }, draw: lateBesidePolls },
  { tag: 0xbe62, shares: { usual: 0.015, hostile: 0.02 }, draw: cutWithinMinute },
  // Of those that are left of them.
  { tag: 0x5be1, shares: { usual: 0.11, hostile: 0.13 }, draw: respelled },
  { tag: 0xca7a, shares: { usual: 0.12, hostile: 0.12 }, draw: newArticles },
];

export function drawFound(seed: number, world: WorldKind, forms: Forms): Required<Added> {
  const all: Required<Added> = { forms, steps: [], first: [] };
  for (const { tag, shares, draw } of FOUND) {
    const random = seededRandom(seed ^ tag);
    for (let turn = 0; turn < 4; turn++) random();
    const drawn = random() < shares[world] ? draw(random, all.forms, world) : undefined;
    if (drawn === undefined) continue;
    all.forms = drawn.forms;
    all.steps.push(...drawn.steps);
    all.first.push(...(drawn.first ?? []));
  }
  return all;
}

/** Orders have a property that reads like a number of lines, or like an error of the answer. */
function ownProperty(random: Random, forms: Forms): Added {
  return { forms: { ...forms, own: pickOne(random, ["lines", "pieces", "error"]) }, steps: [] };
}

/** A record that the service does not accept is reported beside the others, in the usual form of the answers. */
function leftOut(answers: readonly Forms["importAnswer"][]): Found["draw"] {
  return (random, forms, world) => {
    // A table that is sent whole is refused whole, and a part is shown only by counts.
    if (forms.whole || forms.takenRecords !== null) return undefined;
    const steps = leaveOut(random, world);
    const importAnswer = pickOne(random, answers);
    // Another text that is the only answer for a day is usual from then on, whatever it says.
    const isShort = importAnswer === "sentence";
    const shorten = (step: Step) =>
      step.do === "leave out" && isShort ? { ...step, ms: Math.min(step.ms, 6 * HOUR) } : step;
    return { forms: { ...forms, importAnswer }, steps: steps.map(shorten) };
  };
}

/** The meaning of a first answer with such counts is unknown. */
function leftOutAsUsual(random: Random, forms: Forms, world: WorldKind): Added | undefined {
  const isFirst = SAYS_BY_COUNTS.some((form) => form === forms.importAnswer);
  return isFirst ? undefined : leftOut(SAYS_AS_USUAL)(random, forms, world);
}

/** Only a form that nothing else has drawn is replaced. */
function leftOutOtherwise(random: Random, forms: Forms, world: WorldKind): Added | undefined {
  return AS_USUAL.has(forms.importAnswer) ? leftOut(SAYS_OTHERWISE)(random, forms, world) : undefined;
}

/** Several answers about one record, and about two, show what they count. */
function leftOutPlainly(random: Random, forms: Forms, world: WorldKind): Added | undefined {
  const isFirst = SAYS_BY_COUNTS.some((form) => form === forms.importAnswer);
  const drawn = isFirst ? undefined : leftOut(SAYS_PLAINLY)(random, forms, world);
  if (drawn === undefined) return undefined;
  const before = [0, 1, 2, 3].flatMap((key): Step[] => [
    write(key),
    ...(key % 2 === 0 ? [] : [write(key - 1)]),
    pass(),
  ]);
  return { ...drawn, steps: [...before, ...drawn.steps] };
}

const write = (key: number, how: "upsert" | "zero" = "upsert"): Step => ({
  after: 0,
  do: "write",
  feed: "stocks",
  key,
  how,
});

/** Even the first answers report records that were not accepted. */
function leftOutAtFirst(answers: readonly Forms["importAnswer"][]): Found["draw"] {
  return (random, forms, world) => {
    if (forms.whole || forms.takenRecords !== null) return undefined;
    const keys = pickKeys(random);
    // A form that an endpoint has used for a day is usual, whatever it states.
    const ms = pickOne(random, world === "usual" ? [3 * MINUTE, 12 * MINUTE] : [3 * MINUTE, 25 * MINUTE, 6 * HOUR]);
    const others = [0, 1, 2, 3].filter((key) => !keys.includes(key) && random() < 0.6);
    const steps = [pass(), write(integerBetween(random, 0, 3)), pass()];
    if (random() < 0.7) steps.push({ after: ms, do: "wait" });
    return {
      forms: { ...forms, importAnswer: pickOne(random, answers) },
      first: [
        { after: 0, do: "leave out", keys, ms, isFirst: true },
        ...[...keys, ...others].map((key) => write(key)),
        ...(random() < 0.6 ? [pass()] : []),
      ],
      steps,
    };
  };
}

function pickKeys(random: Random): number[] {
  return random() < 0.7 ? [integerBetween(random, 0, 3)] : [integerBetween(random, 0, 1), integerBetween(random, 2, 3)];
}

function leaveOut(random: Random, world: WorldKind): Step[] {
  const keys = pickKeys(random);
  const spans = world === "usual" ? [3 * MINUTE, 12 * MINUTE] : [3 * MINUTE, 25 * MINUTE, 6 * HOUR, 30 * HOUR];
  const ms = pickOne(random, spans);
  // Three answers make a form usual.
  const steps = [0, 1, 2].flatMap((turn): Step[] => [write(turn), write(turn + 1), pass()]);
  steps.push({ after: 0, do: "leave out", keys, ms });
  for (const key of keys) steps.push(write(key, random() < 0.4 ? "zero" : "upsert"));
  if (random() < 0.7) steps.push(write(integerBetween(random, 0, 3)));
  steps.push(pass());
  if (random() < 0.5) steps.push(write(integerBetween(random, 0, 3)), pass());
  if (random() < 0.7) steps.push({ after: ms, do: "wait" });
  return steps;
}

/**
 * Answers count what they have changed. For a while the service leaves an article as it is, or all of them, and only fewer changes than there
 * were show it.
 */
function fewChanges(random: Random, forms: Forms, world: WorldKind): Added | undefined {
  if (!AS_USUAL.has(forms.importAnswer) || forms.whole || forms.shared !== "no" || forms.takenRecords !== null)
    return undefined;
  const importAnswer = pickOne(random, [...SAYS_OF_CHANGES, ...SAYS_OF_CHANGES, ...SAYS_PLAINLY, ...SAYS_A_NUMBER]);
  const ms = pickOne(random, world === "usual" ? [12 * MINUTE, 40 * MINUTE, 3 * HOUR] : [25 * MINUTE, 6 * HOUR]);
  const all = [0, 1, 2, 3];
  const keys = pickKeys(random);
  const isOne = random() < 0.65;
  const how = () => (random() < 0.4 ? ("zero" as const) : ("upsert" as const));
  const touched = isOne && random() < 0.4 ? keys : [...new Set([...keys, integerBetween(random, 0, 3)])];
  const later = (): Step[] => [write(pickOne(random, isOne && random() < 0.4 ? all : touched)), pass()];
  return {
    // So that a request may have as many records as there are.
    forms: { ...forms, importAnswer, importCounts: "changed", chunk: 500, maxRecords: null },
    steps: [
      ...all.map((key) => write(key)),
      pass(),
      // Answers about one record, and about two, show what they count.
      ...[0, 1, 2, 3, 0, 1].flatMap((key, turn): Step[] => [
        write(key),
        ...(turn % 2 === 0 ? [] : [write(key + 1)]),
        pass(),
      ]),
      isOne ? { after: 0, do: "leave out", keys, ms } : { after: 0, do: "read only", ms },
      ...touched.map((key) => write(key, how())),
      pass(),
      ...(random() < 0.4 ? later() : []),
      ...(random() < 0.2 ? [{ after: 0, do: "stop" } as const, pass()] : []),
      ...(random() < 0.3 ? later() : []),
      { after: ms - 2 * MINUTE, do: "wait" },
      ...(random() < 0.3 ? later() : []),
      { after: 2 * MINUTE, do: "wait" },
      ...(random() < 0.5 ? later() : []),
    ],
  };
}

/** The service takes only the first records of a request, from the first load on, and what its answers count is learned late. */
function silentLimit(random: Random, forms: Forms): Added | undefined {
  if (!AS_USUAL.has(forms.importAnswer) || forms.whole || forms.shared !== "no" || forms.takenRecords !== null)
    return undefined;
  const importAnswer = pickOne(random, [...SAYS_A_NUMBER, ...SAYS_A_NUMBER, ...SAYS_PLAINLY]);
  // A count of 1 may be a flag.
  const takenRecords = integerBetween(random, 2, 3);
  const all = [0, 1, 2, 3].map((key) => write(key));
  const prices = forms.prices ? all.map((step) => ({ ...step, feed: "prices" }) as Step) : [];
  const some = (): Step[] => [write(integerBetween(random, 0, 3)), pass()];
  const large = (): Step[] => [...all, ...(random() < 0.5 ? prices : []), pass()];
  return {
    forms: { ...forms, importAnswer, takenRecords, chunk: 500, maxRecords: null },
    first: [...all, ...prices],
    steps: [
      pass(),
      ...(random() < 0.3 ? some() : []),
      ...large(),
      ...(random() < 0.3 ? [{ after: 0, do: "stop" } as const, pass()] : []),
      ...(random() < 0.5 ? large() : []),
      ...(random() < 0.4 ? [{ after: pickOne(random, [12 * MINUTE, 3 * HOUR]), do: "wait" } as const] : []),
      ...some(),
      ...some(),
      ...(random() < 0.5 ? large() : []),
      ...some(),
    ],
  };
}

/** Answers say of each record whether it was changed, and one is lost: then nothing changes when the records go again. */
function lostOutcome(random: Random, forms: Forms): Added | undefined {
  if (!AS_USUAL.has(forms.importAnswer) || forms.takenRecords !== null) return undefined;
  const keys = pickKeys(random);
  const lost = (): Step => ({ after: 0, do: "net", on: "import", fate: { kind: "reset", when: "after" } });
  const other = (): Step[] => (random() < 0.5 ? [write(integerBetween(random, 0, 3)), pass()] : []);
  return {
    forms: { ...forms, importAnswer: pickOne(random, SAYS_OUTCOMES) },
    steps: [
      // Three answers make a form usual.
      ...[0, 1, 2, 3].flatMap((key): Step[] => [write(key), pass()]),
      lost(),
      ...keys.map((key) => write(key, random() < 0.3 ? "zero" : "upsert")),
      pass(),
      ...other(),
      ...other(),
      ...(random() < 0.3 ? [lost(), write(integerBetween(random, 0, 3)), pass()] : []),
      ...idle(2),
    ],
  };
}

/** New fields appear beside an empty list while there are orders, or changes. */
function emptyOtherwise(random: Random, forms: Forms, world: WorldKind): Apart | undefined {
  // Nothing can be beside a bare list, or where there is no list.
  if (forms.bare || (forms.empty !== "list" && forms.empty !== "null")) return undefined;
  const on = pickOne(random, ["orders", "updates", "updates"] as const);
  const spans = world === "usual" ? [3 * MINUTE, 14 * MINUTE] : [3 * MINUTE, 25 * MINUTE, HOUR, 6 * HOUR];
  const ms = pickOne(random, spans);
  const words = integerBetween(random, 0, EMPTY_WORDS.length - 1);
  const lie = {
    on,
    status: 200,
    body: "empty otherwise",
    when: "before",
    of: "all",
    ageMs: words,
    retryAfter: null,
  } as const;
  return {
    forms,
    steps: [
      orders(2),
      ...idle(6),
      { after: 0, do: "lie", lie: { ...lie, span: { ms } } },
      orders(1),
      change(random),
      pass(),
      { after: 0, do: "night" },
      pass(),
      { after: ms, do: "wait" },
    ],
  };
}

/** A batch that has lost its orders, and other batches after it. */
function emptyBatch(random: Random, forms: Forms): Apart | undefined {
  if (!namesOneBatch(forms) || isUnsafe(forms)) return undefined;
  const steps = [orders(1), ...idle(5), { after: 0, do: "empty batch" } as const, orders(integerBetween(random, 1, 3))];
  if (random() < 0.3) steps.push({ after: 0, do: "empty batch" }, orders(1));
  if (random() < 0.7) steps.push({ after: 75 * MINUTE, do: "wait" });
  return { forms, steps };
}

/** Such a batch before all others, which has another name at each delivery. */
function emptyFirst(random: Random, forms: Forms): Added | undefined {
  if (!namesOneBatch(forms) || isUnsafe(forms)) return undefined;
  const empty: Step = { after: 0, do: "empty batch" };
  return {
    forms: { ...forms, leases: true },
    first: [empty, ...(random() < 0.3 ? [empty] : []), orders(2)],
    steps: [{ after: 75 * MINUTE, do: "wait" }],
  };
}

/** The service's clock is wrong for a while, and no answer contains it. */
function skewed(random: Random, forms: Forms, world: WorldKind): Apart | undefined {
  // The time of a cursor is unknown.
  if (forms.next !== "none") return undefined;
  const ms = pickOne(random, [-24 * HOUR, -HOUR, -20 * SECOND, 20 * SECOND, 3 * HOUR, 24 * HOUR, 365 * 24 * HOUR]);
  const forMs = pickOne(random, world === "usual" ? [5 * MINUTE, HOUR] : [5 * MINUTE, HOUR, 6 * HOUR, 30 * HOUR]);
  return {
    forms: { ...forms, date: false },
    steps: [
      orders(3),
      change(random),
      ...idle(2),
      { after: 0, do: "skew", ms, forMs },
      change(random),
      ...idle(2),
      ...(random() < 0.5 ? [orders(1), change(random)] : []),
      { after: forMs, do: "wait" },
      change(random),
      pass(),
    ],
  };
}

/** The service's clock is set back after the answer with a batch was lost: what it serves then comes again before the lost batch. */
function skewedAfterLoss(random: Random, forms: Forms, world: WorldKind): Apart {
  const ms = -pickOne(random, [HOUR, 24 * HOUR]);
  const forMs = pickOne(random, world === "usual" ? [HOUR] : [HOUR, 6 * HOUR, 30 * HOUR]);
  return {
    forms: {
      ...forms,
      date: true,
      handOut: "next",
      redeliver: 60_000,
      confirm: "all",
      batchSize: 1,
      cron: false,
      leases: false,
    },
    steps: [
      orders(1),
      ...idle(2),
      orders(2),
      { after: 0, do: "net", on: "orders", fate: { kind: "reset", when: "after" } },
      pass(),
      ...(random() < 0.5 ? [pass()] : []),
      { after: 0, do: "skew", ms, forMs },
      pass(),
      orders(1),
      ...idle(2),
      { after: 40 * MINUTE, do: "wait" },
      ...idle(2),
      { after: forMs, do: "wait" },
      ...idle(2),
    ],
  };
}

/** All batches have one name, whose confirm covers all of them; answers are lost, and the service goes on to the next batch. */
function oneName(random: Random, forms: Forms): Apart | undefined {
  if (forms.bare || isUnsafe(forms)) return undefined;
  const lost = { on: "orders", fate: { kind: "reset", when: "after" } } as const;
  const lose = (count: number): Step[] => [
    orders(count),
    { after: 0, do: "net", ...lost },
    { after: pickOne(random, [PASS, 5 * SECOND]), do: "wait" },
  ];
  const steps = [orders(integerBetween(random, 0, 2)), ...idle(integerBetween(random, 0, 2)), ...lose(3)];
  if (random() < 0.5) steps.push(...idle(2), ...lose(2), orders(1));
  const redeliver = pickOne(random, [60_000, "cycle"] as const);
  return {
    forms: { ...forms, batchId: "constant", confirm: "batch_id", handOut: "next", redeliver, batchSize: 1 },
    steps,
  };
}

/** Each delivery of a batch has another name, and confirms are accepted and ignored for a while. */
function renamed(random: Random, forms: Forms, world: WorldKind): Apart | undefined {
  if (!namesOneBatch(forms) || isUnsafe(forms)) return undefined;
  const ms = pickOne(random, world === "usual" ? [3 * MINUTE, 14 * MINUTE] : [3 * MINUTE, 25 * MINUTE, 6 * HOUR]);
  return {
    forms: { ...forms, leases: true },
    steps: [
      orders(integerBetween(random, 1, 3)),
      ...(random() < 0.5 ? [pass()] : []),
      { after: 0, do: "forget confirms", ms },
      orders(integerBetween(random, 1, 2)),
      pass(),
      ...(random() < 0.5 ? [orders(1)] : []),
      { after: ms, do: "wait" },
    ],
  };
}

/**
 * A customer requests something in the same minute in which the ERP requests a status, or while that is sent. Some services include the time
 * at which a status was set.
 */
function requested(random: Random, forms: Forms): Apart {
  const timed = random() < 0.5;
  const first = integerBetween(random, 0, 30);
  const ask = (order: number): Step => ({ after: 0, do: "ask", order, status: "accepted" });
  const steps = [orders(5), ...idle(3)];
  // The property that comes with a status is learned from three statuses, an hour apart.
  const isKnown = timed && random() < 0.5;
  if (isKnown) for (let turn = 1; turn < 5; turn++) steps.push(ask(first + turn), { after: HOUR + PASS, do: "wait" });
  const request = { do: "change", order: first, what: "request", timestamp: "now" } as const;
  if (random() < 0.5) {
    const after = integerBetween(random, 0, MINUTE);
    steps.push({ ...request, after }, { ...ask(first), after: integerBetween(random, 0, 20 * SECOND) });
  } else {
    // The order is read just before the status leaves: only what comes until it is read back is seen with the status.
    const ms = integerBetween(random, 5 * SECOND, 14 * SECOND);
    steps.push({ after: integerBetween(random, 0, MINUTE), do: "net", on: "status", fate: { kind: "slow", ms } });
    steps.push(ask(first), { ...request, after: integerBetween(random, SECOND, ms) });
  }
  return { forms: { ...forms, timed }, steps: [...steps, pass()] };
}

/**
 * A customer cancels; only the changes show it, because reads of single orders fail, and the ERP requests a status
 * meanwhile.
 */
function cancelledUnread(random: Random, forms: Forms, world: WorldKind): Apart {
  const order = integerBetween(random, 0, 3);
  const of = random() < 0.5 ? "all" : ({ nth: order } as const);
  const ms = pickOne(
    random,
    world === "usual" ? [3 * MINUTE, 12 * MINUTE] : [3 * MINUTE, 25 * MINUTE, 6 * HOUR, 30 * HOUR],
  );
  const status = pickOne(random, [500, 503] as const);
  const lie = { on: "snapshot", status, body: "refusal", of, when: "before", ageMs: 0, retryAfter: null } as const;
  const cancel: Step = {
    after: integerBetween(random, 0, MINUTE),
    do: "cancel",
    order,
    askedAfterMs: integerBetween(random, 10, 2 * SECOND),
    slow: "updates",
    slowMs: integerBetween(random, 3 * SECOND, 12 * SECOND),
  };
  return {
    forms,
    steps: [
      orders(4),
      ...idle(3),
      { after: 0, do: "lie", lie: { ...lie, span: { ms } } },
      cancel,
      ...(random() < 0.5 ? [change(random)] : []),
      ...idle(2),
      ...(random() < 0.7 ? [{ after: ms, do: "wait" } as const] : []),
    ],
  };
}

/**
 * A customer cancels while the program is stopped, while the changes are unavailable, or between two passes over them, and the ERP,
 * without this information, requests a status.
 */
function cancelledUnseen(random: Random, forms: Forms): Apart {
  const when = pickOne(random, ["stopped", "away", "between two passes"]);
  const ms = when === "away" ? pickOne(random, [3 * MINUTE, 25 * MINUTE]) : 0;
  const lie = { on: "updates", status: 503, body: "refusal", of: "all", when: "before", ageMs: 0 } as const;
  const away: Step[] = [{ after: 0, do: "lie", lie: { ...lie, span: { ms }, retryAfter: null } }, pass()];
  const after = integerBetween(random, 0, MINUTE / 2);
  const order = integerBetween(random, 0, 3);
  return {
    forms,
    steps: [
      orders(3),
      ...idle(3),
      ...(when === "away" ? away : []),
      { after, do: "cancel unseen", order, isStopped: when === "stopped" },
      ...idle(2),
      { after: ms, do: "wait" },
    ],
  };
}

/** The ERP asks once more for the status that an order has, with another comment, and that request or its answer is lost. */
function asksAgain(random: Random, forms: Forms): Apart {
  const ask: Step = { after: 0, do: "ask", order: integerBetween(random, 0, 3), status: "accepted" };
  const when = random() < 0.7 ? "before" : "after";
  const fate: Fate = random() < 0.5 ? { kind: "reset", when } : { kind: "status", status: 502, when, retryAfter: null };
  return {
    forms,
    steps: [
      orders(4),
      ...idle(3),
      ask,
      ...idle(2),
      { after: 0, do: "net", on: "status", fate },
      ask,
      ...idle(3),
      ...(random() < 0.5 ? [change(random), pass()] : []),
    ],
  };
}

/** From the first day on an endpoint refuses all that it is sent, under names of its own, for a while. */
function refusesItsWay(random: Random, forms: Forms): Added {
  const on = pickOne(random, ["confirm", "status", "import"] as const);
  const ms = pickOne(random, [3 * MINUTE, 12 * MINUTE]);
  const lie = { on, status: 200, body: "own refusal", of: "all", when: "before", ageMs: 0, retryAfter: null } as const;
  const key = integerBetween(random, 0, 3);
  return {
    forms,
    first: [{ after: 0, do: "lie", lie: { ...lie, span: { ms } } }, orders(2), write(key)],
    steps: [
      pass(),
      { after: 0, do: "ask", order: integerBetween(random, 0, 1), status: "accepted" },
      pass(),
      // Another value would arrive later and hide that the first one did not.
      ...(random() < 0.3 ? [write(key, "zero"), pass()] : []),
      { after: ms, do: "wait" },
    ],
  };
}

/** The service repeats the Client Secret in answers to confirms, statuses and imports, accepted or refused. */
function repeatingSecret(random: Random, forms: Forms): Apart | undefined {
  if (!AS_USUAL.has(forms.importAnswer)) return undefined;
  return {
    forms: { ...forms, repeatsSecret: true },
    steps: [
      orders(2),
      write(integerBetween(random, 0, 3)),
      ...idle(2),
      { after: 0, do: "ask", order: integerBetween(random, 0, 3), status: "accepted" },
      { after: 0, do: "ask", order: integerBetween(random, 0, 3), status: pickOne(random, ["shipped", "accepted"]) },
      write(integerBetween(random, 0, 3)),
      ...idle(2),
    ],
  };
}

/** The same before the next poll: a service that lists every change lists both at once. */
function movedOnWithinPoll(random: Random, forms: Forms): Apart | undefined {
  return forms.precision === "min" ? undefined : moveOn(random, { ...forms, history: "log" }, 20 * SECOND);
}

/** The same after a deployment that writes all timestamps with a zone, or without one: the order is stored with the former. */
function movedOnInOtherTimes(random: Random, forms: Forms): Apart | undefined {
  if (!ISO.some((form) => form === forms.timestamps) || forms.next !== "none" || forms.precision === "min")
    return undefined;
  const moved = moveOn(random, { ...forms, history: "log" }, 30 * SECOND);
  const form = namesZone(forms) ? "iso-naive" : "iso-offset";
  const times: Step = { after: 0, do: "times", form, precision: forms.precision };
  return moved && { ...moved, steps: [orders(4), ...idle(3), times, change(random), ...idle(2), ...moved.steps] };
}

/** After a deployment the service ignores `since` for hours, and the bridge already has its first page. */
function sinceIgnored(random: Random, forms: Forms): Apart | undefined {
  if (forms.retention) return undefined;
  const page = pickOne(random, [2, 3, 5]);
  return {
    forms: { ...forms, page, keeps: "oldest", next: "none" },
    steps: [
      orders(4),
      ...idle(2),
      ...Array.from({ length: 4 }, (): Step => ({ ...change(random), after: PASS })),
      { after: HOUR, do: "wait" },
      change(random),
      ...idle(2),
      { after: 0, do: "switch", what: "same page", ms: 3 * HOUR },
      ...Array.from({ length: 4 }, (): Step => ({ ...change(random), after: 30 * MINUTE })),
      { after: HOUR + 5 * MINUTE, do: "wait" },
      ...idle(3),
    ],
  };
}

/**
 * A customer cancels while a status for the order waits, and the service moves the order on before statuses are sent
 * again.
 */
function movedOn(random: Random, forms: Forms): Apart | undefined {
  return moveOn(random, forms, 2 * PASS);
}

function moveOn(random: Random, forms: Forms, afterMs: number): Apart | undefined {
  if (forms.retention || forms.limited === "status") return undefined;
  const order = integerBetween(random, 0, 3);
  const status = pickOne(random, [429, 503] as const);
  // All statuses wait for so long.
  const lie = { status, body: "refusal", of: "all", when: "before", ageMs: 0, retryAfter: "600" } as const;
  return {
    forms,
    steps: [
      orders(4),
      ...idle(2),
      { after: 0, do: "lie", lie: { on: "status", ...lie, span: { ms: MINUTE + 30 * SECOND } } },
      { after: 0, do: "ask", order, status: "accepted" },
      pass(),
      { after: 0, do: "move on", order, to: pickOne(random, ["refunded", "new"]), afterMs },
      ...(random() < 0.5 ? [change(random)] : []),
      ...idle(4),
      { after: 10 * MINUTE, do: "wait" },
      pass(),
    ],
  };
}

/** The service immediately moves on each order that gets a status, and answers with the new state. */
function movedOnAtOnce(random: Random, forms: Forms): Apart {
  const ask = (order: number): Step => ({ after: 5 * SECOND, do: "ask", order, status: "accepted" });
  return {
    forms: { ...forms, movesOn: true, transitions: false },
    steps: [
      orders(4),
      ...idle(2),
      ask(0),
      pass(),
      ask(1),
      ...(random() < 0.5 ? [change(random)] : []),
      pass(),
      ask(2),
      { after: 25 * MINUTE, do: "wait" },
      pass(),
    ],
  };
}

/** The service queues statuses for a while, and answers with the order in its state before. */
function queuedAsItIs(random: Random, forms: Forms): Apart | undefined {
  if (forms.retention || forms.movesOn) return undefined;
  const ageMs = pickOne(random, [MINUTE, 20 * MINUTE, 2 * HOUR]);
  const ask = (order: number): Step => ({ after: 5 * SECOND, do: "ask", order, status: "accepted" });
  const lie = { on: "status", status: 202, body: "queued", of: "all", when: "before", retryAfter: null } as const;
  return {
    forms: { ...forms, queueShows: true, transitions: false },
    steps: [
      orders(4),
      ...idle(2),
      ...(random() < 0.5 ? [ask(3), pass()] : []),
      { after: 0, do: "lie", lie: { ...lie, ageMs, span: { ms: 10 * MINUTE } } },
      ask(0),
      ask(1),
      pass(),
      { after: 30 * MINUTE, do: "wait" },
      pass(),
    ],
  };
}

/**
 * A customer cancels; the changes, and repeated batches, identify their orders in another form or have an earlier
 * timestamp, while reads of single orders fail or are slow, and the ERP requests a status.
 */
function cancelledOtherwise(random: Random, forms: Forms, world: WorldKind): Apart | undefined {
  const ms = pickOne(random, world === "usual" ? [3 * MINUTE, 12 * MINUTE] : [3 * MINUTE, 25 * MINUTE, 6 * HOUR]);
  const namesBatch = namesOneBatch(forms) && !isUnsafe(forms);
  const isOpen = namesBatch && random() < 0.7;
  // A whole record with another timestamp is another version of its order.
  const hows = OTHERWISE.filter((each) => each !== "time" || !(isOpen || forms.carry === "whole"));
  const how = OTHERWISE.indexOf(pickOne(random, hows));
  const lie = { of: "all", span: { ms }, retryAfter: null } as const;
  const renames = (on: "orders" | "updates"): Step => {
    return {
      after: 0,
      do: "lie",
      lie: { ...lie, on, status: 200, body: "named otherwise", when: "after", ageMs: how },
    };
  };
  const fails = (on: "confirm" | "updates" | "snapshot"): Step => {
    const status = on === "updates" ? 500 : 503;
    return { after: 0, do: "lie", lie: { ...lie, on, status, body: "refusal", when: "before", ageMs: 0 } };
  };
  const isSlow = random() < 0.4;
  const cancel: Step = {
    after: integerBetween(random, 0, MINUTE),
    do: "cancel",
    order: integerBetween(random, 0, 3),
    askedAfterMs: integerBetween(random, 10, 2 * SECOND),
    slow: "snapshot",
    slowMs: isSlow ? integerBetween(random, 3 * SECOND, 12 * SECOND) : 0,
    ...(isOpen ? { isOpen } : {}),
  };
  const again: Step[] = [random() < 0.5 ? fails("confirm") : { after: 0, do: "forget confirms", ms }];
  return {
    forms,
    steps: [
      orders(4),
      pass(),
      // One that identifies its order as usual.
      change(random),
      ...idle(3),
      ...(isOpen ? [...again, orders(2), pass(), renames("orders")] : []),
      isOpen && random() < 0.5 ? fails("updates") : renames("updates"),
      ...(isSlow ? [] : [fails("snapshot")]),
      cancel,
      ...(random() < 0.5 ? [change(random)] : []),
      ...idle(2),
      ...(random() < 0.7 ? [{ after: ms, do: "wait" } as const] : []),
    ],
  };
}

/**
 * The changes list orders once they are confirmed, and a batch keeps the records with which it was formed. A customer
 * cancels one of them while its confirm, or the request that would show it, fails, and other orders continue to change.
 */
function confirmedLate(random: Random, forms: Forms): Apart | undefined {
  if (isUnsafe(forms) || forms.retention || forms.beside !== "nothing" || forms.lagMs > 0) return undefined;
  const ms = forms.lookBackMs > MINUTE ? 25 * MINUTE : pickOne(random, [4 * MINUTE, 12 * MINUTE]);
  const on = random() < 0.6 ? "confirm" : "orders";
  const lie = { on, status: 503, body: "refusal", of: "all", when: "before", ageMs: 0, retryAfter: null } as const;
  const cancel: Step = {
    after: integerBetween(random, 0, 30 * SECOND),
    do: "cancel",
    order: integerBetween(random, 0, 3),
    askedAfterMs: integerBetween(random, 10, 2 * SECOND),
    slow: "snapshot",
    slowMs: 0,
    isOpen: true,
  };
  const other = (): Step => {
    return { after: ms / 4, do: "change", order: integerBetween(random, 0, 2), what: "lines", timestamp: "now" };
  };
  const formedMs = on === "orders" ? ms : pickOne(random, [0, 0, ms]);
  return {
    forms: { ...forms, scope: "confirmed", formedMs, next: "none", overlap: 0, twice: "no" },
    steps: [
      orders(3),
      ...idle(3),
      { after: 0, do: "lie", lie: { ...lie, span: { ms: ms + MINUTE } } },
      orders(integerBetween(random, 1, 2)),
      pass(),
      cancel,
      ...Array.from({ length: 4 }, other),
      ...idle(integerBetween(random, 2, 4)),
    ],
  };
}

/**
 * Batches have pages, whose links name another address than the configured one, or lead elsewhere for a while. Orders
 * leave them between two pages.
 */
function inPages(random: Random, forms: Forms): Apart | undefined {
  // A confirm that names orders covers no other page.
  const namesBatch = namesOneBatch(forms) && !isUnsafe(forms);
  if (!namesBatch || forms.limited === "orders" || forms.beside !== "nothing") return undefined;
  const ms = pickOne(random, [3 * MINUTE, 12 * MINUTE]);
  const link = pickOne(random, ["/api/v1/1c/orders/pages", "http://orders.internal/pages"]);
  const elsewhere: Step[] = random() < 0.3 ? [{ after: 0, do: "links elsewhere", link, ms }] : [];
  const paged = {
    pages: pickOne(random, [2, 3] as const),
    link: pickOne(random, LINKS),
    batchSize: 5,
    twice: "no",
  } as const;
  const leaves = pickOne(random, [0, 1, 2] as const);
  const steps: Step[] = [
    orders(5),
    ...idle(2),
    ...elsewhere,
    orders(integerBetween(random, 3, 5)),
    pass(),
    ...(random() < 0.5 ? [orders(integerBetween(random, 1, 5)), change(random)] : []),
    pass(),
    ...(elsewhere.length > 0 ? [{ after: ms, do: "wait" } as const] : []),
  ];
  return { forms: { ...forms, ...paged, leaves, numbers: random() < 0.5 }, steps };
}

/**
 * A customer changes lines repeatedly within one minute, to which the service truncates its timestamps; the changes do
 * not contain lines.
 */
function withinMinute(random: Random, forms: Forms): Apart | undefined {
  if (forms.next !== "none" || isUnsafe(forms)) return undefined;
  const order = integerBetween(random, 0, 3);
  const lines = (): Step => {
    const after = integerBetween(random, 4 * SECOND, 15 * SECOND);
    return { after, do: "change", order, what: "lines", timestamp: "now" };
  };
  return {
    forms: { ...forms, precision: "min", date: true, carry: "changes", lines: false, history: "latest" },
    steps: [
      orders(4),
      pass(),
      // Otherwise all requests are sent at the beginning of a minute.
      { after: 0, do: "service clock", ms: 30 * SECOND },
      pass(),
      ...Array.from({ length: integerBetween(random, 4, 7) }, lines),
      ...idle(2),
    ],
  };
}

/**
 * A migration tool of the ERP recreates a table that it shares with the bridge, between reading orders and marking
 * them.
 */
function madeAnew(random: Random, forms: Forms): Apart {
  const anew = (): Step => {
    const table = random() < 0.7 ? "erp_orders" : "status_requests";
    return { after: integerBetween(random, 0, MINUTE), do: "anew", table };
  };
  return {
    forms,
    steps: [
      orders(3),
      ...idle(integerBetween(random, 1, 2)),
      ...(random() < 0.5 ? [{ after: 0, do: "take" } as const, change(random), pass()] : []),
      anew(),
      ...(random() < 0.5 ? [orders(1), change(random)] : []),
      ...(random() < 0.3 ? [anew()] : []),
      {
        after: integerBetween(random, 0, 20 * SECOND),
        do: "ask",
        order: integerBetween(random, 0, 3),
        status: "accepted",
      },
      pass(),
      ...(random() < 0.5 ? [{ after: 0, do: "take" } as const] : []),
    ],
  };
}

/** A faulty deployment gives one id to different orders for some minutes. */
function underOneId(random: Random, forms: Forms): Apart | undefined {
  // Where a confirm names orders, those with the same id are one order in it.
  if ((!namesOneBatch(forms) && forms.confirm !== "all") || forms.created || isUnsafe(forms)) return undefined;
  const what = pickOne(random, ["nil", "known", "known"] as const);
  const laterMs = pickOne(random, [0, 0, MINUTE, 3 * MINUTE]);
  const steps: Step[] = [
    orders(2),
    ...idle(3),
    { after: 0, do: "one id", what, count: integerBetween(random, 2, 4), laterMs },
    ...idle(2),
  ];
  if (random() < 0.5) steps.push(change(random));
  if (random() < 0.5) steps.push({ after: laterMs, do: "wait" }, { after: 0, do: "night" }, pass());
  return { forms, steps };
}

/** The service moves to another address and back while a confirm and a status wait. */
function moved(random: Random, forms: Forms): Apart | undefined {
  if (isUnsafe(forms)) return undefined;
  const ms = pickOne(random, [3 * MINUTE, 20 * MINUTE]);
  const body = pickOne(random, ["html", "refusal"] as const);
  const lie = { status: 502, body, of: "all", when: "before", ageMs: 0, retryAfter: null } as const;
  const fails = (on: "confirm" | "status"): Step => {
    return { after: 0, do: "lie", lie: { on, ...lie, span: { ms: 3 * MINUTE } } };
  };
  return {
    forms,
    steps: [
      orders(2),
      ...idle(3),
      ...(random() < 0.8 ? [fails("confirm")] : []),
      ...(random() < 0.5 ? [fails("status")] : []),
      orders(integerBetween(random, 1, 3)),
      { after: 0, do: "ask", order: integerBetween(random, 0, 3), status: "accepted" },
      pass(),
      { after: 0, do: "move", to: pickOne(random, ["nothing", "nothing", "not ready"]), ms },
      ...(random() < 0.5 ? [orders(1), change(random)] : []),
      ...(random() < 0.5 ? [{ after: 20 * SECOND, do: "ask", order: 4, status: "accepted" } as const] : []),
      pass(),
      { after: ms + MINUTE, do: "wait" },
    ],
  };
}

/**
 * A status is refused until the order is confirmed, and its confirm fails for a while; statuses of other orders are
 * accepted.
 */
function notConfirmed(random: Random, forms: Forms): Apart | undefined {
  const namesBatch = namesOneBatch(forms) && !isUnsafe(forms);
  if (!namesBatch) return undefined;
  const ms = pickOne(random, [4 * MINUTE, 20 * MINUTE]);
  const lie = { status: 503, body: "refusal", of: "all", when: "before", ageMs: 0, retryAfter: null } as const;
  const ask = (order: number, after: number) => ({ after, do: "ask", order, status: "accepted" }) as const;
  const askOpen = (order: number): Step => ({ ...ask(order, 0), isOpen: true });
  return {
    forms: { ...forms, confirmedOnly: true, batchSize: 2 },
    steps: [
      orders(2),
      ...idle(2),
      { after: 0, do: "lie", lie: { on: "confirm", ...lie, span: { ms } } },
      orders(2),
      pass(),
      askOpen(0),
      ask(0, 20 * SECOND),
      pass(),
      ask(1, 70 * SECOND),
      pass(),
      askOpen(1),
      { after: ms, do: "wait" },
      ...idle(2),
    ],
  };
}

/**
 * Two rows of stocks have the same article, and one of them is deleted or gets another article: the one that stays may
 * have been sent before it, after it, or in a request whose answer is lost.
 */
function sharedArticle(random: Random, forms: Forms): Apart | undefined {
  // A row is identified by its second key, which rows with half a surrogate pair do not have.
  if (forms.whole || forms.encoding !== "UTF-8") return undefined;
  const key = integerBetween(random, 0, 3);
  const other = key + integerBetween(random, 1, 3);
  const second = (how: "write" | "zero" | "remove" | "other"): Step => ({
    after: 0,
    do: "second row",
    key,
    how,
    other,
  });
  const first: Step = { after: 0, do: "remove", feed: "stocks", key };
  const maybe = (share: number, ...steps: Step[]) => (random() < share ? steps : []);
  const lost = (): Step => {
    const when = pickOne(random, ["before", "after"] as const);
    return { after: 0, do: "net", on: "import", fate: { kind: "reset", when } };
  };
  const go = (): Step => pickOne(random, [second("remove"), second("remove"), second("other"), first]);
  const round = (): Step[] => [
    write(key),
    ...maybe(0.7, pass()),
    second(random() < 0.15 ? "zero" : "write"),
    ...maybe(0.2, lost()),
    ...maybe(0.8, pass()),
    ...maybe(0.3, write(key), ...maybe(0.5, pass())),
    go(),
    ...idle(integerBetween(random, 1, 4)),
  ];
  return {
    forms: { ...forms, shared: random() < 0.6 ? "zero" : "ignore" },
    steps: [write(other), ...round(), ...maybe(0.5, ...round())],
  };
}

/**
 * The site ignores how an article is spelled, or the warehouse, and the ERP gives rows other keys that are the same ones
 * there: in place of the former, or beside them, which sell out or are deleted later.
 */
function respelled(random: Random, forms: Forms): Added | undefined {
  const isCounted = forms.takenRecords !== null || forms.importCounts === "changed" || forms.importAnswer === "changes";
  // A service that repeats its own record in place of a refused one has it under another number.
  if (forms.whole || forms.shared !== "no" || isCounted || forms.importAnswer === "echo") return undefined;
  const key = integerBetween(random, 0, 3);
  const respell = (how: Respelled): Step => {
    const isEach = random() < 0.2 ? ({ isEach: true } as const) : {};
    return { after: 0, do: "respell", key, to: integerBetween(random, 0, 8), how, ...isEach };
  };
  const maybe = (share: number, ...steps: Step[]) => (random() < share ? steps : []);
  const lost = (): Step => {
    const when = pickOne(random, ["before", "after"] as const);
    const fate: Fate =
      random() < 0.7 ? { kind: "reset", when } : { kind: "late", ms: integerBetween(random, 5, 110) * SECOND };
    return { after: 0, do: "net", on: "import", fate };
  };
  const round = (): Step[] => {
    const how = pickOne(random, ["update", "anew", "beside", "beside"] as const);
    return [
      ...maybe(0.2, lost()),
      respell(how),
      ...maybe(0.2, lost()),
      ...maybe(0.7, pass()),
      ...maybe(0.2, write(key)),
      ...(how === "beside"
        ? [...maybe(0.3, respell("zero"), ...maybe(0.7, pass())), ...maybe(0.7, respell("drop"), ...maybe(0.3, lost()))]
        : []),
      ...maybe(0.3, ...idle(2), ...maybe(0.5, lost())),
      ...maybe(0.3, write(key, random() < 0.4 ? "zero" : "upsert")),
      ...maybe(0.15, { after: 0, do: "remove", feed: "stocks", key }),
      ...idle(integerBetween(random, 0, 4)),
    ];
  };
  const ignores = pickOne(random, ["spelling", "others", "both"] as const);
  return {
    forms: { ...forms, ignores },
    steps: [write(key), ...maybe(0.7, pass()), ...round(), ...maybe(0.6, ...round()), ...maybe(0.3, ...round())],
  };
}

/**
 * Articles are deleted while the service is at another address, or stocks are sent to another path, and this is
 * acknowledged there; then both return.
 */
function goneElsewhere(random: Random, forms: Forms): Apart {
  const ms = pickOne(random, [5 * MINUTE, 20 * MINUTE]);
  const key = integerBetween(random, 0, 3);
  const go = (at: number): Step =>
    random() < 0.7 ? { after: 0, do: "remove", feed: "stocks", key: at } : write(at, "zero");
  const isMoved = !isUnsafe(forms) && random() < 0.5;
  return {
    forms,
    steps: [
      ...[0, 1, 2, 3].map((at) => write(at)),
      ...idle(2),
      isMoved ? { after: 0, do: "move", to: "nothing", ms } : { after: 0, do: "other path", ms },
      ...(random() < 0.6 ? idle(1) : []),
      go(key),
      ...(random() < 0.5 ? [go(key + 1)] : []),
      ...idle(4),
      ...(random() < 0.3 ? [write(key + 2)] : []),
      { after: ms, do: "wait" },
      ...idle(1),
    ],
  };
}

/** Articles sell out one by one: while no import is accepted, or the first while the machine's clock is ahead. */
function soldOut(random: Random, forms: Forms): Apart | undefined {
  if (forms.whole || forms.shared !== "no") return undefined;
  const key = integerBetween(random, 0, 3);
  const ms = pickOne(random, [24 * HOUR, 365 * 24 * HOUR]);
  const what = pickOne(random, ["unpaid", "imports refused"] as const);
  const sell = (at: number): Step[] => [write(at, "zero"), ...idle(2), { after: 80 * MINUTE, do: "wait" }];
  return {
    forms: { ...forms, guard: true },
    steps: [
      ...[0, 1, 2, 3].map((at) => write(at)),
      ...idle(3),
      ...(random() < 0.5
        ? [{ after: 0, do: "switch", what, ms: 3 * HOUR } as const, ...sell(key), ...sell(key + 1)]
        : [
            { after: 0, do: "clock", ms } as const,
            // A pass at once would still count by the time before.
            ...idle(2),
            ...sell(key),
            { after: 0, do: "clock", ms: -ms } as const,
          ]),
      ...idle(2),
      { after: 80 * MINUTE, do: "wait" },
      ...sell(key + 2),
    ],
  };
}

/** The service names the time until which to wait while this machine's clock is off. */
function waitUntil(random: Random, forms: Forms): Apart {
  const ms = pickOne(random, [-DAY, -HOUR, HOUR, DAY]);
  const retryAfter = pickOne(random, ["date", "epoch"] as const);
  const on = pickOne(random, ["orders", "updates", "import"] as const);
  return {
    forms,
    steps: [
      orders(1),
      ...idle(3),
      { after: 0, do: "clock", ms },
      { after: 0, do: "net", on, fate: { kind: "status", status: 429, when: "before", retryAfter } },
      orders(1),
      change(random),
      { after: 0, do: "write", feed: "stocks", key: integerBetween(random, 0, 3), how: "upsert" },
      ...idle(3),
      { after: 0, do: "clock", ms: -ms },
      ...idle(2),
    ],
  };
}

/** The ERP has a trigger on the bridge's orders for a while, whose name has line breaks in it. */
function oddTrigger(random: Random, forms: Forms): Added {
  const ms = pickOne(random, [2 * MINUTE, 12 * MINUTE]);
  return {
    forms,
    steps: [
      orders(2),
      ...idle(integerBetween(random, 0, 2)),
      { after: 0, do: "odd trigger", ms },
      orders(1),
      change(random),
      ...idle(2),
      { after: ms, do: "wait" },
      pass(),
    ],
  };
}

/** A person writes an address with a slip, and reloads; the program goes on with the former configuration. */
function mistyped(random: Random, forms: Forms): Added {
  const [key, slip] = [pickOne(random, MISTYPED_KEYS), pickOne(random, SLIPS)];
  return { forms, steps: [{ after: integerBetween(random, 0, 20 * SECOND), do: "mistype", key, slip }] };
}

/** A change bears a time of tomorrow, no answer contains the service's clock, and later changes show that the time is wrong. */
function wrongTime(random: Random, forms: Forms): Added | undefined {
  if (forms.next !== "none" || forms.keeps !== "oldest" || forms.lagMs > 0) return undefined;
  const page = Math.max(forms.page, 10);
  const what = pickOne(random, ["status", "lines"] as const);
  return {
    forms: { ...forms, date: false, cron: false, page, lines: true, limited: "none", sinceAgeMax: null },
    steps: [
      orders(4),
      change(random),
      ...idle(3),
      { after: 0, do: "change", order: integerBetween(random, 0, 3), what, timestamp: "future" },
      pass(),
      change(random),
      { after: 6 * MINUTE, do: "wait" },
      change(random),
      ...(random() < 0.5 ? [orders(1)] : []),
      { after: 12 * MINUTE, do: "wait" },
    ],
  };
}

/** The journal is switched on, or moved, while the confirm of a batch is owed, which the service does not serve again soon. */
function otherJournal(random: Random, forms: Forms): Added | undefined {
  if (isUnsafe(forms) || forms.shuffleKeys) return undefined;
  const ms = pickOne(random, [20 * SECOND, 4 * MINUTE]);
  const lie = { on: "confirm", status: 503, body: "refusal", of: "all", when: "before", ageMs: 0 } as const;
  const journal = random() < 0.5 ? "later" : true;
  return {
    forms: { ...forms, journal, handOut: "next", redeliver: forms.redeliver ?? 60_000 },
    steps: [
      orders(1),
      ...idle(2),
      { after: 0, do: "lie", lie: { ...lie, span: { ms: ms + MINUTE }, retryAfter: null } },
      orders(integerBetween(random, 1, 3)),
      pass(),
      { after: 0, do: "journal folder", folder: "/moved" },
      { after: ms, do: "wait" },
      ...(random() < 0.5 ? [{ after: 0, do: "journal", ms: 2 * MINUTE } as const, pass()] : []),
      ...idle(2),
      orders(1),
      ...idle(2),
    ],
  };
}

/** Each pass is a process of its own, as where `sync` is started once a minute. */
function fromCron(_random: Random, forms: Forms): Added {
  return { forms: { ...forms, cron: true }, steps: [] };
}

/** The same, and waits begin while the machine's clock is ahead: they end soon after it is right again. */
function waitedAhead(random: Random, forms: Forms): Added {
  const ms = pickOne(random, [3 * HOUR, 24 * HOUR, 365 * 24 * HOUR]);
  return {
    forms: { ...forms, cron: true, date: true, sinceAgeMax: null },
    steps: [
      orders(4),
      write(integerBetween(random, 0, 3)),
      ...idle(3),
      { after: 0, do: "clock", ms },
      ...waitFor(random, forms),
      ...idle(integerBetween(random, 2, 4)),
      { after: 0, do: "clock", ms: -ms },
      ...idle(2),
      { after: 80 * MINUTE, do: "wait" },
      ...idle(2),
    ],
  };
}

/** The same with a delivery whose answer is lost while the clock is ahead, and that is never served again. */
function lostAhead(random: Random, forms: Forms): Added {
  const ms = pickOne(random, [3 * HOUR, 24 * HOUR, 365 * 24 * HOUR]);
  const cron = random() < 0.7;
  const unnamed = { handOut: "next", redeliver: null, confirm: "all" } as const;
  return {
    forms: { ...forms, ...unnamed, cron, date: true, sinceAgeMax: null },
    steps: [
      orders(3),
      ...idle(2),
      { after: 0, do: "clock", ms },
      orders(2),
      { after: 0, do: "net", on: "orders", fate: { kind: "reset", when: "after" } },
      ...idle(2),
      { after: 0, do: "clock", ms: -ms },
      ...idle(2),
      { after: 40 * MINUTE, do: "wait" },
      orders(1),
      ...idle(2),
      { after: 80 * MINUTE, do: "wait" },
      ...idle(2),
    ],
  };
}

/** What the next passes wait for: a refused endpoint, a batch without orders, a lost delivery. */
function waitFor(random: Random, forms: Forms): Step[] {
  const roll = random();
  if (roll < 0.25 && namesOneBatch(forms) && !isUnsafe(forms)) return [{ after: 0, do: "empty batch" }, orders(1)];
  if (roll < 0.5) return [orders(2), { after: 0, do: "net", on: "orders", fate: { kind: "reset", when: "after" } }];
  const on = pickOne(random, ["orders", "confirm", "updates", "snapshot", "status", "import"] as const);
  const status = pickOne(random, on === "import" ? [401, 402, 429, 503] : [401, 403, 429, 503]);
  const retryAfter = status === 429 || status === 503 ? "600" : null;
  const lie = { on, status, body: "refusal", when: "before", of: "all", ageMs: 0, retryAfter } as const;
  return [
    { after: 0, do: "lie", lie: { ...lie, span: { ms: 3 * MINUTE } } },
    orders(1),
    change(random),
    { after: 0, do: "ask", order: integerBetween(random, 0, 3), status: "accepted" },
    write(integerBetween(random, 0, 3)),
  ];
}

/** A migration tool of the ERP recreates the table of a feed, and the ERP continues at once. */
function remade(random: Random, forms: Forms): Apart {
  const feed = forms.prices && random() < 0.4 ? "prices" : "stocks";
  const key = integerBetween(random, 0, 3);
  const write = (at: number): Step => ({ after: 0, do: "write", feed, key: at, how: "upsert" });
  return {
    forms,
    steps: [
      write(key),
      write(key + 1),
      ...idle(3),
      { after: integerBetween(random, 0, MINUTE), do: "remake", feed },
      write(key),
      ...(random() < 0.5 ? [pass(), { after: 0, do: "remake", feed, key } as const, ...idle(2)] : []),
      ...(random() < 0.5 ? [{ after: 0, do: "remove", feed, key: key + 1 } as const] : []),
      pass(),
      ...(random() < 0.5 ? [write(key + 1)] : []),
      ...idle(2),
    ],
  };
}

/**
 * The table of stocks gets an index in the order of the ERP's own NOCASE, at the beginning or later, and the ERP
 * continues.
 */
function ownOrder(random: Random, forms: Forms): Added {
  const articles = [0, 1, 2, 3].map((key) => write(key));
  const key = integerBetween(random, 0, 3);
  const isFirst = random() < 0.4;
  const made: Step[] = [
    ...(random() < 0.7 ? articles : articles.slice(0, 2)),
    ...(isFirst ? [] : idle(integerBetween(random, 0, 2))),
    { after: isFirst ? 0 : integerBetween(random, 0, MINUTE), do: "own order" },
  ];
  const worked: Step[] = [
    ...(isFirst ? articles : []),
    pass(),
    write(key),
    ...(random() < 0.4 ? [{ after: 0, do: "rewrite", feed: "stocks" } as const] : []),
    ...(random() < 0.3 ? [{ after: 0, do: "remove", feed: "stocks", key: key + 1 } as const] : []),
    pass(),
    write(key + 2),
    ...(random() < 0.5 ? [{ after: 0, do: "night" } as const] : []),
    ...idle(2),
  ];
  return isFirst ? { forms, first: made, steps: worked } : { forms, steps: [...made, ...worked] };
}

/** The ERP has rows whose keys contain half a surrogate pair, and continues with others. */
function cutKeys(random: Random, forms: Forms): Added | undefined {
  if (forms.encoding === "UTF-8") return undefined;
  const feed = forms.prices && random() < 0.3 ? "prices" : "stocks";
  const cut = (key: number, isGone = false): Step => ({ after: 0, do: "cut key", feed, key, isGone });
  const first = integerBetween(random, 0, 2);
  return {
    forms,
    first: random() < 0.3 ? [cut(first + 1)] : [],
    steps: [
      ...(random() < 0.5 ? [pass()] : []),
      cut(first),
      write(integerBetween(random, 0, 3), random() < 0.3 ? "zero" : "upsert"),
      ...(random() < 0.3 ? [{ after: 0, do: "rewrite", feed } as const] : []),
      pass(),
      write(integerBetween(random, 0, 3)),
      ...(random() < 0.4 ? [cut(first, true)] : []),
      ...(random() < 0.4 ? [{ after: 0, do: "night" } as const] : []),
      pass(),
    ],
  };
}

/**
 * A table of the ERP has a foreign key from the beginning that every write to `orders` would violate if it were
 * enforced.
 */
function refer(_random: Random, forms: Forms): Added {
  return { forms, first: [{ after: 0, do: "refer" }], steps: [] };
}

const ISO = ["iso-z", "iso-offset", "iso-naive"] as const;

/** A deployment in another zone writes times without a zone hours too early; a new order shows it, and changes follow it. */
function timesBack(random: Random, forms: Forms): Apart | undefined {
  const namesNone = forms.timestamps === "iso-naive" || forms.timestamps === "dotted";
  if (!namesNone || forms.next !== "none" || forms.keeps !== "oldest" || forms.retention) return undefined;
  return {
    forms,
    steps: [
      orders(3),
      change(random),
      ...idle(3),
      { after: 0, do: "times back", minutes: pickOne(random, TIMES_BACK) },
      ...(random() < 0.5 ? [change(random), pass()] : []),
      orders(1),
      ...idle(3),
      change(random),
      ...(random() < 0.5 ? [{ after: 25 * MINUTE, do: "wait" } as const, change(random), pass()] : []),
    ],
  };
}

/** A deployment writes all timestamps in another zone, without one, or in milliseconds. */
function otherTimes(random: Random, forms: Forms): Apart | undefined {
  // The service's own positions may be timestamps themselves.
  if (!ISO.some((form) => form === forms.timestamps) || forms.next !== "none") return undefined;
  const form = pickOne(random, ISO);
  const precision = forms.precision === "s" && random() < 0.5 ? "ms" : forms.precision;
  return {
    forms,
    steps: [
      orders(3),
      change(random),
      ...idle(3),
      { after: 0, do: "times", form, precision },
      change(random),
      pass(),
      orders(1),
      change(random),
      ...idle(2),
      ...(random() < 0.5 ? [{ after: 12 * MINUTE, do: "wait" } as const, change(random), pass()] : []),
    ],
  };
}
