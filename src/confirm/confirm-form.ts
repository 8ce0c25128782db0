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
import { ServiceError } from "../service/service-error.ts";

/** How batches are confirmed. `auto` names the batch where the answer has an id for it, else its orders. */
export type ConfirmForm =
  | { auto: true }
  | { auto: false; template: Template; names: "batch" | "orders" | "nothing"; needsBatchId: boolean };

export interface BatchNames {
  /** The JSON literal of the answer; null where it named none. */
  batchId: string | null;
  /** JSON array of the ids served, as written. */
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
 * Whether a confirm names the delivery that it means. One that does not confirms everything delivered so
 * far, an answer that was lost on the way included; it needs the committed mark and a closed delivery.
 */
export function confirmNames(form: ConfirmForm): boolean {
  return form.auto || form.names !== "nothing";
}

/** Whether the confirm of this batch names its orders alone: it then covers what was stored and nothing else. */
export function confirmNamesOrders(form: ConfirmForm, batchId: string | null): boolean {
  return form.auto ? batchId === null : form.names === "orders" && !form.needsBatchId;
}

/**
 * The confirm's JSON body.
 * @throws BridgeError `request_refused` where the batch has nothing by which this form could name it: a confirm that
 * names an empty list might be understood as one that means everything.
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
  // As text, a name can also stand inside other text; everything else goes out as its literal.
  if (batch.batchId.startsWith('"')) return { kind: "text", text: JSON.parse(batch.batchId) as string };
  return { kind: "json", text: batch.batchId };
}

/**
 * What a failed confirm means. A batch that the service no longer has was confirmed if it was tried before: the
 * earlier answer was lost. Otherwise a refusal is final and visible; everything else is tried again.
 */
export function classifyConfirmFailure(error: BridgeError, triedBefore: boolean): "confirmed" | "refused" | "retry" {
  const status = error instanceof ServiceError ? error.status : undefined;
  if (status === 404 || status === 409 || status === 410) return triedBefore ? "confirmed" : "refused";
  if (status === 400 || status === 405 || status === 422) return "refused";
  return "retry";
}
