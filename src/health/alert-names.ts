/*
 * Names of alerts in messages to programs. They are older than the codes, and receivers filter by them, so they stay;
 * the program itself uses the codes of conditions.
 */

import { CONDITIONS, type Code, codeOfHold } from "./condition-traits.ts";
import { type Condition, keyOf } from "./conditions.ts";
import type { Notified } from "./plan-alerts.ts";

/** Alerts about quarantine are named by the kind of record, which is older than the flow. */
const KINDS: Readonly<Record<string, string>> = { orders: "order", updates: "change", reconcile: "payload" };
const FLOWS: Readonly<Record<string, string>> = {
  order: "orders",
  change: "updates",
  snapshot: "updates",
  payload: "reconcile",
};

/** Null where the condition sends no notification. */
export function alertNameOf({ code, subject, params }: Condition): string | null {
  const { alert } = CONDITIONS[code];
  if (code === "quarantined") return `quarantine ${KINDS[subject] ?? subject}`;
  if (code === "hold_other") return `hold ${subject} ${params.reason}`;
  return alert === null ? null : (alert as string).replace("$", subject);
}

const SUBJECTS: Partial<Record<Code, string>> = {
  database_trouble: "database",
  reload_failed: "configuration",
  credential_replaced: "machine",
  unread_batches: "orders",
  refused_confirms: "orders",
  large_confirms: "orders",
  unnamed_batches: "orders",
  late_reads: "updates",
  unlisted_changes: "updates",
  unsent_statuses: "statuses",
  unsettled_statuses: "statuses",
  refused_statuses: "statuses",
  blocked_orders: "erp",
  orders_untaken: "erp",
  erp_objects: "machine",
  clock_off: "machine",
  log_grown: "database",
};

/**
 * The key of a condition that a former version stored by its alert name; undefined where the name is already a key, or
 * unknown.
 */
function keyOfName(name: string): string | undefined {
  const [, kind, subject = "", reason = ""] = /^(hold|flow|quarantine|erp writes) (\S+)(?: (.+))?$/.exec(name) ?? [];
  if (kind === "hold") return keyOf({ code: codeOfHold(reason), subject });
  if (kind === "flow") return keyOf({ code: "flow_stale", subject });
  if (kind === "quarantine") return keyOf({ code: "quarantined", subject: FLOWS[subject] ?? subject });
  if (kind === "erp writes") return keyOf({ code: "erp_silent", subject });
  const found = Object.entries(SUBJECTS).find(([code]) => CONDITIONS[code as Code].alert === name);
  return found === undefined ? undefined : keyOf({ code: found[0] as Code, subject: found[1] });
}

/** Converts what a former version has notified to the keys of this one, so that an upgrade repeats no notification. */
export function carriedOver(notified: Notified): Notified {
  const open: Notified["open"] = {};
  for (const [name, entry] of Object.entries(notified.open)) {
    const key = keyOfName(name) ?? name;
    const level = entry.level + (open[key]?.level ?? 0);
    open[key] = { ...entry, level, subject: open[key]?.subject ?? entry.subject ?? name };
  }
  const sentMs: Notified["sentMs"] = {};
  for (const [name, times] of Object.entries(notified.sentMs)) {
    const key = keyOfName(name) ?? name;
    sentMs[key] = [...(sentMs[key] ?? []), ...times];
  }
  return { ...notified, open, sentMs };
}
