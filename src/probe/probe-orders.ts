/*
 * The part of `probe` about orders: the shape of one order and of kept batches, the names of their fields, the answer
 * for an order that does not exist, the clocks. Reads only, and never asks for new orders.
 */

import { randomUUID } from "node:crypto";
import { readOrderId } from "../answers/uuid.ts";
import { counted } from "../messages/counted.ts";
import { LINE_FIELDS, ORDER_FIELDS } from "../orders/order-mapping.ts";
import { fetchSnapshot } from "../service/orders.ts";
import {
  describeShape,
  findNamed,
  findOrderRoot,
  type Guess,
  guessLineFields,
  guessOrderFields,
  guessRecordList,
  isGroup,
  valueAt,
} from "./guess-fields.ts";
import { type Probe, parsed, parsedText } from "./probe.ts";
import type { ProbeQuestion } from "./probe-report.ts";

const SKEW_WORTH_A_WORD_MS = 5 * 60_000;

/** @param entries changes of the updates answer, which name orders that can be read */
export async function probeOrders(probe: Probe, entries: readonly unknown[]): Promise<void> {
  probe.progress("orders: an unknown one, a known one, and what is stored");
  await probeUnknown(probe);
  const fromBatches = tellBatches(probe);
  const snapshot = await probeSnapshot(probe, entries);
  const stored = (probe.known?.payloads ?? []).map(parsedText).filter(isGroup);
  tellFields(probe, [...(snapshot === undefined ? [] : [snapshot]), ...stored, ...fromBatches]);
  tellClock(probe);
}

async function probeUnknown({ asker, report }: Probe): Promise<void> {
  const outcome = await asker.ask("orders", (client, signal) => fetchSnapshot(client, randomUUID(), signal));
  if (outcome.state === "refused")
    report.add("errors", "found", `an unknown order is answered with ${outcome.status}: ${outcome.words}`);
  if (outcome.state === "answered") {
    report.add(
      "errors",
      "needs you",
      `an unknown order is answered with ${outcome.status} and ${describeShape(parsed(outcome.answer))}: deleted orders cannot be told by it`,
    );
  }
}

/** Bodies of batches that could not be read: the only answers of GET /orders that may be looked at here. */
function tellBatches({ known, report, config }: Probe): unknown[] {
  const records: unknown[] = [];
  for (const body of known?.unreadBodies ?? []) {
    const root = parsedText(body);
    const configured = valueAt(root, config.orders.batch.orders);
    const list = Array.isArray(configured)
      ? { path: config.orders.batch.orders, items: configured }
      : guessRecordList(root);
    if (list === undefined) {
      report.add("bodies", "needs you", `a kept batch is ${describeShape(root)}: no list of orders was recognised`);
      continue;
    }
    const isNew = list.path !== config.orders.batch.orders;
    report.add(
      "bodies",
      "found",
      `a kept batch keeps its orders under ${list.path}`,
      isNew ? { "orders.batch.orders": list.path } : {},
    );
    const ids = findNamed(root, list.path, /^id$|batch/);
    const isIdThere = valueAt(root, config.orders.batch.id) !== undefined;
    const [id] = ids;
    if (!isIdThere && id !== undefined && ids.length === 1)
      report.add("bodies", "found", `and its own id under ${id}`, { "orders.batch.id": id });
    records.push(...list.items);
  }
  if (records.length === 0 && known !== undefined && known.batches.length > 0 && known.unreadBodies.length === 0) {
    report.add("bodies", "found", "GET /orders is read as configured: no batch is kept unread");
  }
  return records;
}

async function probeSnapshot(probe: Probe, entries: readonly unknown[]): Promise<unknown> {
  const { asker, report, config } = probe;
  const order = probe.known?.order ?? orderOf(probe, entries);
  if (order === undefined) {
    report.add("bodies", "not found", "GET /orders/{order_id}: no order is known yet that could be read");
    return undefined;
  }
  const outcome = await asker.ask("orders", (client, signal) => fetchSnapshot(client, order.serviceId, signal));
  if (outcome.state === "refused")
    report.add(
      "bodies",
      "needs you",
      `GET /orders/{order_id} of a known order is refused with ${outcome.status}: ${outcome.words}`,
    );
  if (outcome.state !== "answered") return undefined;
  const root = parsed(outcome.answer);
  const wanted = config.updates.snapshot;
  const idPaths = [config.orders.fields.order_id, "$.order_id", "$.id", "$.uuid"];
  const places = idPaths.map((path) => findOrderRoot(root, order.orderId, path));
  const place = places.includes(wanted) ? wanted : places.find((one) => one !== undefined);
  if (place === undefined) {
    report.add(
      "bodies",
      "needs you",
      `GET /orders/{order_id} answers ${describeShape(root)}: the order was not recognised in it`,
    );
    return undefined;
  }
  const fact = `GET /orders/{order_id} keeps the order under ${place}`;
  report.add(
    "bodies",
    "found",
    place === wanted ? `${fact}, as configured` : fact,
    place === wanted ? {} : { "updates.snapshot": place },
  );
  const snapshot = valueAt(root, place);
  tellCarry(probe, entries, snapshot, order.orderId);
  return snapshot;
}

/** An order that a change names. Only a UUID may become part of a path. */
function orderOf({ config }: Probe, entries: readonly unknown[]): { orderId: string; serviceId: string } | undefined {
  const paths = [config.updates.fields.order_id ?? config.orders.fields.order_id, "$.order_id", "$.id", "$.uuid"];
  for (const entry of entries) {
    for (const path of paths) {
      const serviceId = valueAt(entry, path);
      const orderId = typeof serviceId === "string" ? readOrderId(serviceId) : undefined;
      if (typeof serviceId === "string" && orderId !== undefined) return { orderId, serviceId };
    }
  }
  return undefined;
}

/** Whether a change is the whole order, told by an order that stands in both answers. */
function tellCarry({ report, config }: Probe, entries: readonly unknown[], snapshot: unknown, orderId: string): void {
  const entry = entries.find((one) => JSON.stringify(one).toLowerCase().includes(orderId));
  if (!isGroup(entry) || !isGroup(snapshot)) return;
  const missing = Object.keys(snapshot).filter((key) => !Object.hasOwn(entry, key));
  if (missing.length === 0) {
    const isNew = config.updates.carry !== "whole";
    report.add(
      "bodies",
      isNew ? "needs you" : "found",
      "a change holds every field of the whole order: whole saves a request each",
      isNew ? { "updates.carry": "whole" } : {},
    );
  } else {
    const isNew = config.updates.carry !== "changes";
    report.add(
      "bodies",
      "found",
      `a change lacks ${counted(missing.length, "field")} of the whole order, so each changed order is read whole`,
      isNew ? { "updates.carry": "changes" } : {},
    );
  }
}

function tellFields(probe: Probe, records: readonly unknown[]): void {
  const { report, config } = probe;
  if (records.length === 0) {
    report.add("orderFields", "not found", "no order has been seen yet: pull first, with erp-bridge sync orders");
    return;
  }
  report.add("orderFields", "found", `an order is ${describeShape(records[0])}`);
  const guesses = guessOrderFields(records, config.orders.fields);
  for (const field of ORDER_FIELDS)
    tellGuess(probe, "orderFields", `orders.fields.${field}`, guesses[field], config.orders.fields[field]);
  const linesGuess = guesses.lines;
  const linesPath = linesGuess.state === "guess" ? linesGuess.path : config.orders.fields.lines;
  const lines = records.flatMap((record) => {
    const found = valueAt(record, linesPath);
    return Array.isArray(found) ? found.filter(isGroup) : [];
  });
  if (lines.length === 0) return;
  report.add("orderFields", "found", `a line is ${describeShape(lines[0])}`);
  const lineGuesses = guessLineFields(lines, config.orders.line);
  for (const field of LINE_FIELDS)
    tellGuess(probe, "orderFields", `orders.line.${field}`, lineGuesses[field], config.orders.line[field]);
}

function tellGuess({ report }: Probe, question: ProbeQuestion, key: string, guess: Guess, configured: string): void {
  if (guess.state === "fits") return;
  if (guess.state === "guess")
    report.add(question, "needs you", `nothing stands under ${configured} (${key}); ${guess.path} looks like it`, {
      [key]: guess.path,
    });
  else {
    const choices =
      guess.candidates.length === 0
        ? "nothing looks like it"
        : `it may be one of ${guess.candidates.slice(0, 5).join(", ")}`;
    report.add(question, "needs you", `nothing stands under ${configured} (${key}); ${choices}`);
  }
}

function tellClock({ client, clock, report, asker }: Probe): void {
  if (client.lastDate === undefined && asker.blocked.has("orders")) return;
  const theirs = Date.parse(client.lastDate ?? "");
  if (Number.isNaN(theirs)) {
    report.add("since", "needs you", "the service sends no Date header, so clocks cannot be compared");
    return;
  }
  const skewMs = theirs - clock.nowMs();
  const words =
    Math.abs(skewMs) < SKEW_WORTH_A_WORD_MS ? "agree" : `are ${Math.round(Math.abs(skewMs) / 60_000)} min apart`;
  report.add(
    "since",
    Math.abs(skewMs) < SKEW_WORTH_A_WORD_MS ? "found" : "needs you",
    `the clocks of this machine and of the service ${words}`,
  );
}
