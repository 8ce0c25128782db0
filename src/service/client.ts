import type { Dispatcher } from "undici";
import { shortWords } from "../answers/inert-text.ts";
import type { AnswerLimits } from "../answers/scan-json.ts";
import { looksLikeHtml } from "../answers/web-page.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { ErrorCode } from "../platform/errors.ts";
import { BridgeError } from "../platform/errors.ts";
import { type Clock, isoTime } from "../platform/ports.ts";
import { secretFilter } from "../platform/secrets.ts";
import { createHttpAgent, type Route } from "./agent.ts";
import { type CacheSigns, readCacheSigns } from "./cached-answer.ts";
import { describeCertificateFault, isCertificateFault, lookAtCertificate } from "./certificate.ts";
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
  /** Deadline of a whole request, body included. A body that drips never trips any shorter timer. */
  totalTimeoutMs: number;
  answerBytesMax: number;
  /** How much the body of an answer may hold as JSON. */
  answerLimits?: AnswerLimits;
  userAgent: string;
  clock: Clock;
  /** Through which proxy the service is reached, and whose certificates are trusted; directly and the usual ones unless said. */
  route?: Route;
  /** What carries the requests; connections of the client's own, with the time limits above, where none is handed in. */
  dispatcher?: Dispatcher;
  /** Asked before each request leaves, once its turn has come; rejects where none may leave. */
  admit?: (() => Promise<void>) | undefined;
}

export interface ServiceRequest {
  area: Area;
  /** A collection unless said. */
  target?: Target;
  method: "GET" | "POST" | "PUT" | "PATCH";
  /** Absolute path below the base address, already encoded. */
  path: string;
  query?: readonly (readonly [string, string])[];
  body?: string | Buffer;
  /** Of the body: JSON unless said. */
  contentType?: string;
  totalTimeoutMs?: number;
  /** The one record that it is about, where that is not the order in the path. */
  record?: string;
  /** Its turn has come already, see {@link ServiceClient.turn}: it leaves in the step in which it is handed over. */
  turn?: Turn;
  signal: AbortSignal;
}

/** That a request may start now. For one request. */
export interface Turn {
  readonly sinceMs: number;
}

export interface ServiceAnswer extends Partial<CacheSigns> {
  status: number;
  /** The `Date` header as sent: the service's own clock. */
  date: string | undefined;
  /** By the same clock, when the request left: nothing in the answer is older. By this machine's where there is no `Date`. */
  askedAt?: string;
  contentType: string;
  body: Buffer;
  /** What else its head says of a list in the body: {@link LIST_HEADERS} that are there. */
  listHeaders?: Readonly<Record<string, string>>;
  /** How much it may hold; reading the body is bounded by it. */
  limits?: AnswerLimits | undefined;
  /** How long reading the body may take, from when it is begun: as long as the whole request. */
  readWithinMs?: number;
}

/** Headers by which services say that a list goes on elsewhere, or how many records there are. */
const LIST_HEADERS = [
  ...["content-range", "link", "x-total-count", "x-total", "total-count", "x-pagination-total-count"],
  ...["x-has-more", "x-next-page", "x-next-cursor", "x-truncated", "x-partial"],
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
/** Records whose waits are counted: more than fail at one time while the service answers others. */
const WAITING_MAX = 1_000;
/**
 * The one place that speaks HTTP. It follows no redirect, decodes no compression, reads no more than it was
 * allowed, and has one deadline for a whole request. Every failure is a {@link ServiceError} that says whether the
 * service may have acted.
 */
export class ServiceClient {
  readonly #options: ClientOptions;
  /** Of requests that only ask. Their connections are kept. */
  readonly #dispatcher: Dispatcher;
  /** Of requests whose answer is an acknowledgement. Each has a connection of its own, closed after its answer. */
  readonly #acknowledged: Dispatcher;
  /** Requests that had a connection and of which bytes may have left. */
  readonly #begun = new WeakSet<object>();
  readonly #pacer: Pacer;
  readonly #base: URL;
  readonly hideSecrets: (text: string) => string;
  readonly clock: Clock;
  /** How often in a row each record was answered with a wait. */
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

  /** Notes which requests have begun. */
  #watched(dispatcher: Dispatcher): Dispatcher {
    return dispatcher.compose((dispatch) => (sent, handler) => {
      const start = handler.onRequestStart?.bind(handler);
      handler.onRequestStart = (controller, context) => {
        start?.(controller, context);
        // One that was given up while it waited for a connection writes nothing.
        if (!controller.aborted) this.#begun.add(sent);
      };
      return dispatch(sent, handler);
    });
  }

  /** The newest `Date` header that came, verbatim: the service's own clock as it was then. */
  get lastDate(): string | undefined {
    return this.#dates.last?.date;
  }

  /**
   * The service's own clock as it stands now, in whole seconds: its last `Date` header and the time since. For comparing
   * only, because the service never sent it. A header that only a proxy's error page bears would else stop time.
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
   * Sends one request and gives the answer of any 2xx status with its whole body.
   * @throws ServiceError for every other status and for every failure on the way; BridgeError `stopped`.
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
      // A second answer to a request would be taken for the answer to the next one on its connection. What a GET is
      // answered is compared with what it asked for; an acknowledgement fits every request.
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
   * Waits until a request may start, which may take long. Whatever decides whether it may leave is decided afterwards, and the request
   * handed over in the same step: what was true before the wait may be true no more.
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
   * What a link in an answer asks of one of our own addresses. A service behind a proxy may write another scheme, host, port or prefix
   * than its address has: of the link only the query counts, and it goes to the configured address. `elsewhere`: it leads to another
   * address; undefined: it is no link.
   */
  queryOf(path: string, link: string): [string, string][] | "elsewhere" | undefined {
    const own = new URL(this.#pathOf({ path }), this.#base.origin);
    const url = URL.parse(link, own.href);
    if (url === null) return undefined;
    const isWhole = /^(?:https?:)?\/\/[^/]/i.test(link);
    // A proxy takes or adds the beginning of a path, so that it may begin with each of its segments. A token may have slashes too.
    const [, first = "/"] = /^\/([^/]+)\//.exec(link) ?? [];
    const isPath = own.pathname.split("/").includes(first) || url.pathname.startsWith(`${own.pathname}/`);
    if (!link.includes("?") && !isWhole && !isPath) return undefined;
    const named = url.pathname.replace(/\/$/, "");
    // One segment alone may be another resource's.
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
      // A cache is to ask the service. HTTP/1.0 has the second.
      ...(request.method === "GET" ? { "cache-control": "no-cache,no-store", pragma: "no-cache" } : {}),
      ...(request.body === undefined ? {} : { "content-type": request.contentType ?? "application/json" }),
    };
  }

  async #read(request: ServiceRequest, response: Dispatcher.ResponseData, totalMs: number): Promise<ServiceAnswer> {
    // A body that is given up is destroyed with an error; without a listener that would end the process.
    response.body.on("error", () => {});
    const refused = codeOfStatus(response.statusCode);
    const header = (name: string) => firstOf(response.headers[name]);
    const date = header("date");
    const signs = readCacheSigns(header);
    const isOfOrder = request.target === "order";
    const oldBy = this.#dates.note({ ...request, date, isCached: signs.isCached, isOfOrder }, this.clock.monotonicMs());
    if (refused === undefined) this.#waits.delete(recordOf(request) ?? "");
    else {
      const preview = await readPreview(response.body);
      throw this.#refusal(request, response, { ...refused, preview });
    }
    const encoding = header("content-encoding") ?? "";
    if (!/^(identity)?$/i.test(encoding)) {
      response.body.destroy();
      throw this.#error("answer_unreadable", request, m.service.compressed({ encoding: shortWords(encoding) }), {
        status: response.statusCode,
      });
    }
    // What a service says to a POST is an acceptance, whatever room there is for orders.
    const most = request.method === "GET" ? Number.POSITIVE_INFINITY : ACCEPTANCE_BYTES_MAX;
    const max = Math.min(this.#options.answerBytesMax, most);
    const body = await readUpTo(response.body, max, Number(header("content-length")));
    if (body === undefined) {
      const what = max === most ? m.service.answerToPostTooLarge({ max }) : m.service.answerTooLarge({ max });
      throw this.#error("answer_too_large", request, what, { status: response.statusCode });
    }
    if (request.method !== "GET" && (await holdsTooMuch(body))) {
      const what = m.service.tooManyValues({ valuesMax: ACCEPTANCE_VALUES_MAX });
      throw this.#error("answer_too_large", request, what, { status: response.statusCode });
    }
    return {
      status: response.statusCode,
      date: header("date"),
      contentType: (header("content-type") ?? "").toLowerCase(),
      body: request.method === "GET" ? body : this.#withoutSecrets(body),
      ...signs,
      ...(oldBy !== undefined && { isCached: true, oldBy: signs.oldBy ?? oldBy }),
      ...readListHeaders(header),
      limits: this.#options.answerLimits,
      readWithinMs: totalMs,
    };
  }

  /** Of an acceptance only its words count, which are kept in other letters: a secret that it repeats would not be recognised in them. */
  #withoutSecrets(body: Buffer): Buffer {
    const text = body.toString("utf8");
    const shown = this.hideSecrets(text);
    return shown === text ? body : Buffer.from(shown);
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
    const retryAfterMs = readRetryAfter(response.headers["retry-after"], this.#options.clock.nowMs());
    const location = firstOf(response.headers["location"]);
    const redirectedTo = location === undefined ? m.service.nowhere : shortWords(this.hideSecrets(location));
    const place = refused.code === "redirected" ? redirectedTo : "";
    const isMoved = location !== undefined && (status === 301 || status === 308);
    const target = isMoved ? URL.parse(location, this.#base.href) : null;
    return this.#error(refused.code, request, m.service.answered({ status, place, words }), {
      status,
      words,
      isWebPage: looksLikeHtml({ contentType, body: refused.preview }),
      isCached: readCacheSigns((name) => firstOf(response.headers[name])).isCached,
      movedTo: target?.origin === this.#base.origin ? target.pathname : undefined,
      effect: refused.effect,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      waitsBefore: this.#countWait(request, retryAfterMs !== undefined || refused.code === "rate_limited"),
    });
  }

  /** How often in a row the record of a request was answered with a wait before this answer. */
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
    // Through a proxy another machine would be looked at.
    const shown = this.#options.route?.proxy == null ? await lookAtCertificate(this.#base) : undefined;
    const { what, hint } = describeCertificateFault(codeOf(cause), shown);
    return this.#error("unreachable", request, what, { cause, effect: "none", hint });
  }

  /** What did not come to an answer. Before a request begins the service cannot have received any of it, whatever failed. */
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

/** Undefined where a request is about more than one record. */
function recordOf({ target, path, record }: ServiceRequest): string | undefined {
  return record ?? (target === "order" ? path : undefined);
}

/** The status with which a proxy has refused the tunnel: undici has it in its sentence alone. */
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
