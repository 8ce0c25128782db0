import { planUpdates } from "./changes.ts";
import { encodeText, nameCharset } from "./charset.ts";
import { type Credentials, refuseCredentials } from "./credentials.ts";
import { arrivesWhole, distort, Faults, replacesBody, type TakenFault } from "./faults.ts";
import { HandOuts } from "./hand-outs.ts";
import { ImportedFeeds } from "./imports.ts";
import { Ledger, type LedgerOptions } from "./ledger.ts";
import { type Feed, type Plan, refuse, type SandboxRequest, type SandboxResponse } from "./messages.ts";
import { defaultOptions, mergeOptions, type SandboxOptions, type SandboxOptionsPatch } from "./options.ts";
import { newestVersion, OrderBook } from "./order-book.ts";
import type { ChangePatch, OrderDraft } from "./order-draft.ts";
import { orderText } from "./order-text.ts";
import type { Random } from "./random.ts";
import { areaOf, type Route, routeOf } from "./routes.ts";
import { planSnapshot, planStatus } from "./single-order.ts";
import type { Site } from "./site.ts";

export interface ServiceSources extends LedgerOptions {
  readonly credentials: Credentials;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly random: Random;
  readonly options?: SandboxOptionsPatch;
}

/** An order at the service; `id` in lower case, `text` its newest record in the snapshot's shape. */
export interface OrderView {
  readonly id: string;
  readonly status: string;
  readonly text: string;
  readonly versions: number;
  readonly handedOut: boolean;
  readonly confirmed: boolean;
  readonly deleted: boolean;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A parsed request, before a fault changes anything. */
interface Arrival {
  readonly request: SandboxRequest;
  readonly route: Route;
  readonly at: number;
  readonly limited: Plan | undefined;
}

/**
 * The online sales service, in memory. `handle` is synchronous and deterministic: it uses only the given clock and
 * random numbers.
 */
export class SandboxService {
  readonly ledger: Ledger;
  readonly faults = new Faults();
  private current: SandboxOptions;
  private readonly sources: ServiceSources;
  private readonly site: Site;
  private readonly book: OrderBook;
  private readonly handOuts: HandOuts;
  private readonly feeds: ImportedFeeds;
  private arrivals: number[] = [];
  private hour = { begin: 0, requests: 0 };

  constructor(sources: ServiceSources) {
    this.sources = sources;
    this.current = mergeOptions(defaultOptions(), sources.options ?? {});
    this.ledger = new Ledger(sources);
    const now = () => this.now();
    const options = () => this.current;
    this.book = new OrderBook({
      now,
      random: sources.random,
      precision: () => this.current.precision,
      timesBackMs: () => this.current.timesBackMinutes * MINUTE_MS,
    });
    this.site = {
      now,
      random: sources.random,
      book: this.book,
      get options() {
        return options();
      },
    };
    this.handOuts = new HandOuts(this.site);
    this.feeds = new ImportedFeeds(this.site);
  }

  get options(): SandboxOptions {
    return this.current;
  }

  /** Changes switches. Throws TypeError on an unknown one. */
  setOptions(patch: SandboxOptionsPatch): void {
    this.current = mergeOptions(this.current, patch);
  }

  /** The service's own clock, in milliseconds. */
  now(): number {
    return this.sources.now() + this.current.clockOffsetMs;
  }

  /** Creates an order with generated values for what the draft omits. Returns its id. */
  createOrder(draft: OrderDraft = {}): string {
    return this.book.create(draft).id;
  }

  /** Adds a batch without orders before the next new ones. */
  createEmptyBatch(): void {
    this.handOuts.addEmpty();
  }

  /** Whether a batch without orders waits to be delivered or confirmed. */
  get hasEmptyBatch(): boolean {
    return this.handOuts.hasEmpty;
  }

  /** Adds a version to an order. Throws on an unknown id. */
  changeOrder(orderId: string, patch: ChangePatch): void {
    this.book.change(orderId, patch);
  }

  /** Removes an order from all endpoints. Throws on an unknown id. */
  deleteOrder(orderId: string): void {
    this.book.delete(orderId);
  }

  /** Restores the service to that time of its clock, with these records on the site. */
  restore(atMs: number, imported: ReadonlyMap<Feed, ReadonlyMap<string, string>>): void {
    this.book.restore(atMs);
    this.handOuts.restore(atMs);
    for (const [feed, records] of imported) this.feeds.restore(feed, records);
  }

  /** The order's newest record in the snapshot's shape, without the nesting; undefined where there is none. */
  newestText(orderId: string): string | undefined {
    const order = this.book.find(orderId);
    return order === undefined ? undefined : orderText(order, { options: this.current, snapshot: true });
  }

  /** The order's current status; undefined where there is no such order. */
  statusOf(orderId: string): string | undefined {
    const order = this.book.find(orderId);
    return order === undefined ? undefined : newestVersion(order).content.status;
  }

  /** All orders in order of creation, including deleted ones. */
  orders(): OrderView[] {
    return [...this.book.all()].map((order) => ({
      id: order.id,
      status: newestVersion(order).content.status,
      text: orderText(order, { options: this.current, snapshot: true }),
      versions: order.versions.length,
      handedOut: order.handedOut,
      confirmed: order.confirmed,
      deleted: order.deleted,
    }));
  }

  /** The content of the site: the newest accepted record text of each `importKey`. */
  imported(feed: Feed): ReadonlyMap<string, string> {
    return this.feeds.of(feed);
  }

  /** Answers one request and records it. A fault may change the answer, and prevent or delay the effect. */
  handle(request: SandboxRequest): SandboxResponse {
    const route = routeOf(request.method, request.path, this.current);
    const arrival = { request, route, at: this.now(), limited: this.refuseRate() };
    const fault = this.faults.take(request.method, route);
    if (fault?.action.kind === "delay" && fault.when === "before") {
      const complete = () => this.answer(arrival, fault);
      const { ms } = fault.action;
      return { status: 0, headers: {}, body: Buffer.alloc(0), delivery: { kind: "later", ms, complete } };
    }
    return this.answer(arrival, fault);
  }

  /** Answers a request for updates or one order with an older state, like a replica that lags behind. */
  handleStale(request: SandboxRequest, ageMs: number): SandboxResponse {
    const route = routeOf(request.method, request.path, this.current);
    const arrival = { request, route, at: this.now(), limited: undefined };
    const site: Site = { ...this.site, options: this.current, book: this.book.asOf(this.now() - ageMs) };
    const past = () =>
      route.kind === "updates" ? planUpdates(route.query, site) : planSnapshot(route.orderId ?? "", site);
    return this.answer(arrival, undefined, past);
  }

  private answer(
    arrival: Arrival,
    fault: TakenFault | undefined,
    makePlan = () => this.plan(arrival.request, arrival.route),
  ): SandboxResponse {
    const { request, route } = arrival;
    const refusal = this.refuseArea(request, route);
    const plan = arrival.limited ?? refusal ?? makePlan();
    const date = this.current.dateHeader ? { date: new Date(this.now()).toUTCString() } : {};
    const plain: SandboxResponse = {
      status: plan.status,
      headers: { ...date, ...nameCharset(plan.headers, this.current.charset) },
      body: encodeText(this.wordsOf(plan, request), this.current.charset),
      delivery: { kind: "plain" },
    };
    // The delay is over: only the plain answer is left.
    const late = fault?.action.kind === "delay" && fault.when === "before";
    const response = fault === undefined || late ? plain : distort(plain, fault.action);
    const isHandled = fault === undefined || late || fault.when === "after";
    if (isHandled) plan.commit();
    this.record(arrival, response, {
      plan,
      fault,
      takesEffect: isHandled && plan.effect !== null,
      authOk: refusal === undefined,
    });
    return response;
  }

  /** Error texts and acceptances may repeat the secret; lists and orders do not. */
  private wordsOf({ status, body }: Plan, { method }: SandboxRequest): string {
    const isSaid = this.current.repeatsSecret && status !== 401 && (method !== "GET" || status >= 400);
    if (!isSaid || !/^(?:\{\s*"|\p{L})/u.test(body)) return body;
    const { clientSecret } = this.sources.credentials;
    const named = JSON.stringify({ by: { [clientSecret]: "ok" } });
    return body.startsWith("{") ? `${named.slice(0, -1)},${body.slice(1)}` : `${body} for ${clientSecret}`;
  }

  private record(
    arrival: Arrival,
    response: SandboxResponse,
    outcome: { plan: Plan; fault: TakenFault | undefined; takesEffect: boolean; authOk: boolean },
  ): void {
    const { request, route } = arrival;
    const { plan, fault } = outcome;
    const silent = response.delivery.kind === "reset" || response.delivery.kind === "hang";
    const text = replacesBody(fault?.action) ? response.body.toString("utf8") : plan.body;
    this.ledger.append({
      at: this.now(),
      arrivedAt: arrival.at,
      method: request.method,
      path: route.pathname,
      query: route.query,
      kind: route.kind,
      authOk: outcome.authOk,
      status: silent ? null : response.status,
      requestBody: request.body.toString("utf8"),
      responseBody: silent ? null : text,
      served: arrivesWhole(fault?.action) ? plan.served : [],
      effect: outcome.takesEffect ? plan.effect : null,
      faultApplied: fault === undefined ? null : `${fault.action.kind} ${fault.when}`,
    });
  }

  /** The area's 401; that the subscription is unpaid is answered only with valid credentials. */
  private refuseArea(request: SandboxRequest, route: Route): Plan | undefined {
    const area = areaOf(route);
    return area === undefined ? undefined : refuseCredentials(area, request, this.sources.credentials, this.current);
  }

  private plan(request: SandboxRequest, route: Route): Plan {
    if (route.kind === "unknown") return refuse(404, "there is nothing under this path");
    if (route.kind === "import" && !this.current.paid) return refuse(402, "the import subscription is unpaid");
    if (!route.methods.includes(request.method)) {
      return refuse(405, `${request.method} is not for this path`, { allow: route.methods.join(", ") });
    }
    if (request.method !== "GET" && request.headers["content-encoding"] !== undefined) {
      return refuse(415, "the body is compressed");
    }
    switch (route.kind) {
      case "orders":
        return this.handOuts.planHandOut(route.query);
      case "confirm":
        return this.handOuts.planConfirm(request);
      case "updates":
        return planUpdates(route.query, this.site);
      case "snapshot":
        return planSnapshot(route.orderId ?? "", this.site);
      case "status":
        return planStatus(request, route.orderId ?? "", this.site);
      case "import":
        return this.planImport(request, route.feed);
    }
  }

  private planImport(request: SandboxRequest, feed: Feed | undefined): Plan {
    const type = request.headers["content-type"] ?? "";
    if (feed === undefined) return refuse(404, "there is no such feed");
    const takesForms = this.current.imports[feed].file !== null;
    if (takesForms && /^multipart\/form-data\s*(;|$)/i.test(type)) return this.feeds.planForm(request, feed);
    if (!/^application\/json\s*(;|$)/i.test(type)) return refuse(415, "an import is sent as application/json");
    return this.feeds.plan(request, feed);
  }

  private refuseRate(): Plan | undefined {
    return this.refuseMinute() ?? this.refuseHour();
  }

  /** 429 where the limit of requests in this hour was reached. */
  private refuseHour(): Plan | undefined {
    const { requestsPerHour } = this.current.limits;
    if (requestsPerHour === null) return undefined;
    const now = this.now();
    const begin = now - (now % HOUR_MS);
    const requests = this.hour.begin === begin ? this.hour.requests : 0;
    if (requests >= requestsPerHour) {
      const waitMs = begin + HOUR_MS - now;
      return refuse(429, "hourly quota exceeded", { "retry-after": String(Math.ceil(waitMs / 1000)) });
    }
    this.hour = { begin, requests: requests + 1 };
    return undefined;
  }

  /** The same for the last minute. */
  private refuseMinute(): Plan | undefined {
    const { requestsPerMinute } = this.current.limits;
    if (requestsPerMinute === null) return undefined;
    const now = this.now();
    this.arrivals = this.arrivals.filter((at) => now - at < MINUTE_MS);
    if (this.arrivals.length >= requestsPerMinute) {
      const waitMs = (this.arrivals[0] ?? now) + MINUTE_MS - now;
      return refuse(429, "too many requests", { "retry-after": String(Math.ceil(waitMs / 1000)) });
    }
    this.arrivals.push(now);
    return undefined;
  }
}
