import * as z from "zod";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { requestPath } from "./addresses.ts";
import {
  answerPath,
  duration,
  isName,
  key,
  oneOf,
  refuse,
  schedule,
  section,
  template,
  text,
  word,
  worded,
} from "./kinds.ts";

const LOOK = "look at payload in orders after the first pull";

function path(standard: string, meaning: Message, assumption?: string) {
  return key(answerPath().prefault(standard), meaning, assumption);
}

/** Columns that the views have already; an extra column must not replace one. */
const TAKEN = {
  orders_wide: `order_id number status is_cancelled is_open service_created_at service_updated_at currency total payload
    revision erp_revision received_at changed_at removed_at total_num`.split(/\s+/),
  order_lines_wide: "order_id revision line_no sku name quantity quantity_num price price_num payload".split(" "),
};

function extraProblem(view: keyof typeof TAKEN, column: string, earlier: ReadonlySet<string>): Message | null {
  if (!isName(column)) return m.config.badColumn;
  if (TAKEN[view].includes(column.toLowerCase())) return m.config.takenColumn({ view });
  return earlier.has(column.toLowerCase()) ? m.config.duplicateColumn : null;
}

function extraColumns(view: keyof typeof TAKEN) {
  const schema = z.record(z.string(), answerPath()).superRefine((columns, context) => {
    const names = Object.keys(columns);
    if (names.length > 200) {
      refuse(context, { what: m.config.tooManyColumns });
      return;
    }
    const earlier = new Set<string>();
    for (const column of names) {
      const what = extraProblem(view, column, earlier);
      if (what !== null) refuse(context, { what, path: [column], aboutKey: true });
      earlier.add(column.toLowerCase());
    }
  });
  return worded(schema, m.kinds.columnPaths);
}

const query = worded(
  z.record(
    z.string().min(1).max(200),
    worded(z.union([text(500), z.int(), z.boolean()]).transform(String), m.kinds.scalar),
  ),
  m.kinds.parameters,
);

const words = (standard: string[]) => worded(z.array(word()).max(200), m.kinds.statusNames).prefault(standard);

export const orders = section(m.keys.orders, {
  schedule: key(schedule().prefault("* * * * *"), m.keys.ordersSchedule),
  query: key(
    query.prefault({}),
    m.keys.ordersQuery,
    "Query parameters are not shown: ask the service whether the account needs any.",
  ),
  batch: section(m.keys.ordersBatch, {
    orders: path(
      "$.orders",
      m.keys.ordersBatchOrders,
      "Response bodies are not shown: the error of the first pull names the keys seen.",
    ),
    id: path(
      "$.batch_id",
      m.keys.ordersBatchId,
      "Response bodies are not shown: the error of the first pull names the keys seen.",
    ),
  }),
  confirm: section(m.keys.ordersConfirm, {
    body: key(
      worded(z.union([z.literal("auto"), template(["batch_id", "order_ids"])]), m.kinds.confirmBody).prefault("auto"),
      m.keys.ordersConfirmBody,
      "The payload is not shown: ask the service, or let erp-bridge probe find out; a refused confirm shows in batches.",
    ),
    wait: key(
      duration("1s", "7d").prefault("15m"),
      m.keys.ordersConfirmWait,
      "When an unconfirmed batch is served again is not shown: ask the service, and wait longer than that.",
    ),
  }),
  fields: section(m.keys.ordersFields, {
    order_id: path("$.order_id", m.keys.ordersFieldsOrderId),
    number: path("$.number", m.keys.ordersFieldsNumber, `Order fields are not shown: ${LOOK}.`),
    status: path("$.status", m.keys.ordersFieldsStatus, `Order fields are not shown: ${LOOK}.`),
    created_at: path("$.created_at", m.keys.ordersFieldsCreatedAt, `Order fields are not shown: ${LOOK}.`),
    updated_at: path("$.updated_at", m.keys.ordersFieldsUpdatedAt, `Order fields are not shown: ${LOOK}.`),
    currency: path("$.currency", m.keys.ordersFieldsCurrency, `Order fields are not shown: ${LOOK}.`),
    total: path("$.total", m.keys.ordersFieldsTotal, `Order fields are not shown: ${LOOK}.`),
    lines: path("$.items", m.keys.ordersFieldsLines, `Order fields are not shown: ${LOOK}.`),
  }),
  line: section(m.keys.ordersLine, {
    sku: path("$.sku", m.keys.ordersLineSku, `Line fields are not shown: ${LOOK}.`),
    name: path("$.name", m.keys.ordersLineName, `Line fields are not shown: ${LOOK}.`),
    quantity: path("$.quantity", m.keys.ordersLineQuantity, `Line fields are not shown: ${LOOK}.`),
    price: path("$.price", m.keys.ordersLinePrice, `Line fields are not shown: ${LOOK}.`),
  }),
  extra: key(extraColumns("orders_wide").prefault({}), m.keys.ordersExtra),
  line_extra: key(extraColumns("order_lines_wide").prefault({}), m.keys.ordersLineExtra),
  ignore: key(worded(z.array(answerPath()).max(200), m.kinds.paths).prefault([]), m.keys.ordersIgnore),
  statuses: section(m.keys.ordersStatuses, {
    cancelled: key(
      words(["cancelled"]),
      m.keys.ordersStatusesCancelled,
      "Status names are not shown: select distinct status from orders after some days, or ask the service.",
    ),
    closed: key(
      words(["delivered", "cancelled"]),
      m.keys.ordersStatusesClosed,
      "Status names are not shown: select distinct status from orders after some days, or ask the service.",
    ),
  }),
});

const asInOrders = (field: string) => key(answerPath().optional(), m.keys.updatesField({ field }));

export const updates = section(m.keys.updates, {
  schedule: key(schedule().prefault("* * * * *"), m.keys.updatesSchedule),
  changes: path(
    "$.updates",
    m.keys.updatesChanges,
    "Response bodies are not shown: the error of the first poll names the keys seen.",
  ),
  fields: section(m.keys.updatesFields, {
    order_id: asInOrders("order_id"),
    number: asInOrders("number"),
    status: asInOrders("status"),
    created_at: asInOrders("created_at"),
    updated_at: asInOrders("updated_at"),
    currency: asInOrders("currency"),
    total: asInOrders("total"),
    lines: asInOrders("lines"),
  }),
  carry: key(
    oneOf(["changes", "whole"]).prefault("changes"),
    m.keys.updatesCarry,
    "Response bodies are not shown: if an entry equals GET /orders/{order_id} of that order, whole saves a request each.",
  ),
  since: key(
    oneOf(["iso", "unix", "unix_ms"]).prefault("iso"),
    m.keys.updatesSince,
    "The format of since is not shown: ask the service, or let erp-bridge probe compare the answers; a form that is not understood may answer everything, or nothing.",
  ),
  overlap: key(
    duration("0s", "30d").prefault("10m"),
    m.keys.updatesOverlap,
    "Whether changes appear in the order of their timestamps is not shown: raise it if the wide re-poll keeps finding changes.",
  ),
  sweep: section(m.keys.updatesSweep, {
    schedule: key(schedule().prefault("17 3 * * *"), m.keys.updatesSweepSchedule),
    overlap: key(duration("0s", "365d").prefault("24h"), m.keys.updatesSweepOverlap),
  }),
  next: key(
    answerPath().nullable().prefault(null),
    m.keys.updatesNext,
    "Response bodies are not shown: look for a cursor beside the list of changes.",
  ),
  snapshot: path(
    "$",
    m.keys.updatesSnapshot,
    "Response bodies are not shown: the error of the first read names the keys seen.",
  ),
});

export const statuses = section(m.keys.statuses, {
  schedule: key(schedule().prefault("* * * * *"), m.keys.statusesSchedule),
  method: key(
    oneOf(["POST", "PUT", "PATCH"]).prefault("POST"),
    m.keys.statusesMethod,
    "The method is not shown: ask the service.",
  ),
  path: key(
    requestPath(["order_id"]).nullable().prefault(null),
    m.keys.statusesPath,
    "The suffix of the path is not shown: ask the service.",
  ),
  body: key(
    template().prefault({ status: "{status}" }),
    m.keys.statusesBody,
    "The payload is not shown: ask the service.",
  ),
  map: key(
    worded(z.record(z.string().min(1).max(200), word()), m.kinds.statusMap).prefault({}),
    m.keys.statusesMap,
    "Status names and transitions are not shown: a refused request keeps the service's words.",
  ),
});
