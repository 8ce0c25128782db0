import type { Message } from "../messages/message.ts";
import { EXIT, type ExitCode } from "../platform/errors.ts";

/** Result of one check of `erp-bridge check`. */
export interface CheckResult {
  check: string;
  ok: boolean;
  message: Message;
  exitCode: ExitCode;
}

export function passed(check: string, message: Message): CheckResult {
  return { check, ok: true, message, exitCode: EXIT.ok };
}

export function failed(check: string, message: Message, exitCode: ExitCode = EXIT.attention): CheckResult {
  return { check, ok: false, message, exitCode };
}
