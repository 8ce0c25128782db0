import { hash } from "node:crypto";
import { type JsonPath, parsePath } from "../answers/json-path.ts";
import { type ConfirmForm, compileConfirm, confirmNeedsBatchId } from "../confirm/confirm-form.ts";
import { compileMapping, type LineField, type OrderField, type OrderMapping } from "../records/order-mapping.ts";
import type { PlanRules } from "./plan-order.ts";
import { StatusNames } from "./status-names.ts";

/** The part of the configuration about reading orders, with its own names. */
export interface OrderSettings {
  /** Base address and client id as JSON. */
  account: string;
  timezone: string;
  batch: { orders: string; id: string };
  confirm: { body: unknown; wait: number };
  fields: Record<OrderField, string>;
  line: Record<LineField, string>;
  extra: Readonly<Record<string, string>>;
  line_extra: Readonly<Record<string, string>>;
  ignore: readonly string[];
  statuses: { cancelled: readonly string[]; closed: readonly string[] };
  /** Time limit of a request to the service, in milliseconds. */
  requestMs: number;
  updates: {
    changes: string;
    fields: Partial<Record<OrderField, string | undefined>>;
    carry: "changes" | "whole";
    next: string | null;
    snapshot: string;
  };
  /** Dotted paths of the keys set in the file: answers must have what these name. */
  written: ReadonlySet<string>;
}

/** Everything about reading orders, compiled once. */
export interface OrderRules {
  /** The account from which batches are pulled and to which they are confirmed. */
  account: string;
  batchOrders: JsonPath;
  batchId: JsonPath;
  batch: OrderMapping;
  update: OrderMapping;
  snapshot: OrderMapping;
  changes: JsonPath;
  next: JsonPath | null;
  snapshotRoot: JsonPath;
  carry: "changes" | "whole";
  confirm: ConfirmForm;
  confirmWaitMs: number;
  /** Until so long after it was sent, a confirm of unknown outcome may be carried out. */
  requestMs: number;
  plan: PlanRules;
  /** The answer must have a batch id: its path is configured, or the confirm needs it. */
  batchIdRequired: boolean;
  /** Changes when answers would be read differently; what failed before is then tried again. */
  signature: string;
  /** Changes when columns would be derived differently from a stored payload. */
  columnSignature: string;
}

/** The mapping for held records of a kind. */
export function mappingOfKind({ batch, update, snapshot }: OrderRules, kind: string): OrderMapping {
  return kind === "order" ? batch : kind === "change" ? update : snapshot;
}

export function compileOrderRules(settings: OrderSettings): OrderRules {
  const { fields, line, extra, line_extra: lineExtra, updates, written } = settings;
  const columns = { line, extra, lineExtra };
  const updateFields: Record<OrderField, string> = { ...fields };
  for (const [field, path] of Object.entries(updates.fields)) {
    if (path !== undefined) updateFields[field as OrderField] = path;
  }
  const confirm = compileConfirm(settings.confirm.body);
  const isWritten = (field: OrderField) => written.has(`orders.fields.${field}`);
  return {
    account: settings.account,
    batchOrders: parsePath(settings.batch.orders),
    batchId: parsePath(settings.batch.id),
    batchIdRequired: written.has("orders.batch.id") || confirmNeedsBatchId(confirm),
    batch: compileMapping({ source: "batch", fields, ...columns, isWritten, whole: true }),
    update: compileMapping({
      source: "update",
      fields: updateFields,
      ...columns,
      isWritten: (field) => written.has(`updates.fields.${field}`) || isWritten(field),
      whole: updates.carry === "whole",
    }),
    snapshot: compileMapping({ source: "snapshot", fields, ...columns, isWritten, whole: true }),
    changes: parsePath(updates.changes),
    next: updates.next === null ? null : parsePath(updates.next),
    snapshotRoot: parsePath(updates.snapshot),
    carry: updates.carry,
    confirm,
    confirmWaitMs: settings.confirm.wait,
    requestMs: settings.requestMs,
    plan: {
      // A new timestamp alone is no change of the order, and an id may change its case.
      ignore: [
        fields.order_id,
        updateFields.order_id,
        fields.updated_at,
        updateFields.updated_at,
        ...settings.ignore,
      ].map(parsePath),
      cancelled: new StatusNames(settings.statuses.cancelled),
      closed: new StatusNames(settings.statuses.closed),
      statusPaths: [fields.status, updateFields.status].map(parsePath),
      linesPaths: [fields.lines, updateFields.lines].map(parsePath),
      timezone: settings.timezone,
    },
    signature: mappingSignature(settings, confirmNeedsBatchId(confirm)),
    columnSignature: digestOf([fields, line, settings.statuses, updates.fields]),
  };
}

function mappingSignature(settings: OrderSettings, batchIdNeeded: boolean): string {
  const { batch, fields, line, statuses, updates, written } = settings;
  const required = [...written].filter((key) => key.startsWith("orders.")).sort();
  const parts = [batch, fields, line, statuses, updates, required, batchIdNeeded];
  return digestOf(parts);
}

function digestOf(parts: unknown): string {
  return hash("sha256", JSON.stringify(parts), "hex").slice(0, 16);
}
