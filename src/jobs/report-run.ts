/*
 * One clear line for what happened: when a job did something, when it begins to fail or fails in another way, and
 * when it has recovered. Silence otherwise, because a line a minute for an outage of hours hides everything else.
 */
import type { Log } from "../domain/ports.ts";
import type { RunResult } from "./run-job.ts";

export class RunReporter {
  readonly #log: Log;
  readonly #hideSecrets: (text: string) => string;
  readonly #failing = new Map<string, string>();

  constructor(log: Log, hideSecrets: (text: string) => string) {
    this.#log = log;
    this.#hideSecrets = hideSecrets;
  }

  report(job: string, result: RunResult): void {
    if (result.outcome === "failed") {
      this.#reportFailure(job, result);
      return;
    }
    if (result.outcome === "held" || result.outcome === "stopped") return;
    if (this.#failing.delete(job)) this.#log.info({ job }, `${job}: works again.`);
    if (result.outcome !== "idle") this.#log.info({ job, ...result.counts }, `${job}: ${describeCounts(result.counts)}.`);
  }

  #reportFailure(job: string, { error }: RunResult & { outcome: "failed" | "stopped" }): void {
    const sentence = this.#hideSecrets(error.message);
    const fields = { job, errorCode: error.code, ...(error.hint === undefined ? {} : { hint: error.hint }) };
    if (this.#failing.get(job) === error.code) {
      this.#log.debug(fields, `${job}: ${sentence}`);
      return;
    }
    this.#failing.set(job, error.code);
    this.#log.error(fields, `${job}: ${sentence}`);
    this.#log.debug({ job, stack: this.#hideSecrets(error.stack ?? ""), cause: this.#hideSecrets(String(error.cause ?? "")) }, "details");
  }
}

/** `2 batches, 7 created, 2 confirmed` */
export function describeCounts(counts: Record<string, number>): string {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return parts.length === 0 ? "nothing to do" : parts.map(([name, count]) => `${count} ${name}`).join(", ");
}
