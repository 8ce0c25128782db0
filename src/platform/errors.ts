import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { errorCodeFor, faultCodeOf, wordsForFault } from "./machine-fault.ts";

/** Exit codes of every command, highest precedence first. */
export const EXIT = {
  config: 78,
  credentials: 77,
  fenced: 76,
  busyInstance: 75,
  unreachable: 69,
  usage: 64,
  failed: 1,
  attention: 2,
  ok: 0,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * The closed set of error codes. Code branches on these, never on the text of a message; they also appear in
 * `runs.error_code`, logs and `--json` output, so a code is never renamed.
 */
export type ErrorCode =
  // configuration and the machine
  | "config_invalid"
  | "node_too_old"
  | "usage"
  | "instance_running"
  | "account_changed"
  // the database
  | "database_refused"
  | "database_newer"
  | "migration_edited"
  | "database_busy"
  | "database_corrupt"
  | "disk_full"
  | "disk_failed"
  | "table_missing"
  | "folder_missing"
  // the service
  | "credentials_refused"
  | "payment_required"
  | "rate_limited"
  | "unavailable"
  | "unreachable"
  | "timed_out"
  | "answer_unreadable"
  | "answer_too_large"
  | "answer_shape"
  | "answer_unknown"
  | "redirected"
  | "request_refused"
  // the mirror
  | "mirror_away"
  | "mirror_slow"
  | "mirror_full"
  | "mirror_read_only"
  | "mirror_access"
  | "mirror_certificate"
  | "mirror_right"
  | "mirror_schema"
  | "mirror_database"
  | "mirror_fenced"
  | "mirror_failed"
  // the program
  | "stopped"
  | "internal";

/**
 * `text` is one sentence for the administrator, rendered in their language, and never holds a secret; `message` is the
 * same in English; `hint` says what to do; `cause` is the original error, for debug logs.
 */
export class BridgeError extends Error {
  readonly code: ErrorCode;
  readonly text: Message;
  readonly hint: Message | undefined;

  constructor(code: ErrorCode, text: Message, options: { hint?: Message; cause?: unknown } = {}) {
    super(String(text), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "BridgeError";
    this.code = code;
    this.text = text;
    this.hint = options.hint;
  }

  /** What is wrong and what to do. */
  get inFull(): Message {
    return this.hint === undefined ? this.text : m.common.sentences({ parts: [this.text, this.hint] });
  }
}

/** Whether the error concerns the database or its disk, rather than a record, the service or the program. */
export function isMachineFault({ code }: BridgeError): boolean {
  return code.startsWith("database_") || code.startsWith("disk_");
}

const OWN_WORDS: ReadonlySet<string> = new Set<ErrorCode>([
  "database_refused",
  "database_newer",
  "migration_edited",
  "database_busy",
  "database_corrupt",
  "disk_full",
  "disk_failed",
  "folder_missing",
  "mirror_away",
  "mirror_slow",
  "mirror_full",
  "mirror_read_only",
  "mirror_access",
  "mirror_certificate",
  "mirror_right",
  "mirror_schema",
  "mirror_database",
  "mirror_fenced",
]);

/**
 * Whether every sentence of this code is written by the bridge alone. Such sentences name files, disks and this
 * machine, and quote nothing from the service, an order or the ERP, so everyone who may request the status may read
 * them.
 */
export function hasOwnWords(code: string): boolean {
  return OWN_WORDS.has(code);
}

const EXIT_BY_CODE: Partial<Record<ErrorCode, ExitCode>> = {
  config_invalid: EXIT.config,
  node_too_old: EXIT.config,
  account_changed: EXIT.config,
  database_refused: EXIT.config,
  database_newer: EXIT.config,
  migration_edited: EXIT.config,
  database_corrupt: EXIT.config,
  credentials_refused: EXIT.credentials,
  payment_required: EXIT.credentials,
  mirror_fenced: EXIT.fenced,
  instance_running: EXIT.busyInstance,
  unavailable: EXIT.unreachable,
  unreachable: EXIT.unreachable,
  timed_out: EXIT.unreachable,
  usage: EXIT.usage,
};

/** The exit code of a command that ends with `error`. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof BridgeError ? exitCodeOfCode(error.code) : EXIT.failed;
}

/** The same for a stored code; one that this version does not have counts as a failure. */
export function exitCodeOfCode(code: string): ExitCode {
  return EXIT_BY_CODE[code as ErrorCode] ?? EXIT.failed;
}

/** Whether a relative path was resolved in a working folder that was removed. */
function isFolderGone(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown as { syscall?: unknown }).syscall === "uv_cwd";
}

/** Converts anything thrown into a BridgeError. Only a defect of the program is `internal`. */
export function asError(thrown: unknown): BridgeError {
  if (thrown instanceof BridgeError) return thrown;
  const fault = faultCodeOf(thrown);
  const code = fault?.startsWith("SQLITE_") ? errorCodeFor(fault) : undefined;
  if (fault !== undefined && code !== undefined) {
    const { what, hint } = wordsForFault(code, fault);
    return new BridgeError(code, m.platform.fault({ doing: m.platform.usingDatabase, what, where: fault }), {
      hint,
      cause: thrown,
    });
  }
  if (isFolderGone(thrown))
    return new BridgeError("usage", m.platform.noWorkingFolder, { hint: m.platform.changeFolder, cause: thrown });
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new BridgeError("internal", m.platform.internal({ message }), { hint: m.platform.reportIt, cause: thrown });
}
