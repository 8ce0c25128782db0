/*
 * The part of `probe` about changes: which forms of `since` the service understands, whether its boundary is inclusive,
 * and where an answer has its changes. Reads only; GET /orders/updates has no effect on the service.
 */

import { formatTimestamp, parseTimestamp } from "../answers/timestamp.ts";
import {
  ISO_FORM,
  isText,
  nameOf,
  namesZone,
  OTHER_FORMS,
  type TimestampForm,
  zoneWords,
} from "../answers/timestamp-form.ts";
import { m } from "../messages/messages.ts";
import { DAY_MS, MS_NS } from "../platform/durations.ts";
import type { OrderField } from "../records/order-mapping.ts";
import { fetchUpdates } from "../service/orders.ts";
import type { SinceForm } from "../updates/pages/follow.ts";
import {
  describeShape,
  type FoundList,
  findNamed,
  guessOrderFields,
  guessRecordList,
  valueAt,
} from "./guess-fields.ts";
import { type Outcome, type Probe, parsed } from "./probe.ts";

const FORMS: readonly SinceForm[] = ["iso", "unix", "unix_ms"];
/** Periods to look back, tried in turn until changes are found. */
const WINDOWS_MS = [DAY_MS, 30 * DAY_MS] as const;
/** Statuses that may mean that a parameter was not understood. */
const REFUSALS: readonly number[] = [400, 404, 422];
const GARBAGE = "erp-bridge-probe";

interface Page {
  root: unknown;
  items: unknown[];
}

/** Returns the changes of the fullest answer, for the other probes to compare with. */
export async function probeUpdates(probe: Probe): Promise<unknown[]> {
  const { report, asker } = probe;
  probe.progress(m.probe.askingUpdates);
  const garbage = await askUpdates(probe, GARBAGE);
  if (asker.blocked.has("orders")) return [];
  const garbageRefused = garbage.state === "refused" && REFUSALS.includes(garbage.status);
  if (garbage.state === "refused" && garbageRefused) {
    report.found("errors", m.probe.badSinceRefused({ status: garbage.status, words: garbage.words }));
  }
  const nowMs = Math.floor(Date.parse(probe.client.lastDate ?? "") || probe.clock.nowMs());
  const refused = new Set<SinceForm>();
  const pages = new Map<SinceForm, Page>();
  // Before any time of the service is known, its refusal shows that it takes no ISO text.
  let text = probe.known?.learned.form ?? ISO_FORM;
  for (const window of WINDOWS_MS) {
    for (const form of FORMS) {
      if (refused.has(form) || asker.blocked.has("orders")) continue;
      let page = await askPage(probe, writeSince(probe, form, nowMs - window, text));
      const others = form === "iso" && text === ISO_FORM ? OTHER_FORMS : [];
      for (const other of others) {
        if (page !== "refused") break;
        page = await askPage(probe, writeSince(probe, form, nowMs - window, other));
        if (page !== "refused") text = other;
      }
      if (page === "refused") refused.add(form);
      else if (page !== undefined) pages.set(form, page);
    }
    if ([...pages.values()].some(({ items }) => items.length > 0)) break;
  }
  const understood = await judgeForms(probe, { nowMs, text, pages, refused, garbageRefused });
  const best = [...pages.values()].sort((a, b) => b.items.length - a.items.length)[0];
  if (best === undefined) return [];
  reportShape(probe, best);
  if (understood !== undefined) await probeBoundary(probe, best, understood);
  return best.items;
}

function askUpdates({ asker }: Probe, since: string): Promise<Outcome> {
  return asker.ask("orders", (client, signal) => fetchUpdates(client, since, signal));
}

/** Undefined where there was no answer, or a refusal that does not concern the form. */
async function askPage(probe: Probe, since: string): Promise<Page | "refused" | undefined> {
  const outcome = await askUpdates(probe, since);
  if (outcome.state === "refused") return REFUSALS.includes(outcome.status) ? "refused" : undefined;
  if (outcome.state === "silent") return undefined;
  if (outcome.status === 204) return { root: null, items: [] };
  const root = parsed(outcome.answer);
  return { root, items: listOf(probe, root)?.items ?? [] };
}

function listOf({ config }: Probe, root: unknown): FoundList | undefined {
  const { changes } = config.updates;
  const configured = valueAt(root, changes);
  return Array.isArray(configured) ? { path: changes, items: configured } : guessRecordList(root);
}

function writeSince({ config }: Probe, form: SinceForm, ms: number, text: TimestampForm): string {
  if (form === "unix") return String(Math.floor(ms / 1000));
  if (form === "unix_ms") return String(ms);
  return formatTimestamp(BigInt(ms) * MS_NS, text, config.service.timezone);
}

interface FormEvidence {
  nowMs: number;
  /** The text that `iso` means. */
  text: TimestampForm;
  pages: ReadonlyMap<SinceForm, Page>;
  refused: ReadonlySet<SinceForm>;
  garbageRefused: boolean;
}

/**
 * Decides which forms are understood. A form is proved where a time in the past returns changes and one in the future
 * none.
 */
async function judgeForms(probe: Probe, evidence: FormEvidence): Promise<SinceForm | undefined> {
  const { report, config } = probe;
  const proved: SinceForm[] = [];
  const likely: SinceForm[] = [];
  for (const form of evidence.refused) report.found("since", m.probe.formRefused({ form }));
  for (const [form, page] of evidence.pages) {
    if (page.items.length === 0) {
      if (evidence.garbageRefused) likely.push(form);
      report.notFound(
        "since",
        evidence.garbageRefused ? m.probe.formEmptyLikely({ form }) : m.probe.formEmpty({ form }),
      );
      continue;
    }
    const future = await askPage(probe, writeSince(probe, form, evidence.nowMs + DAY_MS, evidence.text));
    if (future === undefined) continue;
    const isHeeded = future === "refused" || future.items.length === 0;
    if (isHeeded) {
      proved.push(form);
      report.found("since", m.probe.formUnderstood({ form }));
    } else report.notFound("since", m.probe.formIgnored({ form }));
  }
  const wanted = config.updates.since;
  const candidates = proved.length > 0 ? proved : likely;
  if (proved.length === 0) report.needsYou("since", m.probe.noFormProved);
  const chosen = candidates.includes(wanted) ? wanted : candidates[0];
  if (chosen !== undefined && chosen !== wanted)
    report.found("since", m.probe.sinceShouldBe({ form: chosen }), { "updates.since": chosen });
  return proved.length > 0 ? chosen : undefined;
}

function reportShape(probe: Probe, { root, items }: Page): void {
  const { report, config } = probe;
  const list = listOf(probe, root);
  if (list === undefined) {
    report.needsYou("bodies", m.probe.changesUnrecognised({ shape: describeShape(root) }));
    return;
  }
  const fact = m.probe.changesUnder({ path: list.path });
  if (list.path === config.updates.changes) report.found("bodies", m.probe.asConfigured({ fact }));
  else report.found("bodies", fact, { "updates.changes": list.path });
  const tokens = findNamed(root, list.path, /next|cursor|since|token/);
  if (tokens.length > 0 && config.updates.next === null) {
    report.needsYou("bodies", m.probe.besideChanges({ paths: tokens }));
  }
  if (items.length === 0) return;
  report.found("bodies", m.probe.changeShape({ shape: describeShape(items[0]) }));
  reportEntryFields(probe, items);
  reportTimestamps(probe, items);
}

/** Fields that have other names in a change than in an order. */
function reportEntryFields({ report, config }: Probe, items: readonly unknown[]): void {
  const paths = entryPaths(config);
  const guesses = guessOrderFields(items, paths);
  for (const field of ["order_id", "status", "updated_at", "lines"] as const) {
    const guess = guesses[field];
    if (guess.state === "guess")
      report.found("bodies", m.probe.changeField({ field, path: guess.path }), {
        [`updates.fields.${field}`]: guess.path,
      });
  }
}

function entryPaths(config: Probe["config"]): Record<OrderField, string> {
  const own = Object.fromEntries(Object.entries(config.updates.fields).filter(([, path]) => path !== undefined));
  return { ...config.orders.fields, ...own } as Record<OrderField, string>;
}

function timestampPathOf({ config }: Probe, items: readonly unknown[]): string | undefined {
  const paths = entryPaths(config);
  const guess = guessOrderFields(items, paths).updated_at;
  return guess.state === "fits" ? paths.updated_at : guess.state === "guess" ? guess.path : undefined;
}

function timestampsOf(probe: Probe, items: readonly unknown[]): string[] {
  const path = timestampPathOf(probe, items);
  if (path === undefined) return [];
  return items
    .map((item) => valueAt(item, path))
    .filter((value) => typeof value === "string" || typeof value === "number")
    .map(String);
}

function reportTimestamps(probe: Probe, items: readonly unknown[]): void {
  const { report, config } = probe;
  const zone = config.service.timezone;
  const timestamps = timestampsOf(probe, items);
  const [first] = timestamps;
  const form = first === undefined ? undefined : parseTimestamp(first, zone)?.form;
  if (form === undefined) {
    report.needsYou("since", m.probe.noTimestamp);
    return;
  }
  const zoneText = isText(form) ? zoneWords(form) : null;
  report.found("since", m.probe.timestamps({ form: nameOf(form), digits: form.fraction, zone: zoneText }));
  if (!namesZone(form)) {
    report.needsYou("since", m.probe.zoneAssumed({ zone }));
  }
  const times = timestamps.map((timestamp) => parseTimestamp(timestamp, zone)?.instantNs ?? 0n);
  const rises = times.every((at, index) => index === 0 || at >= (times[index - 1] ?? 0n));
  if (times.length > 1) report.found("since", rises ? m.probe.oldestFirst : m.probe.unordered);
}

/**
 * Asks from exactly the newest timestamp: if the boundary is inclusive, the change with that timestamp is returned
 * again.
 */
async function probeBoundary(probe: Probe, page: Page, form: SinceForm): Promise<void> {
  const { report, config } = probe;
  const zone = config.service.timezone;
  const parsedTimestamps = timestampsOf(probe, page.items).flatMap((text) => {
    const timestamp = parseTimestamp(text, zone);
    return timestamp === undefined ? [] : [{ text, ns: timestamp.instantNs }];
  });
  const newest = parsedTimestamps.sort((a, b) => (a.ns < b.ns ? 1 : -1))[0];
  if (newest === undefined) return;
  const unit = form === "unix" ? 1_000_000_000n : form === "unix_ms" ? MS_NS : 1n;
  if (newest.ns % unit !== 0n) {
    report.notFound("since", m.probe.boundaryUnknown({ form }));
    return;
  }
  const since = form === "iso" ? newest.text : String(newest.ns / unit);
  const again = await askPage(probe, since);
  if (again === undefined || again === "refused") return;
  const repeats = timestampsOf(probe, again.items).some((text) => parseTimestamp(text, zone)?.instantNs === newest.ns);
  report.found("since", repeats ? m.probe.inclusive : m.probe.exclusive);
}
