/*
 * Logs one line when a job did something, when it starts to fail or fails in another way, and when it has recovered.
 * Nothing else, because a line a minute during a long outage hides everything.
 */

import { describeCounts } from "../messages/describe-counts.ts";
import { m } from "../messages/messages.ts";
import { withTexts } from "../messages/pack.ts";
import { describeFailure } from "../pass/describe-failure.ts";
import type { Log } from "../platform/ports.ts";
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
    const lifted = result.error === null && "lifted" in result ? (result.lifted ?? []) : [];
    if (this.#failing.delete(job) || lifted.length > 0) this.#log.info({ job }, m.daemon.worksAgain({ job }));
    if (result.outcome !== "idle")
      this.#log.info({ job, ...result.counts }, m.daemon.passDone({ job, counts: describeCounts(result.counts) }));
  }

  #reportFailure(job: string, { error, hold }: RunResult & { outcome: "failed" | "stopped" }): void {
    const why = withTexts(describeFailure(error), this.#hideSecrets);
    const sentence =
      hold === undefined
        ? m.daemon.passFailed({ job, why })
        : m.daemon.passFailedHeld({ job, why, area: hold.area, reason: hold.reason });
    const fields = {
      job,
      errorCode: error.code,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      ...(hold?.nextProbeAt == null ? {} : { nextTryAt: hold.nextProbeAt }),
    };
    if (this.#failing.get(job) === error.code) {
      this.#log.debug(fields, sentence);
      return;
    }
    this.#failing.set(job, error.code);
    this.#log.error(fields, sentence);
    const details = {
      stack: this.#hideSecrets(error.stack ?? ""),
      cause: this.#hideSecrets(String(error.cause ?? "")),
    };
    this.#log.debug({ job, ...details }, "details");
  }
}
