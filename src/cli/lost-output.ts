import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { EXIT, type ExitCode } from "../platform/errors.ts";
import { errorCodeFor, faultCodeOf, wordsForFault } from "../platform/machine-fault.ts";
import { worstOf } from "./command.ts";

/** What to say where results could not be written, in one line. */
export function describeLost(failure: Error): Message {
  const fault = faultCodeOf(failure) ?? failure.message;
  const code = errorCodeFor(fault);
  const what = code === "disk_full" || code === "disk_failed" ? wordsForFault(code, fault).what : m.command.notAccepted;
  return m.command.outputLost({ what, fault });
}

/** The exit code of a command whose results were lost: its work is done, and a script must not take them for whole. */
export function codeOfLost(exitCode: ExitCode): ExitCode {
  return worstOf([exitCode, EXIT.failed]);
}
