/* The guard: only a few articles with stock go to zero or are deleted at a time, unless a person has approved more. */
import type { LedgerEntry } from "../../../src/sandbox/ledger.ts";
import { levelIn } from "../forms.ts";
import type { Scene } from "../scene.ts";

/** As configured: a larger percentage within this time waits for a person. */
const PERCENT = 30;
const OVER_MS = 3_600_000;
const SHOWN = "SELECT detail FROM holds WHERE area = 'stocks' AND reason = 'guard'";
const LIVE = "SELECT live_count FROM feeds WHERE name = 'stocks'";

export class GuardInvariants {
  readonly #scene: Scene;
  readonly #live = new Set<string>();
  /** Articles approved by a person, less those that have gone since. */
  #approved = 0;
  #drops: { atMs: number; wallOffsetMs: number }[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Call before a person approves the hold. */
  onApprove(): void {
    const detail = this.#scene.auditor.prepare(SHOWN).pluck().get() as string | undefined;
    this.#approved += Number(/^(\d+) of/.exec(detail ?? "")?.[1] ?? 0);
  }

  onEntry({ effect }: LedgerEntry): void {
    const { forms, time, machine } = this.#scene;
    if (effect?.kind !== "import" || effect.feed !== "stocks" || !forms.guard || forms.whole) return;
    const isRecent = ({ atMs, wallOffsetMs }: { atMs: number; wallOffsetMs: number }) =>
      atMs > time.elapsedMs - OVER_MS && wallOffsetMs === machine.wallOffsetMs;
    this.#drops = this.#drops.filter(isRecent);
    const droppedBefore = this.#drops.length;
    const liveBefore = this.#live.size;
    for (const { key, record } of effect.accepted) {
      const level = levelIn(JSON.parse(record) as Record<string, unknown>, forms);
      if (Number(level) > 0) this.#live.add(key);
      else if (this.#live.delete(key) && !this.#isOfOther(key)) {
        if (this.#approved > 0) this.#approved -= 1;
        else this.#drops.push({ atMs: time.elapsedMs, wallOffsetMs: machine.wallOffsetMs });
      }
    }
    if (this.#drops.length > droppedBefore) this.#check(liveBefore + droppedBefore);
  }

  /** The guard counts rows: where two rows have one article and one has stock, a 0 in the other does not count. */
  #isOfOther(key: string): boolean {
    const [article] = JSON.parse(key) as [string];
    const rows = this.#scene.erp.rowsOf("stocks", article);
    return rows.length > 1 && rows.some(({ value }) => Number(value) > 0);
  }

  /** @param before the number of articles with stock, including those that went within the time */
  #check(before: number): void {
    const { auditor, fail } = this.#scene;
    const dropped = this.#drops.length;
    // An article that the service has accepted and not yet acknowledged counts on one side only.
    const known = Math.max(before, auditor.prepare(LIVE).pluck().get() as number) + 1;
    if (dropped * 100 > PERCENT * known) {
      fail(20, `${dropped} of ${known} articles went to zero or away, and nobody has approved it`);
    }
  }
}
