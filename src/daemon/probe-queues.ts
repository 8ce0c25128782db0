/*
 * Which flow may try next whether a hold is over. The flow whose probe was refused last, or failed for another reason, leaves the next
 * one to flows that have waited since; a flow that had nothing to send leaves probes to others for a while.
 */

import { loadWorkLeft } from "../health/work-left.ts";
import type { HoldRow } from "../pass/hold-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { AREA_FLOWS, type JobName } from "../pass/job-names.ts";
import { loadRefusedProbe } from "../pass/refused-probes.ts";
import { isFlowEnabled } from "../pass/runs.ts";
import type { Area } from "../service/service-error.ts";
import { flowOf, type HoldKey, keyOf } from "./hold-key.ts";

/** How long a flow that used a probe in vain leaves further probes to other flows that wait for one. */
const OTHERS_FIRST_MS = 5 * 60_000;
/** The same from a start on, when it is not known which flows have waited. */
const RECALLED_FIRST_MS = 15 * 60_000;

interface Queue {
  refused: string;
  waiting: Set<string>;
  /** How long a due probe is left to those that wait. */
  firstMs: number;
  /** Until then, from when the refused flow could have taken it (monotonic). */
  untilMs?: number;
  /** Another process has left it, and no flow of this one has yielded yet. */
  isRecalled?: boolean;
}

export class ProbeQueues {
  readonly #context: Pick<JobContext, "store" | "clock">;
  /** By hold of an area: the flow whose probe was refused last, and the flows that have waited since. */
  readonly #queues = new Map<string, Queue>();
  /** Until when a flow leaves the probes of a hold to others, by hold and flow. */
  readonly #othersFirstUntilMs = new Map<string, number>();

  constructor(context: Pick<JobContext, "store" | "clock">) {
    this.#context = context;
  }

  /** Whether a flow of these areas leaves the probe, which is due, to others. */
  isYielding(hold: HoldRow, areas: readonly string[]): boolean {
    const nowMs = this.#context.clock.monotonicMs();
    const queue = this.#queueOf(hold);
    // The flow that was refused last must not take every probe from flows that may be accepted. They have their time also where nobody
    // could take the probe for long after it was due, as on a machine that slept.
    if (queue?.refused === flowOf(areas)) {
      queue.untilMs ??= nowMs + queue.firstMs;
      if (queue.waiting.size > 0 && nowMs < queue.untilMs) return true;
    }
    return (this.#othersFirstUntilMs.get(flowKeyOf(hold, areas)) ?? 0) > nowMs;
  }

  noteWaiting(hold: HoldRow, areas: readonly string[]): void {
    const queue = this.#queueOf(hold);
    if (queue !== undefined && queue.refused !== flowOf(areas)) queue.waiting.add(flowOf(areas));
  }

  /**
   * The flow leaves a probe to others that is due. Returns whether another process has to know it: then the flow takes the probe of that one, because
   * where each pass is a process of its own there may be no other flow.
   */
  noteYielded(hold: HoldRow, areas: readonly string[]): boolean {
    const queue = this.#queues.get(keyOf(hold));
    if (queue?.isRecalled !== true || queue.refused !== flowOf(areas)) return false;
    queue.isRecalled = false;
    return true;
  }

  noteBegun(hold: HoldKey): void {
    this.#queues.get(keyOf(hold))?.waiting.clear();
  }

  /** The probe sent no request. */
  noteUnused(hold: HoldKey, areas: readonly string[]): void {
    this.#othersFirstUntilMs.set(flowKeyOf(hold, areas), this.#context.clock.monotonicMs() + OTHERS_FIRST_MS);
  }

  /** The probe was refused, or failed for another reason. */
  noteRefused(hold: HoldKey, areas: readonly string[]): void {
    // Flows that asked while the probe was under way wait for the next one.
    const waiting = new Set(this.#queues.get(keyOf(hold))?.waiting);
    waiting.delete(flowOf(areas));
    this.#queues.set(keyOf(hold), { refused: flowOf(areas), waiting, firstMs: OTHERS_FIRST_MS });
  }

  forget(hold: HoldKey): void {
    this.#queues.delete(keyOf(hold));
  }

  /** After a start, any other flow of the area may wait that has something to ask. */
  #queueOf(hold: HoldRow): Queue | undefined {
    const { store } = this.#context;
    const known = this.#queues.get(keyOf(hold));
    const refused = known === undefined && hold.scope === "area" ? loadRefusedProbe(store, hold) : undefined;
    if (refused === undefined) return known;
    const flows = AREA_FLOWS[hold.area as Area] ?? [];
    const waiting = flows.filter((flow) => flow !== refused && flow !== "reconcile" && mayAsk(store, flow));
    const queue = { refused, waiting: new Set<string>(waiting), firstMs: RECALLED_FIRST_MS, isRecalled: true };
    this.#queues.set(keyOf(hold), queue);
    return queue;
  }
}

/** Whether a flow that runs has something to send, or asks at every pass. */
function mayAsk(store: JobContext["store"], flow: JobName): boolean {
  if (!isFlowEnabled(store, flow)) return false;
  return flow === "orders" || flow === "updates" || loadWorkLeft(store, flow).left !== 0;
}

function flowKeyOf(hold: HoldKey, areas: readonly string[]): string {
  return `${keyOf(hold)}\n${areas.join()}`;
}
