/*
 * What attacks from outside have found and the other draws do not have. Each is drawn from the seed by numbers of its own, so that the
 * rest of a life stays what it was.
 */
import { integerBetween, pickOne, type Random, seededRandom } from "../../src/sandbox/random.ts";
import { type Forms, SAYS_OF_RECORDS } from "./forms.ts";
import type { Apart, Step, WorldKind } from "./schedule.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const PASS = MINUTE + 5 * SECOND;

/** How often it is drawn, and what. */
interface Found {
  readonly tag: number;
  readonly shares: Readonly<Record<WorldKind, number>>;
  readonly draw: (random: Random, forms: Forms, world: WorldKind) => Apart | undefined;
}

const FOUND: readonly Found[] = [{ tag: 0x5a1d, shares: { usual: 0.03, hostile: 0.12 }, draw: leftOut }];

export function drawFound(seed: number, world: WorldKind, forms: Forms): Apart {
  const all: Apart = { forms, steps: [] };
  for (const { tag, shares, draw } of FOUND) {
    const random = seededRandom(seed ^ tag);
    for (let turn = 0; turn < 4; turn++) random();
    const drawn = random() < shares[world] ? draw(random, all.forms, world) : undefined;
    if (drawn === undefined) continue;
    all.forms = drawn.forms;
    all.steps.push(...drawn.steps);
  }
  return all;
}

/** A record that the service does not take is told of beside the others, in the usual form of the answers. */
function leftOut(random: Random, forms: Forms, world: WorldKind): Apart | undefined {
  // A table that is sent whole is refused whole, and of a part only the counts tell.
  if (forms.whole || forms.takenRecords !== null) return undefined;
  const keys =
    random() < 0.7 ? [integerBetween(random, 0, 3)] : [integerBetween(random, 0, 1), integerBetween(random, 2, 3)];
  const spans = world === "usual" ? [3 * MINUTE, 12 * MINUTE] : [3 * MINUTE, 25 * MINUTE, 6 * HOUR, 30 * HOUR];
  const ms = pickOne(random, spans);
  const write = (key: number, how: "upsert" | "zero" = "upsert"): Step => ({
    after: 0,
    do: "write",
    feed: "stocks",
    key,
    how,
  });
  const after = (): Step => ({ after: PASS, do: "wait" });
  // Three answers tell what is usual.
  const steps = [0, 1, 2].flatMap((turn): Step[] => [write(turn), write(turn + 1), after()]);
  steps.push({ after: 0, do: "leave out", keys, ms });
  for (const key of keys) steps.push(write(key, random() < 0.4 ? "zero" : "upsert"));
  if (random() < 0.7) steps.push(write(integerBetween(random, 0, 3)));
  steps.push(after());
  if (random() < 0.5) steps.push(write(integerBetween(random, 0, 3)), after());
  if (random() < 0.7) steps.push({ after: ms, do: "wait" });
  return { forms: { ...forms, importAnswer: pickOne(random, SAYS_OF_RECORDS) }, steps };
}
