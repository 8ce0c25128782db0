import type { Dispatcher } from "undici";
import { withoutCutSecret } from "../answers/hide-in-body.ts";
import type { AnswerLimits } from "../answers/scan-json.ts";
import { looksLikeHtml } from "../answers/web-page.ts";
import { shortWords } from "../messages/inert-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { ErrorCode } from "../platform/errors.ts";
import { BridgeError } from "../platform/errors.ts";
import { type Clock, isoTime } from "../platform/ports.ts";
import { secretFilter } from "../platform/secrets.ts";
import { createHttpAgent, type Route } from "./agent.ts";
import { type CacheSigns, readCacheSigns } from "./cached-answer.ts";
import { describeCertificateFault, isCertificateFault, lookAtCertificate } from "./certificate.ts";
import { readCharset, toUtf8 } from "./charset.ts";
import { Pacer } from "./pacer.ts";
import { ACCEPTANCE_BYTES_MAX, ACCEPTANCE_VALUES_MAX, holdsTooMuch, readPreview, readUpTo } from "./read-body.ts";
import { readRetryAfter } from "./retry-after.ts";
import { ServedDates } from "./served-dates.ts";
import { type Area, codeOfStatus, ServiceError, type ServiceErrorDetails, type Target } from "./service-error.ts";

export interface ClientOptions {
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  requestsPerSecond: number;
  connectTimeoutMs: number;
  headersTimeoutMs: number;
  /** Deadline of a whole request, body included. A slow body may never trigger a shorter timeout. */
  totalTimeoutMs: number;
  answerBytesMax: number;
  /** Limits of an answer's JSON. */
  answerLimits?: AnswerLimits;
  userAgent: string;
  clock: Clock;
  /** Proxy and trusted certificates; by default no proxy and the default certificates. */
  route?: Route;
  /** Sends the requests; by default the client's own agents with the limits above. */
  dispatcher?: Dispatcher;
  /** Called before each request is sent, after its turn; rejects where no request may be sent. */
  admit?: (() => Promise<void>) | undefined;
}

export interface ServiceRequest {
  area: Area;
  /** `collection` by default. */
  target?: Target;
  method: "GET" | "POST" | "PUT" | "PATCH";
  /** Absolute path below the base address, already encoded. */
  path: string;
  query?: readonly (readonly [string, string])[];
  body?: string | Buffer;
  /** Of the body; JSON by default. */
  contentType?: string;
  totalTimeoutMs?: number;
  /** Identifies the record that the request is about, where that is not the order in the path. */
  record?: string;
  /** A turn obtained before, see {@link ServiceClient.turn}: the request is then sent synchronously. */
  turn?: Turn;
  signal: AbortSignal;
}

/** Permission to start one request. */
export interface Turn {
  readonly sinceMs: number;
}

export interface ServiceAnswer extends Partial<CacheSigns> {
  status: number;
  /** The `Date` header as sent: the service's own clock. */
  date: string | undefined;
  /** The same of an answer about one order, as long as nothing shows that the clock which wrote it goes on. */
  unprovenDate?: string | undefined;
  /** When the request was sent, by the same clock, or by this machine's without `Date`: the answer's state is not older. */
  askedAt?: string;
  contentType: string;
  body: Buffer;
  /** Headers about a list in the body: those of {@link LIST_HEADERS} that are present. */
  listHeaders?: Readonly<Record<string, string>>;
  /** Limits for parsing the body. */
  limits?: AnswerLimits | undefined;
  /** Limit for parsing the body, from its beginning: as long as the deadline of the request. */
  readWithinMs?: number;
}

/** Headers that announce further pages of a list, or the number of records. */
const LIST_HEADERS = [
  ...["content-range", "link", "x-total-count", "x-total", "total-count", "x-pagination-total-count"],
  ...["x-has-more", "x-next-page", "x-next-cursor", "x-truncated", "x-partial"],
  ...["x-page", "x-total-pages", "x-pagination-current-page", "x-pagination-page-count"],
];

function readListHeaders(header: (name: string) => string | undefined): Pick<ServiceAnswer, "listHeaders"> {
  const found = LIST_HEADERS.flatMap((name) => {
    const value = header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return found.length === 0 ? {} : { listHeaders: Object.fromEntries(found) };
}

const DIRECT: Route = { proxy: null, authorities: [] };
const HEADER_BYTES_MAX = 64 * 1024;
/** Records whose waits are counted: more than fail at a time while the service answers others. */
const WAITING_MAX = 1_000;
/**
 * The HTTP client for the service. It follows no redirects, accepts no compression, limits the size of answers, and has
 * one deadline for a whole request. Every failure is a {@link ServiceError} whose `effect` states whether the service may
 * have acted.
 */
export class ServiceClient {
  readonly #options: ClientOptions;
  /** For GET requests. Connections are kept alive. */
  readonly #dispatcher: Dispatcher;
  /** For requests whose answer is an acknowledgement. Each has its own connection, closed after the answer. */
  readonly #acknowledged: Dispatcher;
  /** Requests that had a connection, so that bytes may have been sent. */
  readonly #begun = new WeakSet<object>();
  readonly #pacer: Pacer;
  readonly #base: URL;
  readonly hideSecrets: (text: string) => string;
  readonly clock: Clock;
  /** Number of consecutive answers for each record that asked to wait. */
  readonly #waits = new Map<string, number>();
  readonly #dates = new ServedDates();

  constructor(options: ClientOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.#base = new URL(options.baseUrl);
    this.#pacer = new Pacer(options.clock, options.requestsPerSecond);
    this.hideSecrets = secretFilter(options.clientId, options.clientSecret);
    this.#dispatcher = this.#watched(options.dispatcher ?? this.#createAgent());
    this.#acknowledged = options.dispatcher === undefined ? this.#watched(this.#createAgent()) : this.#dispatcher;
  }

  #createAgent(): Dispatcher {
    const { connectTimeoutMs, headersTimeoutMs, totalTimeoutMs, route } = this.#options;
    return createHttpAgent(this.#base, route ?? DIRECT, {
      connect: { timeout: connectTimeoutMs },
      headersTimeout: headersTimeoutMs,
      bodyTimeout: totalTimeoutMs,
      maxHeaderSize: HEADER_BYTES_MAX,
      connections: 4,
      pipelining: 1,
      allowH2: false,
    });
  }

  /** Records in `#begun` which requests have started. */
  #watched(dispatcher: Dispatcher): Dispatcher {
    return dispatcher.compose((dispatch) => (sent, handler) => {
      const start = handler.onRequestStart?.bind(handler);
      handler.onRequestStart = (controller, context) => {
        start?.(controller, context);
        // A request aborted while it waited for a connection sends nothing.
        if (!controller.aborted) this.#begun.add(sent);
      };
      return dispatch(sent, handler);
    });
  }

  /** The newest `Date` header received, verbatim: the service's own clock at that time. */
  get lastDate(): string | undefined {
    return this.#dates.last?.date;
  }

  /**
   * The service's clock now, in whole seconds: its last `Date` header plus the time since. For comparisons only, because the
   * service did not send it. Advances even if the last header was one of a proxy's error page.
   */
  get serviceNow(): string | undefined {
    const { last } = this.#dates;
    const lastMs = Date.parse(last?.date ?? "");
    if (last === undefined || Number.isNaN(lastMs)) return undefined;
    return new Date(lastMs + this.clock.monotonicMs() - last.atMs).toUTCString();
  }

  async close(): Promise<void> {
    await Promise.all([this.#dispatcher.destroy(), this.#acknowledged.destroy()]);
  }

  /**
   * Sends one request. Returns an answer with a 2xx status and its whole body.
   * @throws ServiceError for any other status and any failure; BridgeError `stopped`
   */
  async request(request: ServiceRequest): Promise<ServiceAnswer> {
    if (request.turn === undefined) await this.turn(request);
    const totalMs = request.totalTimeoutMs ?? this.#options.totalTimeoutMs;
    const deadline = AbortSignal.timeout(totalMs);
    const signal = AbortSignal.any([request.signal, deadline]);
    const isAcknowledged = request.method !== "GET";
    const sent = {
      origin: this.#base.origin,
      path: this.#pathOf(request),
      method: request.method,
      headers: this.#headersOf(request),
      body: request.body ?? null,
      signal,
      bodyTimeout: totalMs,
      // A second answer to a request would be read as the answer to the next one on its connection. Answers to a GET are
      // checked against the request; an acknowledgement would fit any request.
      reset: isAcknowledged,
    };
    try {
      const sentMs = this.clock.monotonicMs();
      const response = await (isAcknowledged ? this.#acknowledged : this.#dispatcher).request(sent);
      const tookMs = this.clock.monotonicMs() - sentMs;
      return { ...(await this.#read(request, response, totalMs)), askedAt: this.#askedAt(response, tookMs) };
    } catch (error) {
      if (error instanceof BridgeError) throw error;
      if (request.signal.aborted) throw new BridgeError("stopped", m.service.stoppedAsking, { cause: error });
      if (isCertificateFault(codeOf(error))) throw await this.#certificateFault(request, error);
      const effect = this.#begun.has(sent) ? "unknown" : "none";
      throw this.#failure(request, error, { effect, deadlineMs: deadline.aborted ? totalMs : undefined });
    }
  }

  #askedAt({ headers }: Dispatcher.ResponseData, tookMs: number): string {
    const dateMs = Date.parse(firstOf(headers["date"]) ?? "");
    return isoTime((Number.isNaN(dateMs) ? this.clock.nowMs() : dateMs) - tookMs);
  }

  /**
   * Waits until a request may start, which may take long. Callers check their conditions for sending afterwards and send
   * the request synchronously, because conditions may change during the wait.
   * @throws BridgeError `stopped`
   */
  async turn(request: Omit<ServiceRequest, "turn">): Promise<Turn> {
    try {
      await this.#pacer.turn(request.signal);
      await this.#options.admit?.();
      return { sinceMs: this.clock.monotonicMs() };
    } catch (error) {
      throw this.#error("stopped", request, m.service.stoppedBefore, { cause: error, effect: "none" });
    }
  }

  /**
   * The query of a link in an answer that points to the endpoint `path`. A service behind a proxy may write another scheme,
   * host, port or prefix, so only the query is used, with the configured address. `elsewhere`: a link to another endpoint;
   * undefined: not a link.
   */
  queryOf(path: string, link: string): [string, string][] | "elsewhere" | undefined {
    const own = new URL(this.#pathOf({ path }), this.#base.origin);
    const url = URL.parse(link, own.href);
    if (url === null) return undefined;
    const isWhole = /^(?:https?:)?\/\/[^/]/i.test(link);
    // A proxy may remove or add a prefix, so the path may begin with any of its segments. A token may contain slashes too.
    const [, first = "/"] = /^\/([^/]+)\//.exec(link) ?? [];
    const isPath = own.pathname.split("/").includes(first) || url.pathname.startsWith(`${own.pathname}/`);
    if (!link.includes("?") && !isWhole && !isPath) return undefined;
    const named = url.pathname.replace(/\/$/, "");
    // A single segment may be another resource.
    const isOwn = named.endsWith(path) || (named.lastIndexOf("/") > 0 && own.pathname.endsWith(named));
    return isOwn && url.username === "" && url.password === "" ? [...url.searchParams] : "elsewhere";
  }

  #pathOf(request: Pick<ServiceRequest, "path" | "query">): string {
    const query = new URLSearchParams(
      (request.query ?? []).map(([name, value]): [string, string] => [name, value]),
    ).toString();
    const prefix = this.#base.pathname === "/" ? "" : this.#base.pathname.replace(/\/$/, "");
    return `${prefix}${request.path}${query === "" ? "" : `?${query}`}`;
  }

  #headersOf(request: ServiceRequest): Record<string, string> {
    const { clientId, clientSecret, userAgent } = this.#options;
    const credentials: Record<string, string> =
      request.area === "imports"
        ? { "x-client-id": clientId, "x-client-secret": clientSecret }
        : { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`, "utf8").toString("base64")}` };
    return {
      ...credentials,
      accept: "application/json",
      "accept-encoding": "identity",
      "user-agent": userAgent,
      // Asks caches to forward the request; `pragma` is HTTP/1.0's.
      ...(request.method === "GET" ? { "cache-control": "no-cache,no-store", pragma: "no-cache" } : {}),
      ...(request.body === undefined ? {} : { "content-type": request.contentType ?? "application/json" }),
    };
  }

  async #read(request: ServiceRequest, response: Dispatcher.ResponseData, totalMs: number): Promise<ServiceAnswer> {
    // An abandoned body is destroyed with an error, which without a listener would end the process.
    response.body.on("error", () => {});
    const refused = codeOfStatus(response.statusCode);
    const header = (name: string) => firstOf(response.headers[name]);
    const date = header("date");
    const signs = readCacheSigns(header);
    const contentType = (header("content-type") ?? "").toLowerCase();
    const charset = readCharset(contentType);
    const isOfOrder = request.target === "order";
    const oldBy = this.#dates.note({ ...request, date, isCached: signs.isCached, isOfOrder }, this.clock.monotonicMs());
    if (refused === undefined) this.#waits.delete(recordOf(request) ?? "");
    else {
      const preview = await readPreview(response.body);
      const readable = charset === undefined ? preview : ((await toUtf8(preview, charset)) ?? preview);
      throw this.#refusal(request, response, { ...refused, preview: withoutCutSecret(readable, this.hideSecrets) });
    }
    const encoding = header("content-encoding") ?? "";
    if (!/^(identity)?$/i.test(encoding)) {
      response.body.destroy();
      throw this.#error("answer_unreadable", request, m.service.compressed({ encoding: shortWords(encoding) }), {
        status: response.statusCode,
      });
    }
    // The answer to a POST is an acceptance, with a limit of its own below that for orders.
    const most = request.method === "GET" ? Number.POSITIVE_INFINITY : ACCEPTANCE_BYTES_MAX;
    const max = Math.min(this.#options.answerBytesMax, most);
    const sent = await readUpTo(response.body, max, Number(header("content-length")));
    if (sent === undefined) {
      const what = max === most ? m.service.answerToPostTooLarge({ max }) : m.service.answerTooLarge({ max });
      throw this.#error("answer_too_large", request, what, { status: response.statusCode });
    }
    const readable = charset === undefined ? sent : await toUtf8(sent, charset);
    if (readable === undefined)
      throw this.#error("answer_unreadable", request, m.service.charset({ charset: shortWords(charset ?? "") }), {
        status: response.statusCode,
      });
    const body = withoutCutSecret(readable, this.hideSecrets);
    if (request.method !== "GET" && (await holdsTooMuch(body))) {
      const what = m.service.tooManyValues({ valuesMax: ACCEPTANCE_VALUES_MAX });
      throw this.#error("answer_too_large", request, what, { status: response.statusCode });
    }
    return {
      status: response.statusCode,
      date,
      ...(isOfOrder && this.#dates.isUnproven(request.path) && { unprovenDate: date }),
      contentType,
      body: request.method === "GET" ? body : this.#withoutSecrets(body),
      ...signs,
      ...(oldBy !== undefined && { isCached: true, oldBy: signs.oldBy ?? oldBy }),
      ...readListHeaders(header),
      limits: this.#options.answerLimits,
      readWithinMs: totalMs,
    };
  }

  /** Acceptances are stored in normalized form, in which a repeated secret would not be recognized: it is removed first. */
  #withoutSecrets(body: Buffer): Buffer {
    const text = body.toString("utf8");
    const shown = this.hideSecrets(text);
    return shown === text ? body : Buffer.from(shown);
  }

  /** When the answer was made, by the service's clock, which its times are of; by this machine's where it sends no `Date`. */
  #answeredMs({ headers }: Dispatcher.ResponseData): number {
    const dateMs = Date.parse(firstOf(headers["date"]) ?? this.serviceNow ?? "");
    return Number.isNaN(dateMs) ? this.#options.clock.nowMs() : dateMs;
  }

  #refusal(
    request: ServiceRequest,
    response: Dispatcher.ResponseData,
    refused: { code: ErrorCode; effect: "none" | "unknown"; preview: Buffer },
  ): ServiceError {
    const status = response.statusCode;
    const preview = refused.preview.toString("utf8");
    const words = shortWords(this.hideSecrets(preview));
    const contentType = (firstOf(response.headers["content-type"]) ?? "").toLowerCase();
    const retryAfterMs = readRetryAfter(response.headers["retry-after"], this.#answeredMs(response));
    const location = firstOf(response.headers["location"]);
    const redirectedTo = location === undefined ? m.service.nowhere : shortWords(this.hideSecrets(location));
    const place = refused.code === "redirected" ? redirectedTo : "";
    const isMoved = location !== undefined && (status === 301 || status === 308);
    const target = isMoved ? URL.parse(location, this.#base.href) : null;
    return this.#error(refused.code, request, m.service.answered({ status, place, words }), {
      status,
      words,
      ...(request.area === "imports" && { body: this.#withoutSecrets(refused.preview) }),
      isWebPage: looksLikeHtml({ contentType, body: refused.preview }),
      isCached: readCacheSigns((name) => firstOf(response.headers[name])).isCached,
      movedTo: target?.origin === this.#base.origin ? target.pathname : undefined,
      effect: refused.effect,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      waitsBefore: this.#countWait(request, retryAfterMs !== undefined || refused.code === "rate_limited"),
    });
  }

  /** Returns the number of consecutive waits for the request's record before this answer, and counts this one. */
  #countWait(request: ServiceRequest, isWait: boolean): number {
    const record = recordOf(request);
    if (record === undefined) return 0;
    const before = this.#waits.get(record) ?? 0;
    this.#waits.delete(record);
    if (!isWait) return before;
    if (this.#waits.size >= WAITING_MAX) this.#waits.clear();
    this.#waits.set(record, before + 1);
    return before;
  }

  async #certificateFault(request: ServiceRequest, cause: unknown): Promise<ServiceError> {
    // Behind a proxy this would fetch another machine's certificate.
    const shown = this.#options.route?.proxy == null ? await lookAtCertificate(this.#base) : undefined;
    const { what, hint } = describeCertificateFault(codeOf(cause), shown);
    return this.#error("unreachable", request, what, { cause, effect: "none", hint });
  }

  /** The error for a request without an answer. Before a request begins, the service cannot have received any of it. */
  #failure(
    request: ServiceRequest,
    cause: unknown,
    { effect, deadlineMs }: { effect: "none" | "unknown"; deadlineMs: number | undefined },
  ): ServiceError {
    const code = codeOf(cause);
    const because = { cause, effect };
    if (deadlineMs !== undefined) {
      return this.#error("timed_out", request, m.service.notFinished({ seconds: deadlineMs / 1000 }), because);
    }
    if (code === "UND_ERR_CONNECT_TIMEOUT") {
      return this.#error("timed_out", request, m.service.noConnection, because);
    }
    if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT") {
      return this.#error("timed_out", request, m.service.notAnswered, because);
    }
    if (effect === "none") {
      const refused = refusedByProxy(cause);
      const what = refused === undefined ? m.service.notReached({ code }) : m.service.proxyRefused({ status: refused });
      return this.#error("unreachable", request, what, because);
    }
    if (code === "UND_ERR_HEADERS_OVERFLOW" || code.startsWith("HPE_")) {
      return this.#error("answer_unreadable", request, m.service.notHttp({ code }), because);
    }
    return this.#error("unreachable", request, m.service.cutOff({ code }), because);
  }

  #error(
    code: ErrorCode,
    request: ServiceRequest,
    what: Message,
    more: Partial<Omit<ServiceErrorDetails, "area" | "target" | "method" | "path">> = {},
  ): ServiceError {
    return new ServiceError(code, m.service.of({ request: `${request.method} ${request.path}`, what }), {
      effect: "unknown",
      ...more,
      area: request.area,
      target: request.target ?? "collection",
      method: request.method,
      path: request.path,
    });
  }
}

/** The record of a request; undefined where it is about several. */
function recordOf({ target, path, record }: ServiceRequest): string | undefined {
  return record ?? (target === "order" ? path : undefined);
}

/** The status with which a proxy refused the tunnel: undici provides it only in its message. */
function refusedByProxy(cause: unknown): number | undefined {
  const found = cause instanceof Error ? /^Proxy response \((\d{3})\)/.exec(cause.message) : null;
  return found === null ? undefined : Number(found[1]);
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string")
    return error.code;
  return error instanceof Error ? error.name : "unknown";
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
