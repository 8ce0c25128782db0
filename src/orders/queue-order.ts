import { isOlder, isStrictlyNewer } from "../answers/timestamp.ts";
import { isSameName } from "../database/same-name.ts";
import type { Store } from "../database/store.ts";
import type { MachineTime } from "../pass/machine-clock.ts";
import { loadQueuedRead, type QueuedRead, queueRead, renewRead, URGENCY, type Urgency } from "../pass/position-rows.ts";
import { fieldOf } from "../records/same-order.ts";
import { storeOvertaken } from "./cancellation.ts";
import { loadOrderStatus } from "./order-rows.ts";
import type { OrderRules } from "./order-rules.ts";
import { stateOfStatus } from "./plan-order.ts";

/**
 * Queues a read of an order. A queued cancellation stays if the new record is older (from a replica or a batch), and is
 * stored if the new record is later. A change that is later than the queued record, or replaces one from a batch or
 * none, makes the read due immediately: earlier failures were about older content.
 */
export function queueOrderRead(
  { store, rules }: { store: Store; rules: OrderRules },
  read: Omit<QueuedRead, "attempts">,
  now: MachineTime,
): void {
  const { orderId } = read;
  const said = { text: read.record, mapping: rules[read.source] };
  const [status = null, timestamp = null] = [fieldOf(said, "status"), fieldOf(said, "updated_at")];
  storeOvertaken({ store, rules }, { orderId, status, timestamp, at: now.at });
  const waiting = loadQueuedRead(store, orderId);
  if (waiting !== undefined && isOlderThanCancelled(rules, read, waiting)) return;
  queueRead(store, { ...read, urgency: urgencyOf({ store, rules }, { orderId, status }) }, now);
  if (waiting === undefined || read.source !== "update") return;
  if (waiting.source === "batch" || isLaterThan(rules, { waiting, timestamp })) renewRead(store, orderId);
}

/**
 * After a job that touches all orders of the service, thousands of reads bring nothing that the ERP acts on. A record
 * without a status may be of any change, and an order that is not stored, or marked as removed, is news by itself.
 */
function urgencyOf(
  { store, rules }: { store: Store; rules: OrderRules },
  { orderId, status }: { orderId: string; status: string | null },
): Urgency {
  const stored = loadOrderStatus(store, orderId);
  if (stored === undefined || stored.isRemoved || status === null) return URGENCY.otherStatus;
  if (isSameName(status, stored.status)) return URGENCY.sameStatus;
  return stateOfStatus(status, rules.plan).isCancelled && !stored.isCancelled ? URGENCY.cancels : URGENCY.otherStatus;
}

function isLaterThan(rules: OrderRules, { waiting, timestamp }: { waiting: Read; timestamp: string | null }): boolean {
  if (waiting.record === "") return true;
  const known = fieldOf({ text: waiting.record, mapping: rules[waiting.source] }, "updated_at") ?? null;
  return isStrictlyNewer(timestamp, known, rules.plan.timezone);
}

type Read = Pick<QueuedRead, "record" | "source">;

function isOlderThanCancelled(rules: OrderRules, read: Read, waiting: Read): boolean {
  const say = ({ record, source }: Read, field: "status" | "updated_at") =>
    fieldOf({ text: record, mapping: rules[source] }, field) ?? null;
  const isCancelled = (each: Read) => stateOfStatus(say(each, "status"), rules.plan).isCancelled;
  if (waiting.record === "" || !isCancelled(waiting) || isCancelled(read)) return false;
  return isOlder(say(read, "updated_at"), say(waiting, "updated_at"), rules.plan.timezone);
}
