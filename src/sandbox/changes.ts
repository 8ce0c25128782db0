import { type Property, writeObject } from "./json-text.ts";
import { answerText, type Plan, refuse } from "./messages.ts";
import type { SandboxOptions } from "./options.ts";
import type { OrderVersion, StoredOrder } from "./order-book.ts";
import { changeText, orderText } from "./order-text.ts";
import { shuffled } from "./random.ts";
import { emptyAnswer, type Site, shuffleOf } from "./site.ts";
import { readTimestamp, truncateUs, writeTimestamp } from "./timestamps.ts";

interface Change {
  readonly order: StoredOrder;
  readonly version: OrderVersion;
}

/** The start of the requested changes: a time, or a cursor from an earlier answer. */
type Since = { readonly us: number } | { readonly seq: number };

const CURSOR = /^cursor-(\d+)$/;

function readSince(value: string, options: SandboxOptions): Since | undefined {
  const [, seq] = CURSOR.exec(value) ?? [];
  if (seq !== undefined && usesCursor(options)) return { seq: Number(seq) };
  if (value === "") return { us: Number.NEGATIVE_INFINITY };
  const us = readTimestamp(value, options.updates.since, options);
  return us === undefined ? undefined : { us };
}

function usesCursor(options: SandboxOptions): boolean {
  return options.updates.next !== null && options.updates.nextForm === "cursor";
}

/** All changes that the feed can list, before `since` is applied. */
function* allChanges(site: Site): Generator<Change> {
  const { scope, history, created } = site.options.updates;
  for (const order of site.book.all()) {
    if (order.deleted || (scope === "handed-out" && !order.handedOut) || (scope === "confirmed" && !order.confirmed))
      continue;
    const versions = listed(created ? order.versions : order.versions.slice(1), site);
    for (const version of history === "log" ? versions : versions.slice(-1)) yield { order, version };
  }
}

/** The versions to list, where the feed lags behind the orders. */
function listed(versions: readonly OrderVersion[], { options, now }: Site): readonly OrderVersion[] {
  const { lagMs, lagStamp } = options.updates;
  if (lagMs === 0) return versions;
  const shown = versions.filter(({ madeAtMs }) => madeAtMs + lagMs <= now());
  if (lagStamp === "order") return shown;
  const later = (us: number) => truncateUs(us + lagMs * 1000, options.precision);
  return shown.map((version) => ({ ...version, timestampUs: later(version.timestampUs) }));
}

/** Whether a change is due. A change that is listed late has an old timestamp, so only a cursor finds it reliably. */
function isDue({ version }: Change, since: Since, options: SandboxOptions): boolean {
  if (options.updates.stuck === "same-page") return true;
  if ("seq" in since) return version.seq > since.seq;
  return options.updates.boundary === "inclusive" ? version.timestampUs >= since.us : version.timestampUs > since.us;
}

/** The oldest or newest due changes: by timestamp, or by sequence where the service issues cursors. */
function duePage(since: Since, site: Site): { page: Change[]; total: number } {
  const { options } = site;
  if (options.updates.stuck === "empty") return { page: [], total: 0 };
  const due = [...allChanges(site)].filter((change) => isDue(change, since, options));
  const bySeq = (a: Change, b: Change) => a.version.seq - b.version.seq;
  const byTimestamp = (a: Change, b: Change) => a.version.timestampUs - b.version.timestampUs || bySeq(a, b);
  const { pageLimit, keeps } = options.updates;
  due.sort(keeps === "first-ids" ? byId : usesCursor(options) ? bySeq : byTimestamp);
  return { page: keeps === "newest" ? due.slice(-pageLimit) : due.slice(0, pageLimit), total: due.length };
}

function byId(a: Change, b: Change): number {
  return a.order.id < b.order.id ? -1 : a.order.id > b.order.id ? 1 : a.version.seq - b.version.seq;
}

/** The counts beside the list. */
function countsOf(total: number, { options, book }: Site): Property[] {
  const { pageLimit, counts } = options.updates;
  if (counts === "none") return [];
  if (counts === "orders") return [{ path: ["total"], text: String([...book.all()].length) }];
  if (counts === "link")
    return [{ path: ["next_page"], text: total > pageLimit ? '"/api/v1/1c/orders/updates?page=2"' : "null" }];
  if (counts === "total") return [{ path: ["total"], text: String(total) }];
  return [
    { path: ["page"], text: "1" },
    { path: ["pages"], text: String(Math.ceil(total / pageLimit)) },
  ];
}

function sorted(page: readonly Change[], site: Site): readonly Change[] {
  switch (site.options.updates.order) {
    case "ascending":
      return page;
    case "descending":
      return page.toReversed();
    case "shuffled":
      return shuffled(site.random, page);
    case "ids":
      return page.toSorted(byId);
  }
}

/** The JSON text of the next `since`: after the page, or the requested one where the page is empty. */
function nextText(page: readonly Change[], asked: string, options: SandboxOptions): string {
  const last = page.at(-1)?.version;
  if (last === undefined) return JSON.stringify(asked);
  return usesCursor(options) ? `"cursor-${last.seq}"` : writeTimestamp(last.timestampUs, options);
}

/** GET /orders/updates: the changes since a time, at most one page. */
export function planUpdates(query: string, site: Site): Plan {
  const { options } = site;
  const asked = new URLSearchParams(query).get("since");
  const isMissing = asked === "" && options.updates.emptySince === "refused";
  if (asked === null || isMissing) return refuse(400, "the parameter since is missing");
  const since = readSince(asked, options);
  if (since === undefined) return refuse(400, `since is not a time: ${JSON.stringify(asked)}`);
  const { sinceAgeMax } = options.updates;
  if (sinceAgeMax !== null && "us" in since && since.us < (site.now() - sinceAgeMax) * 1000)
    return refuse(400, `since is too old: ${JSON.stringify(asked)}`);
  const { page, total } = duePage(since, site);
  const { next, carry } = options.updates;
  const path = options.shape.updates;
  const beside: Property[] = [
    ...(next === null ? [] : [{ path: next, text: nextText(page, asked, options) }]),
    ...countsOf(total, site),
  ];
  if (page.length === 0) {
    const empty = emptyAnswer(path, site);
    const body = empty.path.length === 0 ? empty.text : writeObject([empty, ...beside]);
    return answerText(empty.status, body);
  }
  const served = sorted(page, site).map(({ order, version }) => {
    const settings = { options, version, ...shuffleOf(site) };
    const whole = carry === "whole" || version.content.raw !== null;
    return {
      orderId: order.id,
      text: whole ? orderText(order, settings) : changeText(order, version, settings),
      whole,
    };
  });
  const list = `[${served.map(({ text }) => text).join(",")}]`;
  const body = path.length === 0 ? list : writeObject([{ path, text: list }, ...beside]);
  return { ...answerText(200, body), served };
}
