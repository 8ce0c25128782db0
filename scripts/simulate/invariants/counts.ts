/*
 * What a count in the answers to imports shows that nothing else shows: fewer changes than there were, and fewer records than were sent. From
 * when on a client can know it, and of which rows.
 */
import { importKey } from "../../../src/sandbox/imports.ts";
import type { Forms } from "../forms.ts";
import type { Sent } from "../network.ts";
import type { Scene } from "../scene.ts";
import type { FeedName } from "../schedule.ts";
import { type ImportEffect, keyOf, type PushInvariants } from "./pushes.ts";

/** A count that was the number of records so often, of two sizes, follows it. */
const SURE_TIMES = 5;
const SURE_SIZES = 2;
/** With the same count twice, and then a smaller request, it is known that a service takes no more records. */
const SHORT_TIMES = 2;
/** Rows that were accepted before that go again at the next pass, or the one after. */
const AGAIN_MS = 3 * 60_000;

/** Whether answers count only the records that differ from what the site has. */
export function countsChanges({ importAnswer, importCounts }: Forms): boolean {
  return importAnswer === "changes" || importCounts === "changed";
}

/** Whether only the first records of a request are taken, and it is learned late that the count is of them. */
export function isSilentlyLimited({ importAnswer, takenRecords }: Forms): boolean {
  return takenRecords !== null && importAnswer !== "counts";
}

/** What the bridge was told of one feed. */
interface ToldCounts {
  /** How many records of each request were changes; all of them. */
  readonly whole: number[];
  /** The same since the last pass: it may be lost with the program. */
  fresh: number[];
  /** Fewer changes were counted before it was sure: others may change the site as well. */
  isSpoiled: boolean;
  /** A 1 was counted of several records: another 1 may be a flag as well. */
  hadOne: boolean;
  shortTimes: number;
  freshShortTimes: number;
  isTaught: boolean;
}

export class CountInvariants {
  readonly #scene: Scene;
  readonly #pushes: PushInvariants;
  readonly #told = new Map<FeedName, ToldCounts>();
  /** Rows of requests without a true answer, with their records: the site may have these. */
  readonly #open = new Map<number, Map<string, string>>();
  /** Rows that were left out last, with their records. */
  readonly #leftOut = new Map<string, string>();
  /** The same of rows that were accepted beside one that was left out. */
  readonly #beside = new Map<string, string>();
  /** Rows of which the bridge was told that the site has them. */
  readonly #acknowledged = new Set<string>();
  /** Rows that were not taken, and count as accepted for all that was known then. */
  readonly #inVain = new Set<string>();
  #isAmbiguous = false;

  constructor(scene: Scene, pushes: PushInvariants) {
    this.#scene = scene;
    this.#pushes = pushes;
  }

  /** Whether a count of fewer changes than there were must mean something. */
  isSure(feed: FeedName): boolean {
    const { whole: all, isSpoiled, hadOne } = this.#of(feed);
    const whole = hadOne ? all.filter((each) => each > 1) : all;
    return !isSpoiled && whole.length >= SURE_TIMES && new Set(whole).size >= SURE_SIZES;
  }

  /** A pass has ended, and what it has learned is stored. */
  onResult(feed: FeedName): void {
    const told = this.#of(feed);
    told.whole.push(...told.fresh);
    told.fresh = [];
    told.shortTimes += told.freshShortTimes;
    told.freshShortTimes = 0;
  }

  onStart(): void {
    for (const told of this.#told.values()) {
      told.fresh = [];
      told.freshShortTimes = 0;
    }
  }

  /** What was learned elsewhere says nothing here. */
  forget(): void {
    this.#told.clear();
    this.#acknowledged.clear();
    this.#inVain.clear();
  }

  onSent({ number, route, request }: Sent): void {
    const { forms, service } = this.#scene;
    if (route.kind !== "import" || !(countsChanges(forms) || isSilentlyLimited(forms))) return;
    const { feed } = route;
    if (feed !== "stocks" && feed !== "prices") return;
    const { property, key } = service.options.imports[feed];
    const records = (JSON.parse(request.body.toString()) as Record<string, Record<string, string>[]>)[property] ?? [];
    const named = records.map((record): [string, string] => [
      nameOf(feed, importKey(...key.map((each) => record[each] ?? ""))),
      JSON.stringify(record),
    ]);
    this.#open.set(number, new Map(named));
  }

  /** @param effect of a true answer; undefined: the request has not left */
  onTold(number: number, effect: ImportEffect | undefined): void {
    const sent = this.#open.get(number);
    this.#open.delete(number);
    if (sent === undefined || effect === undefined) return;
    const { forms } = this.#scene;
    const feed = effect.feed as FeedName;
    const accepted = effect.accepted.map(({ key }) => nameOf(feed, key));
    if (isSilentlyLimited(forms)) this.#learnLimit(effect, feed);
    else this.#learnChanges(effect, feed, sent);
    for (const name of accepted) {
      this.#acknowledged.add(name);
      this.#inVain.delete(name);
      this.#pushes.forgive(name);
      for (const records of this.#open.values()) records.delete(name);
    }
  }

  /**
   * One of several rows was left out, and then had a newer value: nothing shows any more whether it was this one. The others wait until the
   * count says nothing, after a day in which other records were counted.
   */
  get isAmbiguous(): boolean {
    return this.#isAmbiguous;
  }

  #noteNewer(names: readonly string[], sent: ReadonlyMap<string, string>): void {
    for (const name of names) {
      const [record, before] = [sent.get(name), this.#leftOut.get(name)];
      this.#leftOut.delete(name);
      if (this.#beside.get(name) !== record) this.#beside.delete(name);
      if (before === undefined || before === record || this.#beside.size === 0) continue;
      if (!this.#isAmbiguous) this.#scene.coverage.count("fewer changes", "of which rows nothing shows");
      this.#isAmbiguous = true;
    }
  }

  /** A row whose value the site may have, or of which nothing was acknowledged, may count as unchanged. */
  #learnChanges(
    { accepted, rejected, changed }: ImportEffect,
    feed: FeedName,
    sent: ReadonlyMap<string, string>,
  ): void {
    const told = this.#of(feed);
    const isSure = this.isSure(feed);
    const names = accepted.map(({ key }) => nameOf(feed, key));
    const mayHave = names.filter((each) => this.#mayHave(each)).length >= names.length - changed;
    // A 1 may be a flag.
    const isFew = changed <= 1;
    this.#noteNewer([...names, ...rejected.map(({ key }) => nameOf(feed, key))], sent);
    if (rejected.length > 0) for (const name of names) this.#beside.set(name, sent.get(name) ?? "");
    for (const { key } of rejected) {
      const name = nameOf(feed, key);
      this.#leftOut.set(name, sent.get(name) ?? "");
      if (isSure && this.#acknowledged.has(name) && !this.#mayHave(name)) this.#pushes.noteLeftOut(name);
      else this.#pushes.excuse(name);
    }
    if (this.#leftOut.size === 0) this.#beside.clear();
    if (rejected.length > 0) return;
    if (changed === 1 && accepted.length > 1) told.hadOne = true;
    if (changed === accepted.length) told.fresh.push(changed);
    else if (!isSure && !(isFew && mayHave)) told.isSpoiled = true;
  }

  /** Whether an answer about the row was lost. */
  #mayHave(name: string): boolean {
    return [...this.#open.values()].some((records) => records.has(name));
  }

  #learnLimit({ accepted, untaken }: ImportEffect, feed: FeedName): void {
    const told = this.#of(feed);
    const names = untaken.map((key) => nameOf(feed, key));
    for (const name of names) {
      if (told.isTaught) this.#pushes.noteLeftOut(name);
      else {
        // Whatever was said of it before.
        this.#pushes.forgetLeftOut(name);
        this.#inVain.add(name);
      }
    }
    if (untaken.length > 0) told.freshShortTimes += 1;
    else if (
      told.shortTimes + told.freshShortTimes >= SHORT_TIMES &&
      accepted.length < (this.#scene.forms.takenRecords ?? 0) &&
      !told.isTaught
    )
      this.#teach(told, feed);
  }

  #teach(told: ToldCounts, feed: FeedName): void {
    const { coverage, time } = this.#scene;
    told.isTaught = true;
    const names = [...this.#inVain].filter((name) => name.startsWith(`${feed} `));
    coverage.count("silent limit", names.length > 0 ? "known with rows in vain" : "known");
    time.at(AGAIN_MS, () => {
      for (const name of names) if (this.#inVain.delete(name)) this.#pushes.noteLeftOut(name);
    });
  }

  #of(feed: FeedName): ToldCounts {
    const told = this.#told.get(feed) ?? {
      ...{ whole: [], fresh: [], isSpoiled: false, hadOne: false, shortTimes: 0, freshShortTimes: 0, isTaught: false },
    };
    this.#told.set(feed, told);
    return told;
  }
}

function nameOf(feed: FeedName, key: string): string {
  return `${feed} ${keyOf(key)}`;
}
