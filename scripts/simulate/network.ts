import { Dispatcher } from "undici";
import type { SandboxRequest, SandboxResponse } from "../../src/sandbox/messages.ts";
import { integerBetween, type Random } from "../../src/sandbox/random.ts";
import { type Route, routeOf } from "../../src/sandbox/routes.ts";
import type { SandboxService } from "../../src/sandbox/service.ts";
import type { SimulatedTime } from "./clock.ts";
import { OTHER_PATH } from "./forms.ts";
import { isOfBefore, type Lie, type LieBody, queuedForMs } from "./hostile/grammar.ts";
import { asSent, needsService } from "./hostile/lies.ts";
import type { Asked, Fate } from "./schedule.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const HEADERS_TIMEOUT_MS = 15_000;
export const ORIGIN = "http://127.0.0.1:8080";
const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };
const PAGE = "<!doctype html><html><head><title>Wi-Fi</title></head><body>Please log in.</body></html>";

const UNCONNECTED: ReadonlySet<Fate["kind"] | undefined> = new Set<Fate["kind"]>([
  ...(["refused", "no connection", "no handshake"] as const),
]);

/** Lies whose ids can be read, whatever else is unreadable. */
const HAS_IDS: ReadonlySet<LieBody> = new Set<LieBody>([
  ...(["cp1251", "changing record", "no lines", "no lines in one", "no value", "status elsewhere"] as const),
  ...(["lines elsewhere", "part", "named otherwise"] as const),
]);

/** A request as sent by the bridge. */
export interface Sent {
  readonly number: number;
  readonly life: Life;
  readonly origin: string;
  /** It is sent to the service's second address, or to the other path of stocks. */
  readonly isElsewhere: boolean;
  readonly route: Route;
  readonly request: SandboxRequest;
  readonly atMs: number;
  fate: Fate | undefined;
}

/** The result of a request as received by the bridge. */
export type Told =
  | {
      kind: "answer";
      status: number;
      retryAfter: string | undefined;
      date: string | undefined;
      /** The `Age` of a cached answer, in seconds. */
      age: string | undefined;
      body: string;
      isTrue: boolean;
      /** Its ids and records can be read, whatever else is unreadable. */
      isReadable: boolean;
      /** The answer with its records identified as usual; undefined where they are, or where it has other content. */
      shown: string | undefined;
    }
  | { kind: "nothing"; effect: "none" | "unknown" };

/** One life of the program, from the network's point of view. */
export interface Life {
  readonly number: number;
  /** The configured secret. */
  readonly secret: string;
  /** The configured address. */
  readonly origin: string;
  readonly isDead: boolean;
}

/** The network between the bridge and the service, shared by all lives of the program. */
export interface Line {
  readonly time: SimulatedTime;
  readonly service: SandboxService;
  readonly random: Random;
  takeFate(kind: Asked, sent: Sent): Fate | undefined;
  /** Applies a lie to the answer; without an answer where the service was not asked. */
  lieAnswer(lie: Lie, sent: Sent, response: SandboxResponse | undefined): Answer;
  /** The answer of the second address. */
  answerElsewhere(sent: Sent): SandboxResponse;
  /** Called before the request is sent. The program may be dead afterwards. */
  onSent(sent: Sent): void;
  /** Called after the service has acted and before its answer is sent. The program may be dead afterwards. */
  onServed(sent: Sent, response: SandboxResponse): void;
  /** Called when the bridge has the result. */
  onTold(sent: Sent, told: Told): void;
  nextNumber(): number;
}

type Handler = Dispatcher.DispatchHandler;

export type Answer = Pick<SandboxResponse, "status" | "headers" | "body">;

/** Delivers requests to the service in memory, with faults, in simulated time. One per life of the program. */
export class SimulatedNetwork extends Dispatcher {
  readonly #line: Line;
  readonly #life: Life;

  constructor(line: Line, life: Life) {
    super();
    this.#line = line;
    this.#life = life;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    const body = typeof options.body === "string" ? options.body : "";
    const request: SandboxRequest = {
      method: options.method,
      path: options.path,
      headers: options.headers as Record<string, string>,
      body: Buffer.from(body),
    };
    const { time, service } = this.#line;
    const origin = String(options.origin);
    const isOtherPath = options.path === OTHER_PATH;
    const sent: Sent = {
      number: this.#line.nextNumber(),
      life: this.#life,
      origin,
      isElsewhere: isOtherPath || (origin !== ORIGIN && origin === this.#life.origin),
      route: routeOf(request.method, isOtherPath ? service.options.imports.stocks.path : request.path, service.options),
      request,
      atMs: time.elapsedMs,
      fate: undefined,
    };
    const exchange = new Exchange(this.#line, sent, handler);
    if (this.#life.isDead) return true;
    if (sent.route.kind !== "unknown" && sent.origin === ORIGIN && !isOtherPath)
      sent.fate = this.#line.takeFate(sent.route.kind, sent);
    // Without a connection no request begins.
    const isConnected = !UNCONNECTED.has(sent.fate?.kind);
    if (isConnected && !exchange.begin()) return true;
    this.#line.onSent(sent);
    if (!this.#life.isDead) exchange.travel();
    return true;
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }

  override destroy(): Promise<void> {
    return Promise.resolve();
  }
}

/** One request and its answer. */
class Exchange {
  readonly #line: Line;
  readonly #sent: Sent;
  readonly #handler: Handler;
  readonly #controller: Dispatcher.DispatchController;
  #isOver = false;
  /** The head of an answer whose body is incomplete. */
  #head: Pick<Told & { kind: "answer" }, "status" | "retryAfter" | "date" | "age"> | undefined;

  constructor(line: Line, sent: Sent, handler: Handler) {
    this.#line = line;
    this.#sent = sent;
    this.#handler = handler;
    this.#controller = {
      aborted: false,
      paused: false,
      reason: null,
      rawHeaders: [],
      abort: (reason: Error) => this.#fail(reason, "unknown"),
      pause: () => {},
      resume: () => {},
    } as unknown as Dispatcher.DispatchController;
  }

  /** False where it was aborted before it began. */
  begin(): boolean {
    this.#handler.onRequestStart?.(this.#controller, {});
    return !this.#isOver;
  }

  travel() {
    const { fate, isElsewhere } = this.#sent;
    const upMs = integerBetween(this.#line.random, 5, 60);
    if (isElsewhere) {
      this.#line.time.at(upMs, () => this.#answer(this.#line.answerElsewhere(this.#sent), undefined));
      return;
    }
    switch (fate?.kind) {
      case "refused":
        return this.#failAfter(1, "ECONNREFUSED", "none");
      case "no connection":
        return this.#failAfter(CONNECT_TIMEOUT_MS, "UND_ERR_CONNECT_TIMEOUT", "none");
      case "no handshake":
        return this.#failAfter(upMs, "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", "none");
      case "big headers":
        this.#reach(upMs, () => this.#failAfter(5, "UND_ERR_HEADERS_OVERFLOW", "unknown"));
        return;
      case "late":
        this.#failAfter(upMs, "ECONNRESET", "unknown");
        return this.#reach(fate.ms, () => {});
      case "reset":
        if (fate.when === "before") return this.#failAfter(upMs, "ECONNRESET", "unknown");
        return this.#reach(upMs, () => this.#failAfter(5, "UND_ERR_SOCKET", "unknown"));
      case "silence":
        this.#failAfter(HEADERS_TIMEOUT_MS, "UND_ERR_HEADERS_TIMEOUT", "unknown");
        if (fate.when === "after") this.#reach(upMs, () => {});
        return;
      case "html":
      case "status":
        if (fate.when === "after") return this.#reach(upMs, (response) => this.#answer(response, fate));
        this.#line.time.at(upMs, () => this.#answer(undefined, fate));
        return;
      case "lie":
        if (fate.lie.body === "queued") this.#reach(queuedForMs(fate.lie), () => {});
        if (needsService(fate.lie)) return this.#reach(upMs, (response) => this.#answer(response, fate));
        this.#line.time.at(upMs, () => this.#answer(undefined, fate));
        return;
      case "redirect":
      case "empty object":
        this.#line.time.at(upMs, () => this.#answer(undefined, fate));
        return;
      default:
        return this.#reach(upMs, (response) => this.#answer(response, fate));
    }
  }

  /** The request arrives at the service, whether or not the program still runs. */
  #reach(afterMs: number, then: (response: SandboxResponse) => void) {
    const { time, service } = this.#line;
    time.at(afterMs, () => {
      const response = service.handle(this.#sent.request);
      this.#line.onServed(this.#sent, response);
      then(response);
    });
  }

  #answer(response: SandboxResponse | undefined, drawn: Fate | undefined) {
    const { time, random } = this.#line;
    // A lie about the outcome needs a service that has acted: its own refusals, of the request or of a record, are
    // delivered unchanged.
    const isRefused = drawn?.kind === "lie" && response !== undefined && (response.status >= 300 || this.#isLeftOut());
    const fate = isRefused ? undefined : drawn;
    this.#sent.fate = fate;
    const { status, headers, body } =
      fate?.kind === "lie"
        ? this.#line.lieAnswer(fate.lie, this.#sent, response)
        : distorted(response, fate, this.#line.service);
    const isWhole = fate === undefined || fate.kind === "slow" || fate.kind === "renamed" || fate.kind === "lie";
    const isSuccess = status >= 200 && status < 300;
    const isTrue = isWhole && isSuccess && response !== undefined && body.equals(asSent(response.body));
    // A cached answer is complete, and may be received for the first time: the original may have been lost.
    const isWithIds = fate?.kind === "lie" && (HAS_IDS.has(fate.lie.body) || isOfBefore(fate.lie));
    const isReadable = isTrue || (isWithIds && isSuccess);
    const isNamed = fate?.kind === "lie" && fate.lie.body === "named otherwise" && isSuccess && !isTrue;
    const shown = isNamed ? response?.body.toString("utf8") : undefined;
    const downMs = fate?.kind === "slow" ? fate.ms : integerBetween(random, 3, 60);
    time.at(downMs, () => {
      if (this.#isOver || this.#sent.life.isDead) return;
      this.#handler.onResponseStart?.(this.#controller, status, { ...headers }, "");
      if (body.length > 0) this.#handler.onResponseData?.(this.#controller, body);
      this.#head = { status, retryAfter: headers["retry-after"], date: headers["date"], age: headers["age"] };
      if (fate?.kind === "drip") return;
      if (fate?.kind === "cut") return this.#fail(networkError("UND_ERR_SOCKET"), "unknown");
      this.#isOver = true;
      const text = body.toString("utf8");
      this.#line.onTold(this.#sent, { kind: "answer", ...this.#head, body: text, isTrue, isReadable, shown });
      this.#handler.onResponseEnd?.(this.#controller, {});
    });
  }

  #isLeftOut(): boolean {
    const { ledger, options } = this.#line.service;
    const effect = ledger.entries.at(-1)?.effect;
    const isSaid = options.reject.how === "said" || options.unknownArticles !== "stored";
    return isSaid && effect?.kind === "import" && effect.rejected.length > 0;
  }

  #failAfter(ms: number, code: string, effect: "none" | "unknown") {
    this.#line.time.at(ms, () => this.#fail(networkError(code), effect));
  }

  #fail(error: Error, effect: "none" | "unknown") {
    if (this.#isOver || this.#sent.life.isDead) return;
    this.#isOver = true;
    // The head of a refusal is sufficient.
    const isRefused = this.#head !== undefined && this.#head.status >= 300;
    const told: Told =
      isRefused && this.#head !== undefined
        ? { kind: "answer", ...this.#head, body: "", isTrue: false, isReadable: false, shown: undefined }
        : { kind: "nothing", effect };
    this.#line.onTold(this.#sent, told);
    this.#handler.onResponseError?.(this.#controller, error);
  }
}

function networkError(code: string): Error {
  return Object.assign(new Error(`simulated ${code}`), { code });
}

function distorted(response: SandboxResponse | undefined, fate: Fate | undefined, service: SandboxService): Answer {
  const nowMs = service.now();
  const date: Record<string, string> = service.options.dateHeader ? { date: new Date(nowMs).toUTCString() } : {};
  switch (fate?.kind) {
    case "status":
      return {
        status: fate.status,
        headers: { ...JSON_TYPE, ...date, ...retryAfter(fate.retryAfter, nowMs) },
        body: Buffer.from('{"error":"the simulation says no"}'),
      };
    case "html":
      return { status: 200, headers: { "content-type": "text/html" }, body: Buffer.from(PAGE) };
    case "redirect":
      return { status: fate.status, headers: { location: "http://elsewhere.example/" }, body: Buffer.alloc(0) };
    case "empty object":
      return { status: 200, headers: { ...JSON_TYPE, ...date }, body: Buffer.from("{}") };
  }
  const { status, headers, body } = response ?? { status: 500, headers: {}, body: Buffer.alloc(0) };
  switch (fate?.kind) {
    case "gzip":
      return { status, headers: { ...headers, "content-encoding": "gzip" }, body };
    case "renamed":
      return { status, headers, body: Buffer.from(body.toString("utf8").replace(/"(orders|updates)"/, '"renamed"')) };
    case "cut":
    case "short":
    case "drip": {
      const share = fate.kind === "drip" ? 0.5 : fate.share;
      // At least one byte is missing: a complete body with a failed connection is another fault.
      const length = Math.min(Math.floor(body.length * share), Math.max(0, body.length - 1));
      return { status, headers, body: body.subarray(0, length) };
    }
    default:
      return { status, headers, body: asSent(body) };
  }
}

function retryAfter(form: string | null, nowMs: number): Record<string, string> {
  if (form === null) return {};
  if (form === "date") return { "retry-after": new Date(nowMs + 40_000).toUTCString() };
  if (form === "epoch") return { "retry-after": String(Math.floor(nowMs / 1000) + 40) };
  return { "retry-after": form };
}
