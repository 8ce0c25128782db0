/*
 * Converts errors of PostgreSQL and of the connection to it into BridgeErrors with a code and a hint. Decides by SQLSTATE
 * and by Node's codes, never by PostgreSQL's messages, which are in the server's language.
 */
import type { MirrorTarget } from "../config/mirror.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError, type ErrorCode } from "../platform/errors.ts";

export type MirrorCode = Extract<ErrorCode, `mirror_${string}`>;

interface MirrorErrorDetails {
  hint?: Message;
  cause?: unknown;
  sqlState?: string | undefined;
  isOutcomeUnknown?: boolean;
  isTooLong?: boolean;
}

export class MirrorError extends BridgeError {
  /** PostgreSQL's code; undefined where the error is not PostgreSQL's. */
  readonly sqlState: string | undefined;
  /** COMMIT was sent and not answered: the position shows whether it succeeded. */
  readonly isOutcomeUnknown: boolean;
  /** A statement exceeded its time limit: PostgreSQL has cancelled it, or was busy with one value for longer. */
  readonly isTooLong: boolean;

  constructor(code: MirrorCode, text: Message, more: MirrorErrorDetails = {}) {
    super(code, text, more);
    this.name = "MirrorError";
    this.sqlState = more.sqlState;
    this.isOutcomeUnknown = more.isOutcomeUnknown === true;
    this.isTooLong = more.isTooLong === true;
  }

  /** Whether a value caused it: the rows of the statement are then sent separately. */
  get isOfData(): boolean {
    return isOfData(this.sqlState);
  }
}

/**
 * Whether a value caused an error: an invalid value (22), a violated constraint (23), an exceeded limit (54) or an
 * exception of a trigger (P0). Classes of SQLSTATE are in appendix A of PostgreSQL's manual.
 */
function isOfData(sqlState: string | undefined): boolean {
  return sqlState !== undefined && /^(22|23|54|P0)/.test(sqlState);
}

/** Codes and classes of SQLSTATE, longest first. */
const BY_STATE: readonly (readonly [prefix: string, code: MirrorCode])[] = [
  ["57014", "mirror_slow"], // statement_timeout, or pg_cancel_backend
  ["55P03", "mirror_slow"], // lock_timeout
  ["25P03", "mirror_slow"], // idle_in_transaction_session_timeout
  ["25006", "mirror_read_only"],
  ["42501", "mirror_right"],
  ["3D000", "mirror_access"],
  ["42P01", "mirror_schema"],
  ["42703", "mirror_schema"],
  ["42883", "mirror_schema"],
  ["3F000", "mirror_schema"],
  ["57P", "mirror_away"], // shut down, starting up
  ["08", "mirror_away"],
  ["28", "mirror_access"],
  ["40", "mirror_slow"], // deadlock, serialization: the next pass repeats it
  ["53", "mirror_full"],
];

const AWAY: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "EPIPE", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"],
  ...["ENOENT", "EACCES", "ENETDOWN", "EHOSTDOWN", "ECONNABORTED"],
]);
const CERTIFICATE =
  /^(CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH|INVALID_CA)/;

const UNANSWERED = /^Query read timeout/i;
/** Error texts of `pg` itself, which have no code. */
const OWN_WORDS: readonly (readonly [RegExp, MirrorCode])[] = [
  [/Connection terminated|Client has encountered a connection error|Client was closed|not queryable/i, "mirror_away"],
  [/^timeout expired|Connection terminated due to connection timeout/i, "mirror_away"],
  [UNANSWERED, "mirror_slow"],
  [/SASL|SCRAM|authentication/i, "mirror_access"],
  [/does not support SSL|error establishing an SSL/i, "mirror_certificate"],
];

export interface Met {
  target: MirrorTarget;
  shop: string;
  schema: string;
  /** The operation that failed. */
  doing: Message;
  isCommit?: boolean;
  /** Limit for one statement. */
  timeoutMs: number;
  /** Duration of the failed statement; absent where none was sent. */
  tookMs?: number | undefined;
}

/** The code for a thrown value; pure. */
export function codeOf(thrown: unknown): MirrorCode {
  const { code, message } = partsOf(thrown);
  if (code !== undefined) {
    if (AWAY.has(code)) return "mirror_away";
    if (CERTIFICATE.test(code)) return "mirror_certificate";
    const found = /^[0-9A-Z]{5}$/.test(code) ? BY_STATE.find(([prefix]) => code.startsWith(prefix)) : undefined;
    if (found !== undefined) return found[1];
  }
  return OWN_WORDS.find(([words]) => words.test(message))?.[1] ?? "mirror_failed";
}

/** Converts anything thrown while PostgreSQL was used into a BridgeError; BridgeErrors are returned unchanged. */
export function mirrorErrorOf(thrown: unknown, met: Met): BridgeError {
  if (thrown instanceof BridgeError) return thrown;
  const { code: own, message } = partsOf(thrown);
  const sqlState = own !== undefined && /^[0-9A-Z]{5}$/.test(own) && !AWAY.has(own) ? own : undefined;
  const code = codeOf(thrown);
  const at = placeOf(met.target);
  const why = sqlState === undefined ? (own ?? message) : `${message}, ${sqlState}`;
  const { user } = met.target;
  const words: Record<MirrorCode, [text: Message, hint?: Message]> = {
    mirror_away: [m.mirror.away({ at, why }), m.mirror.awayHint],
    mirror_slow: slowWords(sqlState, { ...met, at, why }),
    mirror_full: [m.mirror.full({ at, why }), m.mirror.fullHint],
    mirror_read_only: [m.mirror.readOnly({ at }), m.mirror.readOnlyHint],
    mirror_access: [m.mirror.access({ at, user, why }), m.mirror.accessHint],
    mirror_certificate: [m.mirror.certificate({ at, why }), m.mirror.certificateHint],
    mirror_right: [m.mirror.right({ at, user, why }), m.mirror.rightHint({ shop: met.shop })],
    mirror_schema: [m.mirror.otherSchema({ at, schema: met.schema }), m.mirror.initHint],
    mirror_database: [m.mirror.failed({ at, doing: met.doing, why })],
    mirror_fenced: [m.mirror.failed({ at, doing: met.doing, why })],
    mirror_failed: [m.mirror.failed({ at, doing: met.doing, why })],
  };
  const [text, hint] = words[code];
  // An error answer of PostgreSQL means that it has not committed.
  const isOutcomeUnknown = met.isCommit === true && sqlState === undefined;
  return new MirrorError(code, text, {
    cause: thrown,
    sqlState,
    isOutcomeUnknown,
    isTooLong: isTimeOver(sqlState, met) || UNANSWERED.test(message),
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Limit for waiting for a lock, held by another client's long transaction: the next pass tries again. */
const LOCK_MS = 5_000;
/** Tolerance for the different speeds of the server's clock and this machine's. */
const CLOCK_SHARE = 0.98;

export function lockTimeoutMs(timeoutMs: number): number {
  return Math.min(LOCK_MS, timeoutMs / 2);
}

/** statement_timeout and pg_cancel_backend have the same SQLSTATE: only the duration distinguishes them. */
function isTimeOver(sqlState: string | undefined, { timeoutMs, tookMs }: Pick<Met, "timeoutMs" | "tookMs">): boolean {
  return sqlState === "57014" && (tookMs === undefined || tookMs >= timeoutMs * CLOCK_SHARE);
}

function slowWords(
  sqlState: string | undefined,
  { at, why, timeoutMs, tookMs }: Pick<Met, "timeoutMs" | "tookMs"> & { at: string; why: string },
): [text: Message, hint: Message] {
  const seconds = (ms: number) => Math.round(ms / 100) / 10;
  if (sqlState === undefined) return [m.mirror.slow({ at, why }), m.mirror.slowHint];
  if (isTimeOver(sqlState, { timeoutMs, tookMs }))
    return [m.mirror.tooLong({ at, seconds: seconds(timeoutMs) }), m.mirror.tooLongHint];
  if (sqlState === "57014") return [m.mirror.cancelled({ at, why }), m.mirror.cancelledHint];
  if (sqlState === "55P03")
    return [m.mirror.locked({ at, seconds: seconds(lockTimeoutMs(timeoutMs)) }), m.mirror.lockedHint];
  if (sqlState === "25P03") return [m.mirror.silentHere({ at, why }), m.mirror.silentHereHint];
  return [m.mirror.gaveWay({ at, why }), m.mirror.gaveWayHint];
}

function partsOf(thrown: unknown): { code: string | undefined; message: string } {
  if (!(thrown instanceof Error)) return { code: undefined, message: String(thrown) };
  // Node tries several addresses and reports an error for each.
  const first = thrown instanceof AggregateError ? (thrown.errors[0] as unknown) : thrown;
  const { code } = (first ?? thrown) as { code?: unknown };
  return { code: typeof code === "string" ? code : undefined, message: thrown.message };
}

/** `HOST:PORT/DATABASE`, without user and password. */
export function placeOf({ host, port, database }: MirrorTarget): string {
  return host.startsWith("/")
    ? `${host}/${database}`
    : `${host.includes(":") ? `[${host}]` : host}:${port}/${database}`;
}
