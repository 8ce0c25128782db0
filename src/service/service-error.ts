import type { Message } from "../messages/message.ts";
import { BridgeError, type ErrorCode } from "../platform/errors.ts";

/** The two areas of the service, each with its own authentication. A failure that holds one never holds the other. */
export type Area = "orders" | "imports";

/** What a request is about: a collection that a whole flow depends on, or a single order. */
export type Target = "collection" | "order";

export interface ServiceErrorDetails {
  area: Area;
  /** `collection` by default. */
  target?: Target;
  method: string;
  path: string;
  /** HTTP status, where an answer was received. */
  status?: number;
  /** The wait from `Retry-After` in milliseconds, clamped. */
  retryAfterMs?: number;
  /** For a request about one record: number of consecutive answers before that asked to wait. */
  waitsBefore?: number;
  /** `none`: the service cannot have acted on the request. `unknown`: it may have. */
  effect: "none" | "unknown";
  /** The service's text, shortened, without control characters and secrets. */
  words?: string;
  /** The beginning of the answer's body, without secrets. */
  body?: Buffer;
  /** The body is a web page: of a proxy, a portal or a deployment, not of the service. */
  isWebPage?: boolean;
  /** A cache sent the answer, which may lack recent changes. */
  isCached?: boolean;
  /** Target path of a permanent redirect within the service's origin. */
  movedTo?: string | undefined;
  cause?: unknown;
  /** What a person can do. */
  hint?: Message;
}

/** A request that failed: an answer without a 2xx status, an unusable answer, or none. */
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
  /**
   * The service has failed at this question for a while, and answers others well: it is as if it had refused the question.
   */
  isOfQuestion = false;
  /** Private, so that no log has it. */
  readonly #body: Buffer | undefined;

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
    this.#body = details.body;
  }

  get body(): Buffer | undefined {
    return this.#body;
  }
}

/** For how long the service asked this request to wait, in milliseconds; 0 where it named no time. */
export function askedWaitMs(error: unknown): number {
  return error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
}

/**
 * What an HTTP status means for the bridge (the table "what each answer means" in the documentation). 2xx has no code.
 * After 5xx and 408 the service may have acted, so the effect is unknown; after any other refusal it has not.
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
