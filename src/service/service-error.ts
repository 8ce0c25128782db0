import type { Message } from "../messages/message.ts";
import { BridgeError, type ErrorCode } from "../platform/errors.ts";

/** The two halves of the service, each with an authentication of its own. What stops one never stops the other. */
export type Area = "orders" | "imports";

/** What a request is about: a collection that a whole flow lives on, or one order among many. */
export type Target = "collection" | "order";

export interface ServiceErrorDetails {
  area: Area;
  /** A collection unless said. */
  target?: Target;
  method: string;
  path: string;
  /** HTTP status, where an answer arrived. */
  status?: number;
  /** What `Retry-After` asked for, already clamped, in milliseconds. */
  retryAfterMs?: number;
  /** Of a request about one record: how often in a row that record was answered with a wait before. */
  waitsBefore?: number;
  /** `none`: the service cannot have acted on the request. `unknown`: it may have. */
  effect: "none" | "unknown";
  /** The service's own words, short, without control characters or secrets. */
  words?: string;
  /** The body is a web page: of a proxy, a portal or a deployment, not of the service. */
  isWebPage?: boolean;
  /** A cache gave it, which shows nothing of what was changed since. */
  isCached?: boolean;
  /** The path below the base address of the service to which a permanent redirect points. */
  movedTo?: string | undefined;
  cause?: unknown;
  /** What a person can do. */
  hint?: Message;
}

/** An answer that is no success, or no answer at all. */
export class ServiceError extends BridgeError {
  readonly area: Area;
  readonly target: Target;
  readonly method: string;
  readonly path: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly waitsBefore: number;
  readonly effect: "none" | "unknown";
  readonly words: string | undefined;
  readonly isWebPage: boolean;
  readonly isCached: boolean;
  readonly movedTo: string | undefined;

  constructor(code: ErrorCode, text: Message, details: ServiceErrorDetails) {
    super(code, text, { cause: details.cause, ...(details.hint === undefined ? {} : { hint: details.hint }) });
    this.name = "ServiceError";
    this.area = details.area;
    this.target = details.target ?? "collection";
    this.method = details.method;
    this.path = details.path;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.waitsBefore = details.waitsBefore ?? 0;
    this.effect = details.effect;
    this.words = details.words;
    this.isWebPage = details.isWebPage ?? false;
    this.isCached = details.isCached ?? false;
    this.movedTo = details.movedTo;
  }
}

/**
 * What an HTTP status means for the bridge (the table "what each answer means" in the documentation). 2xx has no
 * code. 5xx and 408 may have acted, so their effect is unknown; every other refusal is taken at its word.
 */
export function codeOfStatus(status: number): { code: ErrorCode; effect: "none" | "unknown" } | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status >= 300 && status < 400) return { code: "redirected", effect: "none" };
  if (status === 401 || status === 403) return { code: "credentials_refused", effect: "none" };
  if (status === 402) return { code: "payment_required", effect: "none" };
  if (status === 429) return { code: "rate_limited", effect: "none" };
  if (status === 408 || status >= 500 || status < 200) return { code: "unavailable", effect: "unknown" };
  return { code: "request_refused", effect: "none" };
}
