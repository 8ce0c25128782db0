/* Which tables and queries may be the source of a feed, as far as the text alone shows. */

import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

/** Tables and views of the bridge. Those of the feeds are missing here, because the ERP writes them. */
export const OWN_NAMES: ReadonlySet<string> = new Set([
  ...[
    "__drizzle_migrations",
    "batches",
    "body_parts",
    "compared_orders",
    "erp_orders",
    "erp_queue",
    "feed_dirty",
    "feed_drops",
  ],
  ...[
    "conditions",
    "feed_former",
    "feed_outbox",
    "feed_sent",
    "feed_writes",
    "feeds",
    "flows",
    "holds",
    "first_looks",
    "image_files",
    "later_reads",
    "matched_paths",
    "meta",
    "missing_orders",
  ],
  ...["observations", "order_event_rows", "order_line_rows", "orders", "owed_reads", "pull_mark", "quarantine", "runs"],
  ...["repeat_reads", "unjournaled_bodies"],
  ...["learned_answers", "stored_messages", "mirror_changes", "mirror_requests", "mirror_state"],
  ...["seen_changes", "status_requests", "sync_requests", "watermarks", "sync_status"],
  ...["stock_sent", "prices_sent", "products_sent", "images_sent", "orders_blocked", "orders_pending", "orders_wide"],
  ...["order_events", "order_lines", "order_lines_wide", "kept_bodies"],
]);

/** Why the table cannot be a source; null where it can. */
export function tableProblem(table: string, isOwnFile: boolean): Message | null {
  if (/^(sqlite|pragma)_/i.test(table)) return m.config.tableOfSqlite;
  if (isOwnFile && OWN_NAMES.has(table.toLowerCase())) return m.config.tableOfBridge;
  return null;
}

/** What is wrong with a SELECT before SQLite has checked it; null where nothing is. */
export function queryProblem(query: string): Message | null {
  let hasEnded = false;
  let word = "";
  for (const [token] of query.matchAll(SQL_TOKENS)) {
    if (/^(\s|--|\/\*)/.test(token)) continue;
    if (hasEnded && token !== ";") return m.config.twoStatements;
    hasEnded = token === ";";
    if (token === "(" && word === "load_extension") return m.config.loadsExtension;
    word = token.replace(/^["'`[]|["'`\]]$/g, "").toLowerCase();
  }
  return null;
}

/** Tokens as SQLite reads them; an unterminated one extends to the end of the text. */
export const SQL_TOKENS =
  /\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`(?:[^`]|``)*(?:`|$)|\[[^\]]*(?:\]|$)|[\w$\u0080-\uffff]+|[\s\S]/g;
