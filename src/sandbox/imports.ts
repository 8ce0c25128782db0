import { bytesOfBase64, fileText, readForm, recordOfForm } from "./form.ts";
import { type JsonNode, nodeAt, readJson } from "./json-text.ts";
import { answerText, type Effect, FEEDS, type Feed, type Plan, refuse, type SandboxRequest } from "./messages.ts";
import type { ImportOptions, SandboxOptions } from "./options.ts";
import { readBody, type Site } from "./site.ts";

type ImportEffect = Effect & { kind: "import" };

/** The key of a record on the site: its key properties as a JSON array; numbers keep their literals. */
export function importKey(...parts: readonly (string | number)[]): string {
  return JSON.stringify(parts);
}

interface ImportRecord {
  readonly key: string;
  /** The key without what the site ignores in it. */
  readonly place: string;
  readonly sku: string;
  readonly text: string;
  /** The key properties as JSON text, for the answer. */
  readonly named: string;
  readonly problem: string | undefined;
  /** The catalog does not have its article, and the record is ignored for it. */
  readonly isUnknown: boolean;
}

function keyPart(record: JsonNode, property: string): string {
  const node = nodeAt(record, [property]);
  if (node === undefined || node.text === "null") return '""';
  return node.kind === "string" ? JSON.stringify(node.value) : node.text;
}

/** The record's text with its file replaced by size and SHA-256; undefined where the file is not base64. */
function textWithoutFile(record: JsonNode, property: string | null): string | undefined {
  const node = property === null ? undefined : nodeAt(record, [property]);
  if (node?.kind !== "string" || record.kind !== "object") return record.text;
  const bytes = bytesOfBase64(node.value);
  if (bytes === undefined) return undefined;
  const members = record.entries.map(
    ([name, value]) => `${JSON.stringify(name)}:${value === node ? fileText(bytes) : value.text}`,
  );
  return `{${members.join(",")}}`;
}

/** The catalog's records by article. */
type Catalog = ReadonlyMap<string, string>;

function readRecord(record: JsonNode, feed: Feed, { options }: Site, catalog: Catalog): ImportRecord {
  const { key: keys, file, ignores } = options.imports[feed];
  const { skus, feed: only } = options.reject;
  const parts = keys.map((property) => keyPart(record, property));
  const node = nodeAt(record, keys.slice(0, 1));
  const sku = node?.kind === "string" ? node.value : (node?.text ?? "");
  const comparedAs = ignores === "spelling" || ignores === "both" ? foldSpelling : (text: string) => text;
  const isNamed = skus === "all" || skus.some((each) => comparedAs(each) === comparedAs(sku));
  const refused = isNamed && (only ?? feed) === feed;
  const lacksKey = keys.length > 0 && (sku === "" || sku === "null");
  const text = textWithoutFile(record, file);
  const problem = lacksKey
    ? `the record lacks ${keys[0]}`
    : refused
      ? `the record ${sku} is not accepted`
      : text === undefined
        ? `${file} is not base64`
        : undefined;
  const named = keys.map((property, index) => `${JSON.stringify(property)}:${parts[index]}`).join(",");
  const others = ignores === "others" || ignores === "both" ? [] : parts.slice(1);
  const place = ignores === "nothing" ? parts : [JSON.stringify(comparedAs(sku)), ...others];
  const isUnknown = isIgnored({ article: `[${parts[0]}]`, feed }, options, catalog);
  return {
    ...{ key: `[${parts.join(",")}]`, place: `[${place.join(",")}]` },
    ...{ sku, text: text ?? record.text, named, problem, isUnknown },
  };
}

/** As engines of shops compare article numbers. */
export function foldSpelling(text: string): string {
  return text.trim().toLowerCase();
}

function isIgnored(of: { article: string; feed: Feed }, options: SandboxOptions, catalog: Catalog): boolean {
  if (of.feed === "catalog" || options.unknownArticles === "stored") return false;
  const record = catalog.get(of.article);
  return record === undefined || (options.inactiveLeave && isInactive(record));
}

function isInactive(record: string): boolean {
  return nodeAt(readJson(record), ["active"])?.text === "false";
}

/** Answers with counts inside an object. */
const COUNTED: Partial<Record<SandboxOptions["importAnswer"], (all: number, good: number) => object>> = {
  stats: (total, success) => ({ ok: true, stats: { total, success, error: total - success } }),
  summary: (received, imported) => ({ success: true, summary: { received, imported, failed: received - imported } }),
  report: (received, updated) => ({ status: "ok", report: { received, updated, rejected: received - updated } }),
  import: (total, accepted) => ({ ok: true, import: { total, accepted, rejectedCount: total - accepted } }),
  "data.stats": (received, imported) => ({
    success: true,
    data: { stats: { received, imported, failed: received - imported } },
  }),
  skipped: (processed, accepted) => ({ success: true, processed, skipped: processed - accepted }),
  good: (total, ok) => ({ status: "success", total, ok }),
  taken: (received, accepted) => ({ received, accepted }),
  ignored: (all, good) => ({ ok: true, result: { ignored: all - good } }),
  "all or none": (received, stored) => ({ received, stored }),
};

/** One for each record that is not accepted, by its place in the request. */
function warningsOf(records: readonly ImportRecord[]): string[] {
  return records.flatMap(({ problem }, at) => (problem === undefined ? [] : [`Строка ${at + 1}: товар не найден`]));
}

/** No word in it says that something failed. */
function sentenceOf(good: number, bad: number): string {
  if (bad > 0) return "The storefront is in read-only mode";
  return `${good} ${good === 1 ? "row" : "rows"} updated`;
}

/** The records of a request by what becomes of them. */
interface Judged {
  /** Refused by a switch. */
  readonly bad: readonly ImportRecord[];
  /** Ignored, and the answer says so. */
  readonly unknown: readonly ImportRecord[];
  /** All that no switch refuses. */
  readonly sound: readonly ImportRecord[];
  readonly good: readonly ImportRecord[];
  readonly changed: number;
}

function unknownOf(records: readonly ImportRecord[]): ImportRecord[] {
  return records.flatMap((each) => (each.isUnknown ? [{ ...each, problem: `there is no article ${each.sku}` }] : []));
}

const TEXT_TYPE = { "content-type": "text/plain; charset=utf-8" };

/** The content of the site: the last accepted record of each key, without what is ignored in it, by feed. */
export class ImportedFeeds {
  private readonly site: Site;
  private readonly records = new Map<Feed, Map<string, string>>(FEEDS.map((feed) => [feed, new Map()]));

  constructor(site: Site) {
    this.site = site;
  }

  /** The accepted record texts by `importKey`. */
  of(feed: Feed): Map<string, string> {
    return this.records.get(feed) ?? new Map();
  }

  /** Replaces the site's records of a feed with these. */
  restore(feed: Feed, records: ReadonlyMap<string, string>): void {
    this.records.set(feed, new Map(records));
  }

  /** POST of a feed, after the subscription and the credentials were checked. */
  plan(request: SandboxRequest, feed: Feed): Plan {
    const { limits, imports } = this.site.options;
    const feedOptions = imports[feed];
    const { property } = feedOptions;
    if (limits.maxBodyBytes !== null && request.body.length > limits.maxBodyBytes) {
      return refuse(413, `the body is larger than ${limits.maxBodyBytes} bytes`);
    }
    const body = readBody(request);
    if ("refusal" in body) return body.refusal;
    if (body.node.kind !== "object") return refuse(400, `the body is a JSON object with the property ${property}`);
    const list = nodeAt(body.node, [property]);
    if (list?.kind !== "array") return refuse(400, `the body lacks the array ${property}`);
    if (limits.maxRecords !== null && list.items.length > limits.maxRecords) {
      return refuse(413, `more than ${limits.maxRecords} records in one request`);
    }
    const strange = list.items.findIndex((item) => item.kind !== "object");
    if (strange !== -1) return refuse(400, `${property}[${strange}] is not an object`);
    const records = list.items.map((item) => readRecord(item, feed, this.site, this.of("catalog")));
    return this.judge(records, feed, feedOptions);
  }

  /** The same for a form, which is one record. */
  planForm(request: SandboxRequest, feed: Feed): Plan {
    const { limits, imports } = this.site.options;
    if (limits.maxBodyBytes !== null && request.body.length > limits.maxBodyBytes) {
      return refuse(413, `the body is larger than ${limits.maxBodyBytes} bytes`);
    }
    const parts = readForm(request.headers["content-type"] ?? "", request.body);
    if (typeof parts === "string") return refuse(400, parts);
    const record = readRecord(readJson(recordOfForm(parts)), feed, this.site, this.of("catalog"));
    return this.judge([record], feed, imports[feed]);
  }

  /** Refuses the request or its bad records, as configured in `reject.how`, and plans to accept the rest. */
  private judge(records: readonly ImportRecord[], feed: Feed, feedOptions: ImportOptions): Plan {
    const { how } = this.site.options.reject;
    const bad = records.filter((each) => each.problem !== undefined && !this.isEchoed(each, feed));
    const { takenRecords } = this.site.options.limits;
    const sound = bad.length === 0 ? records : records.filter((each) => !bad.includes(each));
    const known = sound.some(({ isUnknown }) => isUnknown) ? sound.filter(({ isUnknown }) => !isUnknown) : sound;
    const isNone = bad.length > 0 && how === "said" && this.site.options.importAnswer === "all or none";
    const good = isNone ? [] : takenRecords === null ? known : known.slice(0, takenRecords);
    const words = bad[0]?.problem ?? "";
    if (bad.length > 0 && /^\d+$/.test(how)) return refuse(Number(how), words);
    if (bad.length > 0 && how === "success-false") {
      return answerText(200, JSON.stringify({ success: false, message: words }));
    }
    const stored = this.of(feed);
    const changed = good.filter(({ place, text }) => stored.get(place) !== text).length;
    const unknown = this.site.options.unknownArticles === "silent" ? [] : unknownOf(sound);
    const named = [...bad, ...unknown];
    const effect: ImportEffect = {
      kind: "import",
      feed,
      accepted: good.map(({ key, text }) => ({ key, record: text })),
      rejected: (isNone ? records : named).map(({ key, problem = words }) => ({ key, message: problem })),
      untaken: isNone ? [] : known.slice(good.length).map(({ key }) => key),
      changed,
    };
    const answer = this.answerOf(records, { bad, unknown, good, sound, changed }, feed);
    return { ...answer, effect, commit: () => this.accept(good, feed, feedOptions) };
  }

  private answerOf(records: readonly ImportRecord[], judged: Judged, feed: Feed): Plan {
    const { unknownArticles, importCounts, reject } = this.site.options;
    const { bad, unknown, good, sound, changed } = judged;
    const isSilent = unknownArticles === "silent";
    const accepted = isSilent ? good.length + sound.filter(({ isUnknown }) => isUnknown).length : good.length;
    const taken = importCounts === "changed" ? changed : accepted;
    const listed = [...(reject.how === "said" ? [] : bad), ...(unknownArticles === "errors" ? unknown : [])];
    const said =
      unknown.length === 0 ? records : records.map((each) => unknown.find(({ key }) => key === each.key) ?? each);
    return this.acceptance(accepted, changed, listed) ?? this.sayOf(said, { good: accepted, taken }, feed);
  }

  /** Undefined where the answer reports each record. */
  private acceptance(accepted: number, changed: number, listed: readonly ImportRecord[]): Plan | undefined {
    if (listed.length > 0) {
      const errors = listed.map(({ named, problem }) => `{${named},"message":${JSON.stringify(problem)}}`);
      return answerText(200, `{"accepted":${accepted},"errors":[${errors.join(",")}]}`);
    }
    switch (this.site.options.importAnswer) {
      case "counts":
        return answerText(200, `{"accepted":${accepted},"errors":[]}`);
      case "changes":
        return answerText(200, `{"status":"ok","updated":${changed}}`);
      case "success":
        return answerText(200, '{"success":true}');
      case "empty":
        return answerText(200, "");
      case "text":
        return answerText(200, "OK", TEXT_TYPE);
      default:
        return undefined;
    }
  }

  /** @param counts the accepted records, and those that a count without a meaning counts */
  private sayOf(records: readonly ImportRecord[], counts: { good: number; taken: number }, feed: Feed): Plan {
    const bad = records.filter(({ problem }) => problem !== undefined).map(({ sku }) => sku);
    const [good, all] = [records.length - bad.length, records.length];
    const { taken } = counts;
    const { importAnswer } = this.site.options;
    const counted = COUNTED[importAnswer];
    if (counted !== undefined) return answerText(200, JSON.stringify(counted(all, counts.good)));
    switch (importAnswer) {
      case "progress":
        return answerText(200, JSON.stringify({ status: "ok", progress: `${good}/${all}` }));
      case "of":
        return answerText(200, `updated ${good} of ${all}`, TEXT_TYPE);
      case "number":
        return answerText(200, `${taken}`);
      case "words":
        return answerText(200, `Загружено строк: ${taken}`, TEXT_TYPE);
      case "rows":
        return answerText(200, JSON.stringify({ success: true, rows: taken }));
      case "count":
        return answerText(200, JSON.stringify({ ok: true, count: taken }));
      case "ok":
        return answerText(200, `OK ${taken}`, TEXT_TYPE);
      case "loaded":
        return answerText(200, `Загружено: ${taken}`, TEXT_TYPE);
      case "sentence":
        return answerText(200, JSON.stringify({ success: true, message: sentenceOf(good, bad.length) }));
      case "lacking":
        return answerText(200, `Обновлено: ${good}, не найдено: ${bad.length}`, TEXT_TYPE);
      default:
        return answerText(200, this.sayOfEach(records, bad, feed));
    }
  }

  private sayOfEach(records: readonly ImportRecord[], bad: readonly string[], feed: Feed): string {
    const { importAnswer, imports } = this.site.options;
    const [name = ""] = imports[feed].key;
    switch (importAnswer) {
      case "missing":
        return JSON.stringify({ status: "ok", not_found: bad });
      case "unknown":
        return JSON.stringify({ ok: true, unknown: bad });
      case "warnings":
        return JSON.stringify({ status: "ok", warnings: warningsOf(records) });
      case "each":
        return JSON.stringify({
          results: records.map(({ sku, problem }) => ({ [name]: sku, status: problem === undefined ? 200 : 404 })),
        });
      case "flags":
        return JSON.stringify({ items: records.map(({ sku, problem }) => ({ [name]: sku, exists: !problem })) });
      case "ids":
        return JSON.stringify({ items: records.map(({ sku, problem }) => ({ [name]: sku, id: problem ? null : 7 })) });
      case "results":
        return JSON.stringify({
          items: records.map(({ sku, problem }) => ({ [name]: sku, result: problem ? null : "ok" })),
        });
      case "codes":
        return JSON.stringify({ items: records.map(({ sku, problem }) => ({ [name]: sku, res: problem ? -1 : 0 })) });
      case "bare":
        return `{"items":[${records.map(({ sku, problem, text }) => (problem ? JSON.stringify({ [name]: sku }) : text)).join(",")}]}`;
      case "by-key":
        return JSON.stringify(
          Object.fromEntries(records.map(({ sku, problem }) => [sku, problem === undefined ? "OK" : "NOT_FOUND"])),
        );
      case "outcomes":
        return JSON.stringify({
          success: true,
          results: records.map((each) => ({ [name]: each.sku, status: this.outcomeOf(each, feed) })),
        });
      case "outcomes in order":
        return JSON.stringify({ success: true, results: records.map((each) => this.outcomeOf(each, feed)) });
      case "updated":
        return JSON.stringify({
          items: records.map((each) => {
            const outcome = this.outcomeOf(each, feed);
            const isUpdated = outcome === "created" || outcome === "updated";
            return { [name]: each.sku, updated: isUpdated, ...(each.problem && { reason: outcome }) };
          }),
        });
      case "note":
        return JSON.stringify({
          status: "ok",
          note: bad.length === 0 ? "Saved." : `Saved. Unknown: ${bad.join(", ")}.`,
        });
      default:
        return `{${JSON.stringify(imports[feed].property)}:[${records.map((each) => this.echoOf(each, feed)).join(",")}]}`;
    }
  }

  private outcomeOf({ place, text, problem }: ImportRecord, feed: Feed): string {
    if (problem !== undefined) return "not_found";
    const stored = this.of(feed).get(place);
    if (stored === undefined) return "created";
    return stored === text ? "unchanged" : "updated";
  }

  /** The record is already stored unchanged. */
  private isEchoed(record: ImportRecord, feed: Feed): boolean {
    const { reject, importAnswer } = this.site.options;
    return reject.how === "said" && importAnswer === "echo" && this.echoOf(record, feed) === record.text;
  }

  /** The record as stored now: a refused one in its former version, or without values. */
  private echoOf({ place, text, problem }: ImportRecord, feed: Feed): string {
    if (problem === undefined) return text;
    return this.of(feed).get(place) ?? text.replace(/:\d[\d.]*(?=[,}])/g, ":0");
  }

  private accept(good: readonly ImportRecord[], feed: Feed, feedOptions: ImportOptions): void {
    const site = this.of(feed);
    if (feedOptions.replace) site.clear();
    for (const { place, text } of good) site.set(place, text);
    if (feed !== "catalog" || !this.site.options.inactiveLeave) return;
    for (const { place, text } of good) if (isInactive(text)) this.leave(place);
  }

  /** The article leaves the site. */
  private leave(article: string): void {
    const [sku] = JSON.parse(article) as [unknown];
    for (const [feed, records] of this.records)
      for (const key of feed === "catalog" ? [] : [...records.keys()])
        if ((JSON.parse(key) as unknown[])[0] === sku) records.delete(key);
  }
}
