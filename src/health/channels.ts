/*
 * State of the calls to receivers and the heartbeat: what each was notified of, and whether calling it fails. Kept in
 * memory first, because a full disk is itself a reason for an alert; written when the database accepts it, with
 * retries. After a crash before that, one message is sent again.
 */

import { m } from "../messages/messages.ts";
import type { JobContext } from "../pass/job.ts";
import { backoffMs } from "../platform/backoff.ts";
import { asError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { carriedOver } from "./alert-names.ts";
import { CHANNELS, type ChannelName, type ChannelState, type ChannelStates } from "./health-rows.ts";
import { NOTHING_NOTIFIED } from "./plan-alerts.ts";

const FIRST_RETRY_MS = 15_000;
const LONGEST_RETRY_MS = 10 * 60_000;

export class Channels {
  readonly #context: JobContext;
  #states: ChannelStates;
  #isUnsaved = false;
  readonly #retries = new Map<ChannelName, { failures: number; atMs: number }>();

  /** @param names the configured channels; states of others are dropped */
  constructor(context: JobContext, names: readonly ChannelName[]) {
    this.#context = context;
    const known = Object.entries(CHANNELS.load(context.store));
    const kept = known.filter(([name]) => names.some((one) => one === name));
    this.#states = Object.fromEntries(kept.map(([name, state]) => [name, { ...state, told: carriedOver(state.told) }]));
    this.#isUnsaved = kept.length < known.length;
    this.save();
  }

  get(name: ChannelName): ChannelState {
    return this.#states[name] ?? { told: NOTHING_NOTIFIED, failing: null };
  }

  set(name: ChannelName, state: ChannelState): void {
    this.#states = { ...this.#states, [name]: state };
    this.#isUnsaved = true;
    this.save();
  }

  /** Writes what could not be written before. */
  save(): void {
    const { store, log } = this.#context;
    if (!this.#isUnsaved) return;
    const states = this.#states;
    try {
      store.write(() => CHANNELS.save(store, states));
      this.#isUnsaved = false;
    } catch (error) {
      log.debug({ errorCode: asError(error).code }, "What was notified could not be written yet.");
    }
  }

  mayTry(name: ChannelName): boolean {
    return this.#context.clock.monotonicMs() >= (this.#retries.get(name)?.atMs ?? 0);
  }

  noteSuccess(name: ChannelName): void {
    this.#retries.delete(name);
    const state = this.get(name);
    if (state.failing === null) return;
    this.set(name, { ...state, failing: null });
    this.#context.log.info({ channel: name }, m.health.channelWorks({ name }));
  }

  /** Logged once when it starts to fail; `status` shows it as long as it does. */
  noteFailure(name: ChannelName, error: unknown): void {
    const { clock, log } = this.#context;
    const { code, text } = asError(error);
    if (code === "stopped") return;
    const failures = (this.#retries.get(name)?.failures ?? 0) + 1;
    const waitMs = backoffMs({ firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS }, failures);
    this.#retries.set(name, { failures, atMs: clock.monotonicMs() + waitMs });
    const state = this.get(name);
    if (state.failing !== null) return;
    this.set(name, { ...state, failing: { since: isoTime(clock.nowMs()), error: code } });
    log.warn({ channel: name, errorCode: code }, m.health.channelFails({ name, error: text }));
  }
}
