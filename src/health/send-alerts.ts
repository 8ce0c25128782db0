/*
 * Notifies people when a condition begins and when it ends. Guarantees that nothing stops without a notification, and
 * that sending never disturbs the flows: it has its own loop and time limits. After a crash it continues from the
 * difference between the present conditions and what was sent.
 */

import type { Language } from "../messages/language.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { withTexts } from "../messages/pack.ts";
import type { JobContext } from "../pass/job.ts";
import { asError } from "../platform/errors.ts";
import { alertNameOf } from "./alert-names.ts";
import type { Channels } from "./channels.ts";
import { describeCondition, describeRecovery, statusWords } from "./condition-words.ts";
import { type Condition, keyOf, levelOf, traitOf } from "./conditions.ts";
import { type Alertable, type AlertMessage, lowerLevel, planAlert, planMissed } from "./plan-alerts.ts";
import type { Watched } from "./watched.ts";

export interface Receiver {
  name: "webhook" | "command";
  /** Resolves once the message has arrived. Has its own time limits. */
  send(message: AlertMessage, at: string, signal: AbortSignal): Promise<void>;
}

export interface AlertOptions {
  receivers: readonly Receiver[];
  watched: () => Watched;
  language: Language;
}

/** The limits of the planner are lower; this one bounds the loop. */
const MESSAGES_PER_LOOK = 20;

export class SendAlerts {
  readonly #context: JobContext;
  readonly #channels: Channels;
  readonly #options: AlertOptions;
  /** Monotonic time at which each present condition began, by key. */
  readonly #seenAtMs = new Map<string, number>();

  constructor(context: JobContext, channels: Channels, options: AlertOptions) {
    this.#context = context;
    this.#channels = channels;
    this.#options = options;
  }

  /** Compares the conditions with what was sent, and sends what is due. */
  async look(signal: AbortSignal): Promise<void> {
    const { conditions, covered } = this.#options.watched();
    const settled = this.#settle(conditions);
    const alertable = [
      ...conditions.flatMap((condition) => this.#alertable(condition, false)),
      ...covered.flatMap((condition) => this.#alertable(condition, true)),
    ];
    const now = { conditions: alertable, settled };
    await Promise.all(this.#options.receivers.map((receiver) => this.#notify(receiver, now, signal)));
    this.#channels.save();
  }

  #alertable(condition: Condition, muted: boolean): Alertable[] {
    const subject = alertNameOf(condition);
    if (subject === null) return [];
    const { language } = this.#options;
    const nowMs = this.#context.clock.nowMs();
    const { text, command } = describeCondition(condition, { nowMs, language });
    const next = command === null || text.includes(command) ? "" : ` ${statusWords(language).next}: ${command}`;
    const recovery = describeRecovery(condition, language);
    return [{ key: keyOf(condition), subject, level: levelOf(condition), problem: `${text}${next}`, recovery, muted }];
  }

  /** The keys of conditions that have lasted long enough, by the monotonic clock. */
  #settle(conditions: readonly Condition[]): ReadonlySet<string> {
    const nowMs = this.#context.clock.monotonicMs();
    const standing = new Set(conditions.map(keyOf));
    for (const key of this.#seenAtMs.keys()) if (!standing.has(key)) this.#seenAtMs.delete(key);
    const settled = conditions.filter((condition) => {
      const since = this.#seenAtMs.get(keyOf(condition)) ?? nowMs;
      this.#seenAtMs.set(keyOf(condition), since);
      return nowMs - since >= traitOf(condition).settleMs;
    });
    return new Set(settled.map(keyOf));
  }

  async #notify(
    receiver: Receiver,
    now: { conditions: readonly Alertable[]; settled: ReadonlySet<string> },
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, log } = this.#context;
    const { name } = receiver;
    for (let messages = 0; messages < MESSAGES_PER_LOOK; messages++) {
      if (!this.#channels.mayTry(name)) return;
      const state = this.#channels.get(name);
      const plan =
        planAlert(state.told, { ...now, nowMs: clock.nowMs() }) ??
        (state.failing === null ? undefined : planMissed(state.told, state.failing.since));
      if (plan === undefined) break;
      try {
        const { text } = plan.message;
        const shown = typeof text === "string" ? client.hideSecrets(text) : withTexts(text, client.hideSecrets);
        await receiver.send({ ...plan.message, text: shown }, new Date(clock.nowMs()).toISOString(), signal);
      } catch (error) {
        this.#channels.noteFailure(name, error);
        return;
      }
      this.#channels.noteSuccess(name);
      this.#channels.set(name, { ...this.#channels.get(name), told: plan.notified });
      log.debug({ channel: name, subject: plan.message.subject }, "A notification was sent.");
    }
    const state = this.#channels.get(name);
    const less = lowerLevel(state.told, now.conditions);
    if (less !== undefined) this.#channels.set(name, { ...state, told: less });
  }
}

/** Sends a test message at once. Returns the reason where it did not arrive. */
export async function sendTestMessage(
  receiver: Receiver,
  at: string,
  signal: AbortSignal,
): Promise<Message | undefined> {
  const text = m.health.testAlert;
  try {
    await receiver.send({ kind: "test", subject: "test", text }, at, signal);
    return undefined;
  } catch (error) {
    return asError(error).text;
  }
}
