/*
 * Tells people what begins to be wrong and what is well again. Keeps the promise that nothing stops in silence, and
 * that telling never disturbs what is told about: it has its own loop, its own time limits and no part in any flow.
 * After a crash it compares what is wrong with what was told, and goes on from there.
 */

import { loadErpWrites } from "../feeds/erp-writes.ts";
import type { JobContext } from "../pass/job.ts";
import { asError } from "../platform/errors.ts";
import { loadCountedFacts, loadQuickFacts } from "./alert-rows.ts";
import { type AlertFacts, type Condition, listConditions } from "./alerts.ts";
import type { Channels } from "./channels.ts";
import { type AlertMessage, noteLess, planAlert } from "./plan-alerts.ts";

export interface Receiver {
  name: "webhook" | "command";
  /** Resolves once the message has arrived. Has time limits of its own. */
  send(message: AlertMessage, at: string, signal: AbortSignal): Promise<void>;
}

export interface AlertOptions {
  receivers: readonly Receiver[];
  erpReadWithinMs: number;
}

/** Long tables are counted no more often. */
const COUNT_EVERY_MS = 60_000;
/** The planner's own limits are lower; this one only bounds the loop. */
const MESSAGES_PER_LOOK = 20;

type CountedFacts = Omit<AlertFacts, "flows" | "holds" | "walBytes" | "notices" | "met" | "written">;

export class SendAlerts {
  readonly #context: JobContext;
  readonly #channels: Channels;
  readonly #options: AlertOptions;
  readonly #startedAtMs: number;
  /** Monotonic time at which each subject that stands now was first seen. */
  readonly #seenAtMs = new Map<string, number>();
  #counted: { facts: CountedFacts; atMs: number } | undefined;

  constructor(context: JobContext, channels: Channels, options: AlertOptions) {
    this.#context = context;
    this.#channels = channels;
    this.#options = options;
    this.#startedAtMs = context.clock.nowMs();
  }

  /** One look at how things stand, and whatever is to be told about it. */
  async look(signal: AbortSignal): Promise<void> {
    const conditions = listConditions(this.#facts(), this.#context.clock.nowMs(), {
      erpReadWithinMs: this.#options.erpReadWithinMs,
      startedAtMs: this.#startedAtMs,
    });
    const settled = this.#settle(conditions);
    await Promise.all(this.#options.receivers.map((receiver) => this.#tell(receiver, { conditions, settled }, signal)));
    this.#channels.save();
  }

  #facts(): AlertFacts {
    const { store, clock } = this.#context;
    const nowMs = clock.monotonicMs();
    if (this.#counted === undefined || nowMs - this.#counted.atMs >= COUNT_EVERY_MS) {
      this.#counted = { facts: loadCountedFacts(store), atMs: nowMs };
    }
    const written = loadErpWrites(store).map(({ feed, since, withinS }) => ({
      feed,
      at: since,
      withinMs: withinS * 1000,
    }));
    return { ...loadQuickFacts(store), ...this.#counted.facts, written };
  }

  /** The subjects that have stood long enough, on the monotonic clock. */
  #settle(conditions: readonly Condition[]): ReadonlySet<string> {
    const nowMs = this.#context.clock.monotonicMs();
    const standing = new Set(conditions.map(({ subject }) => subject));
    for (const subject of this.#seenAtMs.keys()) if (!standing.has(subject)) this.#seenAtMs.delete(subject);
    const settled = conditions.filter(({ subject, settleMs }) => {
      const since = this.#seenAtMs.get(subject) ?? nowMs;
      this.#seenAtMs.set(subject, since);
      return nowMs - since >= settleMs;
    });
    return new Set(settled.map(({ subject }) => subject));
  }

  async #tell(
    receiver: Receiver,
    now: { conditions: readonly Condition[]; settled: ReadonlySet<string> },
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, log } = this.#context;
    const { name } = receiver;
    for (let messages = 0; messages < MESSAGES_PER_LOOK; messages++) {
      if (!this.#channels.mayTry(name)) return;
      const state = this.#channels.get(name);
      const plan = planAlert(state.told, { ...now, nowMs: clock.nowMs() });
      if (plan === undefined) break;
      try {
        const message = { ...plan.message, text: client.hideSecrets(plan.message.text) };
        await receiver.send(message, new Date(clock.nowMs()).toISOString(), signal);
      } catch (error) {
        this.#channels.noteFailure(name, error);
        return;
      }
      this.#channels.noteSuccess(name);
      this.#channels.set(name, { ...this.#channels.get(name), told: plan.told });
      log.debug({ channel: name, subject: plan.message.subject }, "Somebody was told.");
    }
    const state = this.#channels.get(name);
    const less = noteLess(state.told, now.conditions);
    if (less !== undefined) this.#channels.set(name, { ...state, told: less });
  }
}

/** Sends one message at once. Gives the reason where it did not arrive. */
export async function sendTestMessage(
  receiver: Receiver,
  at: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const text = "This is a test: alerts of erp-bridge arrive here.";
  try {
    await receiver.send({ kind: "test", subject: "test", text }, at, signal);
    return undefined;
  } catch (error) {
    return asError(error).message;
  }
}
