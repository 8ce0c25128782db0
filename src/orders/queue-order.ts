import { isOlder, isStrictlyNewer } from "../answers/timestamp.ts";
import type { Store } from "../database/store.ts";
import type { MachineTime } from "../pass/machine-clock.ts";
import { loadQueuedRead, type QueuedRead, queueRead, renewRead } from "../pass/position-rows.ts";
import { fieldOf } from "../records/same-order.ts";
import { storeOvertaken } from "./cancellation.ts";
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
  queueRead(store, read, now);
  if (waiting === undefined || read.source !== "update") return;
  if (waiting.source === "batch" || isLaterThan(rules, { waiting, timestamp })) renewRead(store, orderId);
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
