/* For a service that is sent the whole table in each request: the acknowledged rows, overlaid by the waiting ones. Never divided. */
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";
import { ServiceError } from "../../service/service-error.ts";
import type { FeedContext } from "../diff/absorb-feed.ts";
import type { FeedRules } from "../feed.ts";
import type { OutboxRow } from "../feed-outbox.ts";
import { placeOf, textAt } from "../record-identity.ts";
import { wordsOf } from "./refusal-trial.ts";
import type { Entry, Named, Outcome, SendPass } from "./send-pass.ts";
import { entryOf, type SendRequest } from "./send-request.ts";
import { loadPresent, loadUnknown } from "./whole-rows.ts";

/** Each is the whole table, without the records that were refused by name before. */
const REQUESTS_MAX = 20;

/** @throws ServiceError where the table is refused as a whole */
export async function sendWhole(
  context: FeedContext,
  rules: FeedRules,
  { request, pass, rows }: { request: SendRequest; pass: SendPass; rows: readonly OutboxRow[] },
): Promise<Outcome & { kind: "accepted" }> {
  const named: Named[] = [];
  const names = new Set<string>();
  const isUnnamed = (one: { key: readonly string[] }) => !names.has(nameOf(one));
  let outcome: Outcome;
  // A service may name only the first record that it refuses.
  for (let requests = 1; ; requests++) {
    const rest = rows.filter(isUnnamed);
    outcome = await request.send(pass, rest, wholeTable(context, rules, rest).filter(isUnnamed));
    if (outcome.kind !== "partial" || requests === REQUESTS_MAX) break;
    named.push(...outcome.named);
    for (const one of outcome.named) names.add(nameOf(one));
  }
  if (outcome.kind === "accepted") outcome = { ...outcome, named: [...named, ...outcome.named] };
  if (outcome.kind === "accepted" && outcome.accepted > 0) return outcome;
  const { path } = rules;
  const { status } = outcome;
  const words = outcome.kind === "accepted" ? (outcome.named[0]?.words ?? "") : outcome.words;
  throw new ServiceError(
    outcome.kind === "refused" ? outcome.code : "request_refused",
    m.feeds.wholeRefused({ path, words: wordsOf({ status, words }) }),
    { area: "imports", method: "POST", path, status, words, effect: "unknown" },
  );
}

/** The records of the table. @param waiting rows whose newest values are sent with this request */
export function wholeTable({ store }: FeedContext, rules: FeedRules, waiting: readonly OutboxRow[]): Entry[] {
  const seen = new Set(waiting.map(nameOf));
  const isNew = (one: { key: readonly string[] }) => !seen.has(nameOf(one)) && seen.add(nameOf(one));
  // Records that may be on the site stay until their deletion is due. An unanswered record is newer than the acknowledged
  // one; a refused one is used only where nothing was acknowledged.
  const unanswered = loadUnknown(store, rules, { isAnswered: false });
  const refused = loadUnknown(store, rules, { isAnswered: true });
  const kept = [...unanswered, ...loadPresent(store, rules), ...refused].filter(isNew);
  const entries = [
    ...kept.map((entry) => ({ ...entry, row: undefined })),
    ...waiting.filter((row) => !row.gone).map(entryOf),
  ];
  if (entries.length > 0) return parentsFirst(entries, rules);
  throw new BridgeError("table_missing", m.feeds.nothingSendable({ name: rules.name }));
}

/** Sorts records after their parents, whether they wait or were acknowledged; those in a cycle of parents keep their order. */
function parentsFirst(entries: readonly Entry[], { parent, record }: FeedRules): Entry[] {
  if (parent === null) return [...entries];
  const place = placeOf(record, parent);
  const acknowledged = ({ record: sent }: Entry) => (place === undefined ? undefined : textAt(sent, place));
  const parentIn = (entry: Entry) => (entry.row === undefined ? acknowledged(entry) : entry.row.parent);
  const byKey = new Map(entries.flatMap((one) => (one.key.length === 1 ? [[one.key[0] ?? "", one] as const] : [])));
  const ordered = new Set<Entry>();
  for (const entry of entries) {
    const above: Entry[] = [];
    const path = new Set<Entry>();
    for (let at: Entry | undefined = entry; at !== undefined && !ordered.has(at) && !path.has(at); ) {
      path.add(at);
      above.push(at);
      at = byKey.get(parentIn(at) ?? "");
    }
    for (const one of above.reverse()) ordered.add(one);
  }
  return [...ordered];
}

function nameOf({ key }: { key: readonly string[] }): string {
  return JSON.stringify(key);
}
