import { setTimeout as sleep } from "node:timers/promises";
import { LOSS_MS } from "../../src/confirm/plan-loss.ts";

/**
 * Twice as long as any flow waits between two tries after failures that end by themselves, behind the longest wait of all: a confirm that was
 * answered unreadably, while an answer with orders was lost, is repeated an hour after that.
 */
const STUCK_AFTER_MS = LOSS_MS + 600_000;
const LOOK_EVERY_MS = 250;

/**
 * Looks until nothing is left, or until for so long no less is left than ever before; returns what is left. How fast it becomes less is the
 * machine's business.
 * @param look sentences that begin with how many are left: `["3 orders are owed a read"]`
 */
export async function untilSettled(
  look: () => readonly string[],
  { isRunning, nowMs, wait = sleep }: { isRunning(): boolean; nowMs(): number; wait?(ms: number): Promise<unknown> },
): Promise<readonly string[]> {
  let least = Number.POSITIVE_INFINITY;
  let untilMs = 0;
  for (;;) {
    const unfinished = look();
    const left = unfinished.reduce((sum, what) => sum + Number.parseInt(what, 10), 0);
    if (left < least) untilMs = nowMs() + STUCK_AFTER_MS;
    least = Math.min(least, left);
    if (left === 0 || nowMs() >= untilMs || !isRunning()) return unfinished;
    await wait(LOOK_EVERY_MS);
  }
}
