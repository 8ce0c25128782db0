import {
  parseTemplate,
  placeholdersOf,
  RenderError,
  renderTemplate,
  type Template,
  type TemplateValue,
} from "../answers/template.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";

/** How batches are confirmed. `auto`: by batch id where the answer has one, else by order ids. */
export type ConfirmForm =
  | { auto: true }
  | { auto: false; template: Template; names: "batch" | "orders" | "nothing"; needsBatchId: boolean };

export interface BatchNames {
  /** JSON literal from the answer; null where it has no batch id. */
  batchId: string | null;
  /** JSON array of the order ids served, each as its original literal. */
  orderIds: string;
}

export function compileConfirm(body: unknown): ConfirmForm {
  if (body === "auto") return { auto: true };
  const template = parseTemplate(body);
  const used = placeholdersOf(template);
  const names = used.includes("order_ids") ? "orders" : used.includes("batch_id") ? "batch" : "nothing";
  return { auto: false, template, names, needsBatchId: used.includes("batch_id") };
}

export function confirmNeedsBatchId(form: ConfirmForm): boolean {
  return !form.auto && form.needsBatchId;
}

/**
 * Whether a confirm names a batch or orders. One that does not confirms everything delivered so far, including an
 * answer that was lost: it needs the committed mark of an open delivery, and a closed delivery.
 */
export function confirmNames(form: ConfirmForm): boolean {
  return form.auto || form.names !== "nothing";
}

/** Whether the confirm of this batch names orders only, so that it covers exactly what was stored. */
export function confirmNamesOrders(form: ConfirmForm, batchId: string | null): boolean {
  return form.auto ? batchId === null : form.names === "orders" && !form.needsBatchId;
}

/**
 * Renders the confirm's JSON body.
 * @throws BridgeError `request_refused` where the batch has no id or orders that this form needs: a service might take
 * an empty list as "all"
 */
export function renderConfirm(form: ConfirmForm, batch: BatchNames): string {
  if (confirmNamesOrders(form, batch.batchId) && batch.orderIds === "[]") {
    throw new BridgeError("request_refused", m.orders.unnamedBatch);
  }
  const template = form.auto
    ? parseTemplate(batch.batchId === null ? { order_ids: "{order_ids}" } : { batch_id: "{batch_id}" })
    : form.template;
  try {
    return renderTemplate(template, (name) => valueFor(name, batch));
  } catch (error) {
    if (!(error instanceof RenderError)) throw error;
    const reason = m.common.about({ subject: `{${error.placeholder}}`, text: error.reason });
    throw new BridgeError("request_refused", m.orders.noConfirm({ reason }), { cause: error });
  }
}

function valueFor(name: string, batch: BatchNames): TemplateValue | undefined {
  if (name === "order_ids") return { kind: "json", text: batch.orderIds };
  if (name !== "batch_id" || batch.batchId === null) return undefined;
  // A string may also be inserted inside other text; other values only as their literal.
  if (batch.batchId.startsWith('"')) return { kind: "text", text: JSON.parse(batch.batchId) as string };
  return { kind: "json", text: batch.batchId };
}
