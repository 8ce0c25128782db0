/*
 * A delivery whose answer was lost, and that a confirm cannot name, is reported once it was waited for: silence is
 * impossible, also where this machine's clock was ahead when it was lost, and where each pass is a process of its own.
 */
import type { RunResult } from "../../../src/daemon/run-job.ts";
import { namesBatches } from "../forms.ts";
import type { Scene } from "../scene.ts";

/** Where nothing is to be confirmed, nothing waits. */
const HOLDS_BACK =
  "SELECT 1 FROM pull_mark WHERE lost = 1 AND EXISTS (SELECT 1 FROM batches WHERE state <> 'confirmed')";
const IS_REPORTED = "SELECT 1 FROM holds WHERE area = 'orders' AND reason = 'hand-out lost'";
/** `orders.confirm.wait`, as no life configures it. */
const WAIT_MS = 15 * 60_000;
/** For what a pass takes. */
const MARGIN_MS = 5 * 60_000;

export class DeliveryInvariants {
  readonly #scene: Scene;
  /** Since when the delivery counts as lost, by a clock that has not been set back meanwhile. */
  #lostSinceMs: number | undefined;
  #clockMs = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** @param tookMs how long the pass took */
  onResult(job: string, { error, outcome }: RunResult, tookMs: number): void {
    const { auditor, coverage, fail, forms, machine, time } = this.#scene;
    if (job !== "orders" || namesBatches(forms)) return;
    const isSetBack = machine.wallOffsetMs < this.#clockMs;
    this.#clockMs = machine.wallOffsetMs;
    if (auditor.prepare(HOLDS_BACK).get() === undefined) this.#lostSinceMs = undefined;
    else if (isSetBack) this.#lostSinceMs = time.elapsedMs;
    else this.#lostSinceMs ??= time.elapsedMs;
    if (this.#lostSinceMs === undefined || error !== null || outcome === "held") return;
    if (time.elapsedMs - tookMs - this.#lostSinceMs < WAIT_MS + MARGIN_MS) return;
    coverage.count("delivery", "lost for long");
    if (auditor.prepare(IS_REPORTED).get() === undefined)
      fail(10, "a lost delivery holds confirms back for long, and nothing says so");
  }
}
