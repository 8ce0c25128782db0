/*
 * The part of `probe` about orders: the shape of one order and of kept batches, the names of their fields, the answer
 * for an order that does not exist, the clocks. Reads only, and never pulls new orders.
 */

import { randomUUID } from "node:crypto";
import { readOrderId } from "../answers/uuid.ts";
import { m } from "../messages/messages.ts";
import { LINE_FIELDS, ORDER_FIELDS } from "../records/order-mapping.ts";
import type { ServiceAnswer } from "../service/client.ts";
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

const BATCH_NAMES = /^id$|batch|packe?t|package|portion|пач|пакет|порци|выгрузк/;
const SKEW_WORTH_A_WORD_MS = 5 * 60_000;

/** @param entries changes from the updates answer, which name orders that can be read */
export async function probeOrders(probe: Probe, entries: readonly unknown[]): Promise<void> {
  probe.progress(m.probe.askingOrders);
  await probeUnknown(probe);
  const fromBatches = reportBatches(probe);
  const snapshot = await probeSnapshot(probe, entries, fromBatches);
  const stored = (probe.known?.payloads ?? []).map(parsedText).filter(isGroup);
  reportFields(probe, [...(snapshot === undefined ? [] : [snapshot]), ...stored, ...fromBatches]);
  reportClock(probe);
}

async function probeUnknown({ asker, report }: Probe): Promise<void> {
  const outcome = await asker.ask("orders", (client, signal) => fetchSnapshot(client, randomUUID(), signal));
  if (outcome.state === "refused")
    report.found("errors", m.probe.unknownRefused({ status: outcome.status, words: outcome.words }));
  if (outcome.state === "answered") {
    report.needsYou(
      "errors",
      m.probe.unknownAnswered({ status: outcome.status, shape: describeShape(parsed(outcome.answer)) }),
    );
  }
}

/** Uses bodies of batches that could not be read: the only answers of GET /orders that exist here. */
function reportBatches({ known, report, config }: Probe): unknown[] {
  const records: unknown[] = [];
  for (const body of known?.unreadBodies ?? []) {
    const root = parsedText(body);
    const configured = valueAt(root, config.orders.batch.orders);
    const list = Array.isArray(configured)
      ? { path: config.orders.batch.orders, items: configured }
      : guessRecordList(root);
    if (list === undefined) {
      report.needsYou("bodies", m.probe.batchUnrecognised({ shape: describeShape(root) }));
      continue;
    }
    const isNew = list.path !== config.orders.batch.orders;
    report.found("bodies", m.probe.batchOrders({ path: list.path }), isNew ? { "orders.batch.orders": list.path } : {});
    const ids = findNamed(root, list.path, BATCH_NAMES);
    const isIdThere = valueAt(root, config.orders.batch.id) !== undefined;
    const [id] = ids;
    if (!isIdThere && id !== undefined && ids.length === 1)
      report.found("bodies", m.probe.batchId({ path: id }), { "orders.batch.id": id });
    records.push(...list.items);
  }
  if (records.length === 0 && known !== undefined && known.batches.length > 0 && known.unreadBodies.length === 0) {
    report.found("bodies", m.probe.batchesRead);
  }
  return records;
}

async function probeSnapshot(
  probe: Probe,
  entries: readonly unknown[],
  fromBatches: readonly unknown[],
): Promise<unknown> {
  const { asker, report, config } = probe;
  const { fields } = config.orders;
  const ofChanges = { ...fields, order_id: config.updates.fields.order_id ?? fields.order_id };
  // The service may no longer have a stored order; one that has changed or was delivered exists.
  const candidates = [probe.known?.order, orderOf(entries, ofChanges), orderOf(fromBatches, fields)].filter(
    (each) => each !== undefined,
  );
  if (candidates.length === 0) report.notFound("bodies", m.probe.noOrderToRead);
  let refusal: { status: number; words: string } | undefined;
  for (const order of candidates) {
    const outcome = await asker.ask("orders", (client, signal) => fetchSnapshot(client, order.serviceId, signal));
    if (outcome.state === "answered") return reportSnapshot(probe, { entries, order, answer: outcome.answer });
    if (outcome.state === "refused") refusal ??= outcome;
  }
  if (refusal !== undefined) report.needsYou("bodies", m.probe.knownRefused(refusal));
  return undefined;
}

function reportSnapshot(
  probe: Probe,
  { entries, order, answer }: { entries: readonly unknown[]; order: NamedOrder; answer: ServiceAnswer },
): unknown {
  const { report, config } = probe;
  const root = parsed(answer);
  const wanted = config.updates.snapshot;
  const idPaths = [config.orders.fields.order_id, "$.order_id", "$.id", "$.uuid", undefined];
  const places = idPaths.map((path) => findOrderRoot(root, order.orderId, path));
  const place = places.includes(wanted) ? wanted : places.find((one) => one !== undefined);
  if (place === undefined) {
    report.needsYou("bodies", m.probe.orderUnrecognised({ shape: describeShape(root) }));
    return undefined;
  }
  const fact = m.probe.orderUnder({ path: place });
  if (place === wanted) report.found("bodies", m.probe.asConfigured({ fact }));
  else report.found("bodies", fact, { "updates.snapshot": place });
  const snapshot = valueAt(root, place);
  reportCarry(probe, entries, snapshot, order.orderId);
  return snapshot;
}

interface NamedOrder {
  orderId: string;
  serviceId: string;
}

/** An order that a change or a kept batch names. Only a UUID may become part of a path. */
function orderOf(
  records: readonly unknown[],
  configured: Parameters<typeof guessOrderFields>[1],
): NamedOrder | undefined {
  const guess = guessOrderFields(records, configured).order_id;
  const paths = [configured.order_id, ...(guess.state === "guess" ? [guess.path] : [])];
  for (const record of records) {
    for (const path of paths) {
      const serviceId = valueAt(record, path);
      const orderId = typeof serviceId === "string" ? readOrderId(serviceId) : undefined;
      if (typeof serviceId === "string" && orderId !== undefined) return { orderId, serviceId };
    }
  }
  return undefined;
}

/** Whether a change has the whole order, judged by an order that is in both answers. */
function reportCarry({ report, config }: Probe, entries: readonly unknown[], snapshot: unknown, orderId: string): void {
  const entry = entries.find((one) => JSON.stringify(one).toLowerCase().includes(orderId));
  if (!isGroup(entry) || !isGroup(snapshot)) return;
  const missing = Object.keys(snapshot).filter((key) => !Object.hasOwn(entry, key));
  if (missing.length === 0) {
    if (config.updates.carry === "whole") report.found("bodies", m.probe.changeIsWhole);
    else report.offer("bodies", m.probe.changeIsWhole, { "updates.carry": "whole" });
  } else {
    const isNew = config.updates.carry !== "changes";
    report.found(
      "bodies",
      m.probe.changeLacks({ fields: missing.length }),
      isNew ? { "updates.carry": "changes" } : {},
    );
  }
}

function reportFields(probe: Probe, records: readonly unknown[]): void {
  const { report, config } = probe;
  if (records.length === 0) {
    report.notFound("orderFields", m.probe.noOrderSeen);
    return;
  }
  report.found("orderFields", m.probe.orderShape({ shape: describeShape(records[0]) }));
  const guesses = guessOrderFields(records, config.orders.fields);
  for (const field of ORDER_FIELDS)
    reportGuess(probe, "orderFields", `orders.fields.${field}`, guesses[field], config.orders.fields[field]);
  const linesGuess = guesses.lines;
  const linesPath = linesGuess.state === "guess" ? linesGuess.path : config.orders.fields.lines;
  const lines = records.flatMap((record) => {
    const found = valueAt(record, linesPath);
    return Array.isArray(found) ? found.filter(isGroup) : [];
  });
  if (lines.length === 0) return;
  report.found("orderFields", m.probe.lineShape({ shape: describeShape(lines[0]) }));
  const lineGuesses = guessLineFields(lines, config.orders.line);
  for (const field of LINE_FIELDS)
    reportGuess(probe, "orderFields", `orders.line.${field}`, lineGuesses[field], config.orders.line[field]);
}

function reportGuess({ report }: Probe, question: ProbeQuestion, key: string, guess: Guess, configured: string): void {
  if (guess.state === "fits") return;
  if (guess.state === "guess")
    report.needsYou(question, m.probe.fieldLike({ configured, key, path: guess.path }), { [key]: guess.path });
  else if (guess.candidates.length === 0) report.needsYou(question, m.probe.fieldUnlike({ configured, key }));
  else {
    const paths = guess.candidates.slice(0, 5);
    report.needsYou(question, m.probe.fieldChoices({ configured, key, paths }));
  }
}

function reportClock({ client, clock, report, asker }: Probe): void {
  if (client.lastDate === undefined && asker.blocked.has("orders")) return;
  const theirs = Date.parse(client.lastDate ?? "");
  if (Number.isNaN(theirs)) {
    report.needsYou("since", m.probe.noDateHeader);
    return;
  }
  const skewMs = theirs - clock.nowMs();
  if (Math.abs(skewMs) < SKEW_WORTH_A_WORD_MS) report.found("since", m.probe.clocksSame);
  else report.needsYou("since", m.probe.clocksApart({ minutes: Math.round(Math.abs(skewMs) / 60_000) }));
}
