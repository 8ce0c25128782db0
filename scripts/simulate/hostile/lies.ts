/* Which requests meet which lie, and what they are told. */
import type { SandboxRequest, SandboxResponse } from "../../../src/sandbox/messages.ts";
import type { Route } from "../../../src/sandbox/routes.ts";
import type { SandboxService } from "../../../src/sandbox/service.ts";
import { readTimestamp, writeTimestamp } from "../../../src/sandbox/timestamps.ts";
import { KEYS } from "../erp.ts";
import type { Forms } from "../forms.ts";
import type { Asked } from "../schedule.ts";
import {
  HOUR_MS,
  isCached,
  isOfBefore,
  isOlder,
  type Lie,
  type LieScope,
  lacksValues,
  MINUTE_MS,
  mayLast,
  OTHERWISE,
} from "./grammar.ts";

const ERROR_BESIDE = '{"error":"database is down",';

/** The order that such an answer is where it wraps nothing around the order: its own error is one of its fields. */
export function withoutError(payload: string): string {
  return payload.startsWith(ERROR_BESIDE) ? `{${payload.slice(ERROR_BESIDE.length)}` : payload;
}

export const PAGE =
  "<!doctype html><html><head><title>502</title></head><body>The site is being updated.</body></html>";
/** More than the configuration of these lives lets an answer have. */
export const HUGE_BYTES = 300_000;
/** Stands in a record's text for a byte that no UTF-8 has. */
export const NO_UTF8 = "\ue000";

/** What stands in a record's text for bytes that are no JSON or no UTF-8, those bytes, and what a reader may take for them. */
const AS_SENT = [
  [NO_UTF8, "\xff\xff\xff", "???"],
  ["\ue001", "\t\t\t", "   "],
  ["\ue002", "\r\n ", "   "],
  ["\ue003", "\\x ", "   "],
  ['"\ue004"', "NaN  ", "0    "],
  ['"\ue005"', "007  ", "7    "],
  ['"\ue006"', "1,   ", "1    "],
] as const;
/** The first bytes of every mark. */
const MARK = Buffer.from([0xee, 0x80]);

/** JSON texts that are none once they are sent, by name. */
export const NEAR_JSON: Readonly<Record<string, string>> = {
  "raw tab": '"a\ue001b"',
  "raw break": '"a\ue002b"',
  "unknown escape": '"a\ue003b"',
  "NaN itself": '"\ue004"',
  "007": '"\ue005"',
  "comma before the end": '["\ue006"]',
};

/** Refusals that speak of what was sent. */
const SAYS_OF_RECORD: ReadonlySet<number> = new Set([400, 409, 410, 413, 422]);
/** Of fewer records that are refused with none accepted nobody can tell whether it is they or the service. */
const IN_A_ROW = 3;

/** What a cache keeps. */
interface Kept {
  readonly atMs: number;
  readonly response: SandboxResponse;
}

interface Standing {
  readonly lie: Lie;
  left: number;
  readonly untilMs: number;
  met: number;
  /** By the path that was asked for; of a lie about what is cached. */
  readonly cache: Map<string, Kept>;
}

/** Lies that stand, in the order in which they began. */
export class Lies {
  /** `forever`: not ended with the other faults. */
  readonly standing: Standing[] = [];
  /** Every lie that was told, and of which record: what it said may last there. */
  readonly told: { lie: Lie; record: string | undefined }[] = [];
  readonly #single = new Set<string>();
  /** From which of these on an import, or a status, was answered well between two lies: what is refused then may be the record's fault. */
  readonly #wellFrom = new Map<Asked, number>();

  begin(lie: Lie, nowMs: number): void {
    const { span } = lie;
    const left = span !== "for ever" && "requests" in span ? span.requests : Number.POSITIVE_INFINITY;
    const untilMs = span !== "for ever" && "ms" in span ? nowMs + span.ms : Number.POSITIVE_INFINITY;
    this.standing.push({ lie, left, untilMs, met: 0, cache: new Map() });
  }

  /** Answers stand that each take room of their own: many of them say more. */
  get areFilling(): boolean {
    return this.standing.some(({ lie }) => lie.on === "orders" && lie.body === "changing shape");
  }

  /** Every read of an order is answered by a replica that lags: none of them shows that it does not. */
  isReplicaAt(nowMs: number): boolean {
    return this.standing.some(
      ({ lie, left, untilMs }) =>
        lie.on === "snapshot" && isOfBefore(lie) && lie.of === "all" && lie.status < 300 && left > 0 && nowMs < untilMs,
    );
  }

  /** Only what concerns one record for ever goes on. */
  endPassing(): void {
    const lasting = this.standing.filter(({ lie }) => lie.span === "for ever");
    this.standing.splice(0, this.standing.length, ...lasting);
  }

  /** The lie that this request meets. */
  take(route: Route, request: SandboxRequest, scene: { nowMs: number; orderIds: readonly string[] }): Lie | undefined {
    if (this.standing.length === 0) return undefined;
    for (const each of this.standing) {
      if (each.lie.on !== route.kind || each.left <= 0 || scene.nowMs >= each.untilMs) continue;
      if (typeof each.lie.of === "object" && "feed" in each.lie.of && each.lie.of.feed !== route.feed) continue;
      const isOfAny = each.lie.on === "confirm" && !isOfOne(each.lie.of);
      const records = isOfAny ? undefined : recordsOf(route, request, scene.orderIds);
      const record = records === undefined ? undefined : records.find(({ place }) => covers(each.lie, place));
      if (isOlder(each.lie.of) && !asksBefore(request, scene.nowMs - each.lie.of.olderMs)) continue;
      if (records === undefined ? !coversRequest(each.lie, each.met++) : record === undefined) continue;
      if (isCached(each.lie) && keptOf(each, request, scene.nowMs) === undefined) continue;
      each.left -= 1;
      this.told.push({ lie: each.lie, record: record?.name });
      return each.lie;
    }
    return undefined;
  }

  /** An answer goes by the caches that stand before its endpoint. */
  noteServed({ kind }: Route, request: SandboxRequest, { response, atMs }: Kept): void {
    if (request.method !== "GET" || response.status !== 200) return;
    for (const { lie, cache } of this.standing)
      if (lie.on === kind && isCached(lie)) cache.set(request.path, { response, atMs });
  }

  /** What the cache has of it. */
  cachedFor(lie: Lie, { path }: SandboxRequest): Kept | undefined {
    return this.standing.find((each) => each.lie === lie)?.cache.get(path);
  }

  /** A single answer that says no: it may be about its records. */
  noteRefusal(route: Route, request: SandboxRequest, status: number): void {
    if (!SAYS_OF_RECORD.has(status)) return;
    for (const { name } of recordsOf(route, request, []) ?? []) this.#single.add(name);
  }

  /** An import or a status was answered well, whatever all of them are told. */
  noteWell(kind: Asked): void {
    if (!this.#wellFrom.has(kind)) this.#wellFrom.set(kind, this.told.length);
  }

  /** The service does not take this record, and says so of it beside others. */
  noteLeftOut(name: string): void {
    this.#single.add(name);
  }

  /** Records of which the service has said something that may last, or says it still. */
  lasting(): ReadonlySet<string> {
    const met = Map.groupBy(this.told, ({ lie }) => lie);
    const names = new Set(this.#single);
    for (const { lie, record } of this.told.slice(this.#wellFrom.get("import") ?? Number.POSITIVE_INFINITY))
      if (lie.on === "import" && record !== undefined) names.add(record);
    for (const name of this.#refusedBeside()) names.add(name);
    for (const [lie, each] of met) {
      const records = new Set(each.flatMap(({ record }) => record ?? []));
      const saysOfRecord = SAYS_OF_RECORD.has(lie.status) || lie.status < 300;
      const isOfAll = lie.of === "all" || (typeof lie.of === "object" && "feed" in lie.of);
      const isStatement = !isCached(lie) && !lacksValues(lie) && lie.body !== "queued";
      const isOfRecords =
        isOfAll &&
        isStatement &&
        (lie.body !== "html" || lie.on === "import") &&
        saysOfRecord &&
        records.size < IN_A_ROW;
      // Of the last that is told so many requests the next one is answered well: for whoever asks, the record is to blame. Each feed asks for itself.
      if (lie.span !== "for ever" && "requests" in lie.span && isStatement && saysOfRecord)
        for (const name of lastOf(lie, each)) names.add(name);
      if (lie.span === "for ever" || mayLast(lie) || isOfRecords) for (const name of records) names.add(name);
    }
    return names;
  }

  /** Orders whose status was refused, and refused again after the status of another one was accepted: whoever asks cannot but take that for their own. */
  #refusedBeside(): string[] {
    const from = this.#wellFrom.get("status") ?? Number.POSITIVE_INFINITY;
    const isSaid = ({ lie }: { lie: Lie }) =>
      lie.on === "status" && (SAYS_OF_RECORD.has(lie.status) || lie.status < 300);
    const before = new Set(
      this.told
        .slice(0, from)
        .filter(isSaid)
        .map(({ record }) => record),
    );
    const again = this.told.slice(from).filter(isSaid);
    return again.flatMap(({ record }) => (record !== undefined && before.has(record) ? [record] : []));
  }

  /** Records with which every request fails, and still does. */
  failing(): ReadonlySet<string> {
    const standing = new Set(this.standing.map(({ lie }) => lie));
    return this.namedBy((lie) => lie.span === "for ever" && standing.has(lie));
  }

  /** Endpoints and feeds that answer nothing any more. */
  get down(): ReadonlySet<string> {
    const lasting = this.standing.flatMap(({ lie }) => (lie.span === "for ever" ? [lie] : []));
    return new Set(
      lasting.flatMap(({ on, of }) => (of === "all" ? [on] : typeof of === "object" && "feed" in of ? [of.feed] : [])),
    );
  }

  /** Records of which the service has said something that may last. */
  namedBy(which: (lie: Lie) => boolean): ReadonlySet<string> {
    return new Set(this.told.filter(({ lie }) => which(lie)).flatMap(({ record }) => record ?? []));
  }
}

/** The records that were told last, of imports that of each feed. */
function lastOf(lie: Lie, told: readonly { record: string | undefined }[]): string[] {
  if (lie.on !== "import") return [told.at(-1)?.record ?? []].flat();
  const ofFeeds = new Map(told.flatMap(({ record }) => (record === undefined ? [] : [[feedOf(record), record]])));
  return [...ofFeeds.values()];
}

function feedOf(record: string): string {
  return record.slice(0, record.indexOf(" "));
}

function keptOf({ lie, cache }: Standing, { path, headers }: SandboxRequest, nowMs: number): Kept | undefined {
  const kept = cache.get(path);
  const isAsked = lie.body === "cached unless asked" && /no-cache/.test(headers["cache-control"] ?? "");
  return kept === undefined || isAsked || nowMs - kept.atMs >= lie.ageMs ? undefined : kept;
}

function covers({ of }: Lie, place: number): boolean {
  if (of === "half") return place % 2 === 0;
  return of === "all" || !("nth" in of) || place === of.nth;
}

function isOfOne(of: LieScope): boolean {
  return typeof of === "object" && "nth" in of;
}

/** Whether changes are asked for from before this time. A token says no time. */
function asksBefore({ path }: SandboxRequest, ms: number): boolean {
  const since = new URLSearchParams(path.split("?")[1]).get("since") ?? "";
  const number = Number(since);
  const sinceMs = Number.isNaN(number) ? Date.parse(since) : number > 1e11 ? number : number * 1_000;
  return sinceMs < ms;
}

function coversRequest({ of }: Lie, met: number): boolean {
  return of !== "half" || met % 2 === 0;
}

/** The records of a request with their places; undefined where it is about none in particular. */
export function recordsOf(
  { kind, orderId, feed }: Route,
  { body }: SandboxRequest,
  orderIds: readonly string[],
): { name: string; place: number }[] | undefined {
  if (kind === "snapshot" || kind === "status") {
    const name = (orderId ?? "").toLowerCase();
    return [{ name, place: Math.max(0, orderIds.indexOf(name)) }];
  }
  const text = body.toString("utf8");
  if (kind === "confirm")
    return orderIds.flatMap((name, place) => (text.toLowerCase().includes(name) ? [{ name, place }] : []));
  if (kind !== "import") return undefined;
  return KEYS.flatMap((key, place) => (text.includes(JSON.stringify(key)) ? [{ name: `${feed} ${key}`, place }] : []));
}

/** What the lines of the service have answered before: what a lie that needs a body is made of. */
export class Former {
  readonly #bodies = new Map<Asked, Buffer[]>();

  note(kind: Asked, { status, body }: SandboxResponse): void {
    if (status !== 200) return;
    const bodies = this.#bodies.get(kind) ?? [];
    bodies.push(body);
    this.#bodies.set(kind, bodies.slice(-20));
  }

  oldest(kind: Asked): Buffer | undefined {
    return this.#bodies.get(kind)?.[0];
  }

  newest(kind: Asked): Buffer | undefined {
    return this.#bodies.get(kind)?.at(-1);
  }
}

/** Whether the true answer must be made: the service acts, or only it knows the body. */
export function needsService({ on, when, body }: Lie): boolean {
  return when === "after" || (on === "updates" && body.startsWith("next "));
}

export function lieResponse(
  lie: Lie,
  true_: SandboxResponse | undefined,
  scene: Scene,
): { status: number; headers: Record<string, string>; body: Buffer } {
  const { former, service } = scene;
  if (scene.kept !== undefined) return fromCache(lie, scene.kept, scene);
  const base = true_?.body ?? former.newest(lie.on) ?? Buffer.from("{}");
  const date: Record<string, string> = service.options.dateHeader
    ? { date: new Date(service.now()).toUTCString() }
    : {};
  const type = lie.body === "html" ? "text/html" : "application/json; charset=utf-8";
  const isBodyless = lie.status === 204 || lie.status === 205 || lie.status === 304;
  const body = isBodyless ? Buffer.alloc(0) : bodyOf(lie, base, scene);
  const location: Record<string, string> =
    lie.status >= 300 && lie.status < 400 ? { location: "http://elsewhere.example/" } : {};
  const isWait = lie.retryAfter !== null && (lie.status === 429 || lie.status === 503);
  const wait: Record<string, string> = isWait ? { "retry-after": lie.retryAfter ?? "" } : {};
  return { status: lie.status, headers: { ...date, ...location, ...wait, "content-type": type }, body: asSent(body) };
}

/** A cache gives the date of what it has kept, or its own. */
function fromCache(lie: Lie, { response, atMs }: Kept, { nowMs, service }: Scene) {
  const age = lie.body === "cached with its age" ? { age: String(Math.floor((nowMs - atMs) / 1000)) } : {};
  const hasOwnDate = lie.body === "cached" && response.headers["date"] !== undefined;
  const date = hasOwnDate ? { date: new Date(service.now()).toUTCString() } : {};
  return { status: response.status, headers: { ...response.headers, ...age, ...date }, body: asSent(response.body) };
}

interface Scene {
  readonly nowMs: number;
  /** Where a cache answers. */
  readonly kept: Kept | undefined;
  readonly former: Former;
  readonly forms: Forms;
  readonly service: SandboxService;
  readonly request: SandboxRequest;
  /** The bridge has been told often enough how this endpoint answers. */
  readonly isFormKnown: boolean;
  /** Of the request: no two are answered alike by what changes. */
  readonly number: number;
}

/** It breaks off: nobody takes it for an acceptance. */
const NO_FORM = '{"acc';

function bodyOf(lie: Lie, base: Buffer, scene: Scene): Buffer {
  const { former, forms, service, request } = scene;
  const text = base.toString("utf8");
  switch (lie.body) {
    case "right":
      return base;
    case "error beside":
      return Buffer.from(
        text.startsWith("{") ? `${ERROR_BESIDE}${text.slice(1)}`.replace(",}", "}") : '{"error":"database is down"}',
      );
    case "error beside nothing":
      return Buffer.from(`{"error":"database is down",${emptyRight(lie.on, forms)}}`);
    case "another endpoint":
      return Buffer.from(OTHER[lie.on]);
    case "another record":
      return former.oldest("snapshot") ?? Buffer.from("{}");
    case "html":
      return Buffer.from(PAGE);
    case "refusal":
      return Buffer.from('{"error":"no"}');
    case "empty":
      return Buffer.alloc(0);
    case "cut":
      // Of a plain text nobody can tell that it lacks its end.
      return /^[{[]./.test(text) ? base.subarray(0, Math.floor(base.length / 2)) : Buffer.from(NO_FORM);
    case "cp1251":
      return inCp1251(text);
    case "utf-16":
      return Buffer.from(`\ufeff${text}`, "utf16le");
    case "huge":
      return Buffer.concat([base, Buffer.alloc(HUGE_BYTES, " ")]);
    case "0":
      // Three of them at the beginning are the usual form, which only a day of others replaces.
      return Buffer.from(scene.isFormKnown ? lie.body : NO_FORM);
    case "false":
    case "null":
      return Buffer.from(lie.body);
    case "text":
      return Buffer.from("Service is starting, please wait");
    case "success false":
      return Buffer.from('{"success":false}');
    case "success 0":
      return Buffer.from('{"success":0}');
    case "no in words":
      return Buffer.from(NOES[scene.number % NOES.length] ?? "");
    case "another form":
      // A client that knows no other form yet takes any for an acceptance.
      return Buffer.from(scene.isFormKnown ? (OTHER_FORMS[scene.number % OTHER_FORMS.length] ?? "") : NO_FORM);
    case "changing shape":
      return Buffer.from(text.replace(SHAPE[lie.on] ?? "", `"renamed ${scene.number}"`));
    case "changing record":
      return Buffer.from(
        text.replace(/"status":"[^"]*"/, (status) =>
          scene.number % 2 === 0 ? `"status":{"is":${scene.number}}` : `${status},"status":"also ${scene.number}"`,
        ),
      );
    case "success text":
      return Buffer.from('{"success":"false"}');
    case "stale":
      if (lie.on === "orders") return former.oldest("orders") ?? Buffer.from("{}");
      return service.handleStale(request, lie.ageMs).body;
    case "queued":
      return forms.queueShows ? asItIs(scene) : Buffer.from('{"queued":true}');
    case "id elsewhere":
      return Buffer.from(text.replaceAll('"order_id":', '"id":'));
    case "no id":
      return Buffer.from(text.replace(/"(order_id|number)":"[^"]*",?/g, ""));
    case "named otherwise":
      return Buffer.from(namedOtherwise(text, lie, scene));
    case "own refusal":
      return Buffer.from(ownRefusal(scene));
    case "no lines":
    case "no lines in one":
      return Buffer.from(withoutLines(text, scene.number, lie.body === "no lines in one"));
    case "no value":
      return Buffer.from(withoutValue(text, lie));
    case "status elsewhere":
      return Buffer.from(text.replaceAll('"status":', '"state":'));
    case "lines elsewhere":
      return Buffer.from(text.replaceAll(LINES, '"positions":['));
    case "part":
      return Buffer.from(withoutLast(text));
    case "contradicted":
      return Buffer.from(`{${contradicted(lie.on, scene.number)}}`);
    case "empty otherwise":
      return Buffer.from(`{${emptyRight(lie.on, forms)},${EMPTY_WORDS[lie.ageMs] ?? ""}}`);
    case "nothing new":
      return Buffer.from(forms.bare ? "[]" : `{${emptyRight(lie.on, forms)}}`);
    default:
      return Buffer.from(withNext(text, lie.body, request));
  }
}

const WORDS = ["database is down", "Connection refused", "request timeout", "нет связи с базой", "try again later"];
/** Where a service, or what stands before it, puts them. */
const PLACES: readonly ((words: string) => string)[] = [
  (words) => words,
  (words) => `500 Internal Server Error: ${words}`,
  (words) => `Ошибка: ${words}`,
  (words) => `status: error\nmessage: ${words}`,
  (words) => `status=error&message=${encodeURIComponent(words)}`,
  (words) => `a:1:{s:5:"error";s:${Buffer.byteLength(words)}:"${words}";}`,
  (words) => `cb(${JSON.stringify({ error: words })})`,
  (words) => JSON.stringify(["error", words]),
  (words) => JSON.stringify({ message: words }),
  (words) => JSON.stringify({ data: { message: words } }),
  (words) => JSON.stringify({ data: { result: { error: words } } }),
  (words) => JSON.stringify({ code: -1, msg: words }),
  (words) => JSON.stringify({ code: "E500", message: words }),
  (words) => JSON.stringify({ success: null, message: words }),
  (words) => JSON.stringify({ ошибка: words }),
];
/** Every one says no with a success. */
const NOES = [
  ...WORDS.flatMap((words) => PLACES.map((place) => place(words))),
  ...['{"imported":0,"skipped":1}', '{"accepted":0}', '{"queued":false}', '{"maintenance":true}'],
];
/** No word in these says it. */
const OTHER_FORMS = [
  ...["Good day", '"see you"', '{"see":"elsewhere"}', '{"result":"resting"}', '{"status":"resting"}', '["resting"]'],
  ...['{"code":7}', '{"shop":{"name":"another one"}}', "true"],
];

/** Of orders, and of a batch. */
const OWN_REFUSALS = [
  ...['{"orders":[{"success":false}]}', '{"order":{"error":"LOCKED"}}', '{"batch":{"error":"LOCKED"}}'],
  ...['{"update":{"success":false,"message":"LOCKED"}}', '{"parcel":{"success":false}}'],
];

/** Errors of the articles that were sent, or of one order or batch. */
function ownRefusal({ request, number }: Scene): string {
  const text = request.body.toString("utf8");
  const sent = KEYS.filter((key) => text.includes(JSON.stringify(key)));
  if (sent.length === 0) return OWN_REFUSALS[number % OWN_REFUSALS.length] ?? "";
  const [name, error] = OWN_LISTS[number % OWN_LISTS.length] ?? OWN_LISTS[0];
  return JSON.stringify({ [name]: sent.map((sku) => ({ sku, ...error })) });
}

const OWN_LISTS = [
  ["stocks", { error: "unknown article" }],
  ["update", { id: 0, error: { code: "invalid_sku" } }],
  ["userErrors", { field: "sku", message: "is not known" }],
  ["result_error", { text: "нет такого товара" }],
] as const;

/** What an answer of another shape has renamed; a bare list has nothing. */
const SHAPE: Partial<Record<Asked, RegExp>> = {
  orders: /"orders"/,
  updates: /"updates"/,
  snapshot: /"order_id"/,
};

/** A true answer of another endpoint of the same service. */
const OTHER: Record<Asked, string> = {
  orders: '{"accepted":3,"errors":[]}',
  confirm: '{"data":{"orders":[]}}',
  updates: '{"data":{"orders":[],"batch_id":"batch-1"}}',
  snapshot: '{"data":{"updates":[]}}',
  status: '{"data":{"updates":[]}}',
  import: '{"data":{"updates":[]}}',
};

/** The order of a request, with the status that it has. */
function asItIs({ service, request }: Scene): Buffer {
  const [, id = ""] = /\/orders\/([^/]+)\/status$/.exec(request.path) ?? [];
  return Buffer.from(JSON.stringify({ order_id: id, status: service.statusOf(id.toLowerCase()) }));
}

/** As the service answers that there is nothing: what it says otherwise stands beside it. */
function emptyRight(on: Asked, { bare, empty }: Forms): string {
  if (on === "orders" || on === "updates") {
    if (bare) return '"data":[]';
    if (empty === "null-parent") return '"data":null';
    return `"data":{"${on}":${empty === "null" ? "null" : "[]"}}`;
  }
  return on === "import" ? '"accepted":0' : '"ok":true';
}

/** What says that an empty list should not be empty. */
const SOMETHING = [
  ...['"count":2', '"has_more":true', '"records_count":"7"', '"meta":{"more":true}'],
  '"one":{"order_id":"00000000-0000-4000-8000-000000000000","status":"new","updated_at":"2026-03-01T12:00:00Z"}',
];

function contradicted(on: Asked, number: number): string {
  const list = on === "orders" ? "orders" : "updates";
  const beside = SOMETHING[number % SOMETHING.length] ?? "";
  // Inside what holds the list, or around it.
  return number % 2 === 0 ? `"data":{"${list}":[],${beside}}` : `"data":{"${list}":[]},${beside}`;
}

/** What never stood beside an empty list before. */
export const EMPTY_WORDS = [
  ...[
    '"warnings":["ER_LOCK_WAIT"]',
    '"maintenance":true',
    '"code":"E_BUSY"',
    '"message":"The archive is being rebuilt"',
  ],
  ...['"meta":{"state":"rebuilding"}', '"notice":"Сведения готовятся"'],
] as const;

const ID = /"order_id":"([0-9a-f-]{36})"/gi;

function namedOtherwise(text: string, { ageMs, on }: Lie, { service, forms }: Scene): string {
  const { options } = service;
  switch (OTHERWISE[ageMs]) {
    case "key":
      return text.replaceAll('"order_id":', '"id":');
    case "braces":
      return text.replace(ID, '"order_id":"{$1}"');
    case "time":
      return text.replace(/"updated_at":(?:"([^"]*)"|([\d.]+))/g, (member, quoted?: string, digits?: string) => {
        const us = readTimestamp(quoted ?? digits ?? "", "any", options);
        return us === undefined ? member : `"updated_at":${writeTimestamp(us - HOUR_MS * 1000, options)}`;
      });
    default:
      return text.replace(ID, (member, id: string) => {
        const number = numberIn(service.newestText(id.toLowerCase()));
        if (number === undefined) return member;
        // Whole records have it beside.
        return on === "orders" || forms.carry === "whole" ? '"kind":"order"' : `"number":${JSON.stringify(number)}`;
      });
  }
}

/** The number in a record, which may be no JSON. */
export function numberIn(text = ""): string | undefined {
  return /"number":"([^"]*)"/.exec(text)?.[1];
}

const LINES = '"items":[';

/** The lines are none, nothing, or there is no property, or they have no quantity: by the number of the request. */
function withoutLines(text: string, number: number, isFirstOnly: boolean): string {
  const instead = ['"items":[]', '"items":null', '"lines_count":0'][number % 4];
  let lost = "";
  let from = 0;
  for (let at = text.indexOf(LINES); at !== -1; at = text.indexOf(LINES, from)) {
    const end = endOfList(text, at + LINES.length);
    const list = text.slice(at, end);
    lost += text.slice(from, at) + (instead ?? list.replace(/"quantity":("[^"]*"|[\d.]+)/g, '"quantity":null'));
    from = end;
    if (isFirstOnly) break;
  }
  return lost + text.slice(from);
}

/** Behind the bracket that closes the list whose first element begins here. */
function endOfList(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++;
    } else if (char === "[") depth++;
    else if (char === "]" && --depth === 0) return at + 1;
  }
  return text.length;
}

/** All answers of the trouble lack the same: a null total, no number, or no price in any line. */
function withoutValue(text: string, { ageMs }: Lie): string {
  if (ageMs === MINUTE_MS) return text.replace(/"total":("[^"]*"|[\d.]+)/g, '"total":null');
  if (ageMs === HOUR_MS) return text.replaceAll('"number":', '"unnumbered":');
  return text.replace(/"price":("[^"]*"|[\d.]+)/g, '"price":null');
}

const ORDERS = '"orders":[';

/** Without the last record of a list of several; a flag or a text says so, a list of what was left out names it, and a count stays what it was. */
function withoutLast(text: string): string {
  const from = text.indexOf(ORDERS) + ORDERS.length;
  if (from < ORDERS.length) return text;
  const end = endOfList(text, from);
  let [cut, depth] = [0, 0];
  for (let at = from; at < end - 1; at++) {
    const char = text[at];
    if (char === '"') {
      for (at++; at < end && text[at] !== '"'; at++) if (text[at] === "\\") at++;
    } else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    else if (char === "," && depth === 0) cut = at;
  }
  if (cut === 0) return text;
  const [, id = "null"] = /"order_id":("[^"]*")/.exec(text.slice(cut, end)) ?? [];
  const rest = `${text.slice(0, cut)}${text.slice(end - 1)}`;
  if (isExplained(rest)) return text;
  return rest
    .replace('"partial":false', '"partial":true')
    .replace('"skipped":[]', `"skipped":[${id}]`)
    .replace('"message":"OK"', '"message":"1 order could not be exported"');
}

/** By chance the number whose name says nothing is that of the lines that are left, or of what is sold with them. */
function isExplained(text: string): boolean {
  const [, figure] = /"figure":(\d+)/.exec(text) ?? [];
  if (figure === undefined) return false;
  const quantities = [...text.matchAll(/"quantity":"?([\d.]+)/g)].map(([, quantity]) => Number(quantity));
  return [quantities.length, quantities.reduce((sum, quantity) => sum + quantity, 0)].includes(Number(figure));
}

const NEXT = /"next":("[^"]*"|[\d.]+)/;

function withNext(text: string, body: string, request: SandboxRequest): string {
  const asked = new URLSearchParams(request.path.split("?")[1] ?? "").get("since") ?? "";
  const values: Record<string, string> = {
    "next empty": '""',
    "next null": "null",
    "next zero": "0",
    "next false": "false",
    "next repeats": JSON.stringify(asked),
    "next back": asked.startsWith("cursor-") ? '"cursor-0"' : JSON.stringify(asked.replace(/^20\d\d/, "2025")),
  };
  return text.replace(NEXT, () => `"next":${values[body] ?? '""'}`);
}

/** As an old server writes Cyrillic: bytes that are no UTF-8. */
function inCp1251(text: string): Buffer {
  const bytes = Buffer.alloc(text.length);
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    bytes[index] = code < 0x80 ? code : code >= 0x410 && code < 0x450 ? code - 0x410 + 0xc0 : 0xa8;
  }
  return bytes;
}

/** The bytes that a record's text stands for. */
export function asSent(body: Buffer): Buffer {
  if (!body.includes(MARK)) return body;
  const bytes = Buffer.from(body);
  for (const [text, sent] of AS_SENT) {
    const mark = Buffer.from(text);
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1))
      bytes.write(sent, at, mark.length, "latin1");
  }
  return bytes;
}

/** Whether a record's text is no JSON once it is sent. */
export function isNearJson(text = ""): boolean {
  return AS_SENT.some(([mark]) => mark !== NO_UTF8 && text.includes(mark));
}

/** An answer as JSON, whatever single values are none. */
export function asJson(text: string): string {
  let json = text;
  for (const [, sent, read] of AS_SENT) json = json.replaceAll(sent, read);
  return json;
}
