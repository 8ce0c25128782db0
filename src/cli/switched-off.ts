import type { LoadedConfig } from "../config/load.ts";
import { m } from "../messages/messages.ts";
import type { JobName } from "../pass/job-names.ts";
import { BridgeError } from "../platform/errors.ts";

/** Feeds and statuses run only where their path is set; every other job always does. */
export function isSwitchedOn(job: JobName, { config }: LoadedConfig): boolean {
  if (job === "statuses") return config.statuses.path !== null;
  return !(job in config.imports) || config.imports[job as "stocks"].path !== null;
}

/** The error of a command about something that is switched off. */
export function switchedOff(job: string): BridgeError {
  return new BridgeError("usage", m.sync.switchedOff({ job }), { hint: m.sync.setPath });
}
