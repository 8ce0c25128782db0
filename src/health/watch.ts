/*
 * Watches the bridge every few seconds, independently of the flows: the service's new behaviour, alerts and the
 * heartbeat. Looks run independently, and an error in one affects no other. A crash loses nothing: every look starts
 * from the database.
 */

import type { JobContext } from "../pass/job.ts";
import { asError } from "../platform/errors.ts";

export const LOOK_MS = 5_000;

export interface Look {
  name: string;
  look(signal: AbortSignal): Promise<unknown>;
}

export class Watch {
  readonly #context: JobContext;
  readonly #looks: readonly Look[];
  readonly #busy = new Map<string, Promise<void>>();
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(context: JobContext, looks: readonly Look[]) {
    this.#context = context;
    this.#looks = looks;
  }

  start(): void {
    if (this.#looks.length > 0) this.#timer = setInterval(() => void this.look(), LOOK_MS);
  }

  /** One round; skips looks that are still running. */
  async look(): Promise<void> {
    await Promise.all(this.#looks.map((look) => this.#run(look)));
  }

  /** Aborts running looks, including a message that is being sent. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#abort.abort();
    await Promise.all(this.#busy.values());
  }

  async #run(look: Look): Promise<void> {
    if (this.#busy.has(look.name) || this.#abort.signal.aborted) return;
    const running = this.#attempt(look);
    this.#busy.set(look.name, running);
    await running;
    this.#busy.delete(look.name);
  }

  async #attempt(look: Look): Promise<void> {
    try {
      await look.look(this.#abort.signal);
    } catch (error) {
      const failure = asError(error);
      const { code, message } = failure;
      this.#context.store.files?.notice(failure);
      this.#context.log.debug({ look: look.name, errorCode: code }, this.#context.client.hideSecrets(message));
    }
  }
}
