/*
 * The guard: only a few articles with stock go to zero or are deleted within a time, unless a person has approved more; and
 * rows are held only where more go within such a time, whenever they are sent.
 */
import type { LedgerEntry } from "../../../src/sandbox/ledger.ts";
import { GUARD_FROM, levelIn } from "../forms.ts";
import type { Scene } from "../scene.ts";

/** As configured: a larger percentage within this time waits for a person. */
const PERCENT = 30;
const OVER_MS = 3_600_000;
/** A clock is corrected by less without being set. */
const CLOCK_STEP_MS = 60_000;
/** The program dates what it finds by the beginning of a pass, which may wait for the ERP. */
const SLACK_MS = 900_000;
const SHOWN = "SELECT detail FROM holds WHERE area = 'stocks' AND reason = 'guard'";
const LIVE = "SELECT live_count FROM feeds WHERE name = 'stocks'";
const GOING = "SELECT id FROM feed_outbox WHERE abs(feed_id) = 1 AND drop_round IS NOT NULL";
const IN_FLIGHT = "SELECT id, doubt_record AS record FROM feed_outbox WHERE feed_id = 1 AND doubt_record IS NOT NULL";
const HELD = `SELECT x.id FROM feed_outbox x JOIN feeds f USING (feed_id)
  WHERE f.name = 'stocks' AND f.guard_since IS NOT NULL AND x.state = 'waiting' AND x.drop_round = f.approved_round + 1`;

/** When an article went, by the machine's clock and in truth. */
interface Drop {
  wallMs: number;
  trueMs: number;
  wallOffsetMs: number;
  /** From these times on it counts as well, because the clock was set forward then while it still counted by that clock. */
  movedMs: readonly number[];
  /** The clock has jumped in the pass that found it. */
  isUnsure: boolean;
}

export class GuardInvariants {
  readonly #scene: Scene;
  readonly #live = new Set<string>();
  /** Articles approved by a person, less those that have gone since. */
  #approved = 0;
  /** Waiting rows, by the number of the row in the outbox. */
  readonly #going = new Map<number, Drop>();
  readonly #sent: Drop[] = [];
  /** By what was sent: the key that the service has got. */
  readonly #articles = new Map<Drop, string>();
  /** Of what was sent, what the site has had in stock again since. */
  readonly #returned = new Set<Drop>();
  /** Rows that wait no more: some of them were sent to another place. */
  readonly #left: Drop[] = [];
  /** The error of the clock, and its time, at the end of the last pass. */
  #wallOffsetMs: number | undefined;
  #wallMs = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Call before a person approves the hold. */
  onApprove(): void {
    const detail = this.#scene.auditor.prepare(SHOWN).pluck().get() as string | undefined;
    this.#approved += Number(/^(\d+) of/.exec(detail ?? "")?.[1] ?? 0);
  }

  /** Rows that were found to go to zero or away, and times that a clock has left in the future. */
  onCommit(): void {
    if (!this.#isOn()) return;
    const ids = new Set(this.#scene.auditor.prepare(GOING).pluck().all() as number[]);
    for (const [id, drop] of this.#going) {
      if (ids.has(id)) continue;
      this.#going.delete(id);
      this.#left.push(drop);
    }
    for (const id of ids) if (!this.#going.has(id)) this.#going.set(id, this.#now());
    const { wallMs } = this.#now();
    for (const drop of this.#all()) {
      drop.wallMs = Math.min(drop.wallMs, wallMs);
      drop.movedMs = drop.movedMs.map((each) => Math.min(each, wallMs));
    }
  }

  onEntry({ effect }: LedgerEntry): void {
    if (!this.#isOn() || effect?.kind !== "import" || effect.feed !== "stocks") return;
    const { forms, auditor } = this.#scene;
    const inFlight = auditor.prepare(IN_FLIGHT).all() as { id: number; record: string }[];
    const dropsBefore = this.#sent.length;
    for (const { key, record } of effect.accepted) {
      const level = levelIn(JSON.parse(record) as Record<string, unknown>, forms);
      if (Number(level) > 0) this.#noteLive(key);
      else if (this.#live.delete(key) && !this.#isOfOther(key)) {
        const row = inFlight.find((each) => each.record === record);
        if (this.#approved > 0) this.#approved -= 1;
        else {
          const drop = this.#going.get(row?.id ?? 0) ?? this.#now();
          this.#sent.push(drop);
          this.#articles.set(drop, key);
        }
      }
    }
    for (const drop of this.#sent.slice(dropsBefore)) this.#checkSent(drop);
  }

  #noteLive(key: string): void {
    this.#live.add(key);
    for (const [drop, each] of this.#articles) if (each === key) this.#returned.add(drop);
  }

  /** After a pass that has not failed. */
  onResult(): void {
    if (!this.#isOn()) return;
    this.onCommit();
    this.#noteForward();
    const all = this.#all();
    const held = this.#scene.auditor.prepare(HELD).pluck().all() as number[];
    for (const id of all.some(({ isUnsure }) => isUnsure) ? [] : held) {
      const { trueMs = 0, ...held } = this.#going.get(id) ?? {};
      // What went shortly before the clock jumped counts from the jump on.
      const isNear = (drop: Drop) =>
        Math.min(Math.abs(drop.trueMs - trueMs), betweenMs(timesOf(drop), timesOf(held))) <= OVER_MS + SLACK_MS;
      this.#scene.coverage.count("guard", "holds");
      if (all.filter(isNear).length < GUARD_FROM)
        this.#scene.fail(20, "the guard holds a row although no other one went to zero or away in that time");
    }
    this.#wallOffsetMs = this.#scene.machine.wallOffsetMs;
    this.#wallMs = this.#now().wallMs;
  }

  /**
   * Where the clock was set forward, what still counted by it counts from then on. After it was set back before, that may have gone long
   * ago: for how long it was wrong the program cannot know, and holds a row too many rather than none.
   */
  #noteForward(): void {
    const { wallMs, wallOffsetMs } = this.#now();
    if (wallOffsetMs - (this.#wallOffsetMs ?? wallOffsetMs) <= CLOCK_STEP_MS) return;
    for (const drop of this.#all())
      if (timesOf(drop).some((each) => each > this.#wallMs - OVER_MS - SLACK_MS))
        drop.movedMs = [...drop.movedMs, wallMs];
  }

  #isOn(): boolean {
    const { forms } = this.#scene;
    return forms.guard && !forms.whole;
  }

  #all(): Drop[] {
    return [...new Set([...this.#going.values(), ...this.#sent, ...this.#left])];
  }

  #now(): Drop {
    const { time, machine } = this.#scene;
    const { wallOffsetMs } = machine;
    const isUnsure = wallOffsetMs !== (this.#wallOffsetMs ?? wallOffsetMs);
    return { wallMs: time.trueMs + wallOffsetMs, trueMs: time.trueMs, wallOffsetMs, movedMs: [], isUnsure };
  }

  /** The guard counts rows: where two rows have one article and one has stock, a 0 in the other does not count. */
  #isOfOther(key: string): boolean {
    return this.#rowsOf(key).length > 1 && this.#isInStock(key);
  }

  /** In the row with that key, or in one that spells its article otherwise. */
  #isInStock(key: string): boolean {
    const rows = [...this.#rowsOf(key), ...this.#scene.erp.rowsOf("stocks", this.#articleOf(key))];
    return rows.some(({ value }) => Number(value) > 0);
  }

  #articleOf(key: string): string {
    const [sku = ""] = JSON.parse(key) as string[];
    return this.#scene.erp.articleOf("stocks", sku);
  }

  #rowsOf(key: string) {
    return this.#scene.erp.rowsOfKey("stocks", JSON.parse(key) as string[]);
  }

  /** No time around the drop has too many of those that were sent. */
  #checkSent({ wallMs, wallOffsetMs }: Drop): void {
    const { auditor, fail } = this.#scene;
    // What is in stock again while the answer to its 0 was lost is not gone.
    const isBack = (drop: Drop) => this.#returned.has(drop) || this.#isInStock(this.#articles.get(drop) ?? "[]");
    const same = this.#sent.filter((drop) => drop.wallOffsetMs === wallOffsetMs && !isBack(drop));
    const spans = same.map(({ wallMs: fromMs }) =>
      same.filter((drop) => drop.wallMs >= fromMs && drop.wallMs <= fromMs + OVER_MS - SLACK_MS),
    );
    // One article that has gone in one spelling and then in another has gone once.
    const articles = spans
      .filter((span) => span.some((drop) => drop.wallMs === wallMs))
      .map((span) => new Set(span.map((drop) => this.#articleOf(this.#articles.get(drop) ?? "[]"))));
    const dropped = Math.max(...articles.map(({ size }) => size));
    // An article that the service has accepted and not yet acknowledged counts on one side only.
    const known = Math.max(this.#live.size + dropped, auditor.prepare(LIVE).pluck().get() as number) + 1;
    if (dropped >= GUARD_FROM && dropped * 100 > PERCENT * known)
      fail(20, `${dropped} of ${known} articles went to zero or away, and nobody has approved it`);
  }
}

function timesOf({ wallMs = 0, movedMs = [] }: Partial<Drop>): number[] {
  return [wallMs, ...movedMs];
}

function betweenMs(some: readonly number[], others: readonly number[]): number {
  return Math.min(...some.flatMap((one) => others.map((other) => Math.abs(one - other))));
}
