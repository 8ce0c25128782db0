import { BridgeError } from "./errors.ts";
import { ServiceError } from "./service-error.ts";
import { parseTemplate, placeholdersOf, renderTemplate, type Template } from "./template.ts";

/** How batches are confirmed. `auto` names the batch where the answer has an id for it, else its orders. */
export type ConfirmForm = { auto: true } | { auto: false; template: Template; names: "batch" | "orders" | "nothing" };

export function compileConfirm(body: unknown): ConfirmForm {
  if (body === "auto") return { auto: true };
  const template = parseTemplate(body);
  const used = placeholdersOf(template);
  const names = used.includes("order_ids") ? "orders" : used.includes("batch_id") ? "batch" : "nothing";
  return { auto: false, template, names };
}

/**
 * Whether a confirm tells the service which hand-out it means. One that does not confirms everything handed out so
 * far, an answer that was lost on the way included; it needs the committed mark and a closed hand-out.
 */
export function confirmNames(form: ConfirmForm): boolean {
  return form.auto || form.names !== "nothing";
}

/** The confirm's JSON body. `batchId` is the literal of the answer, `orderIds` a JSON array of ids as written. */
export function renderConfirm(form: ConfirmForm, batch: { batchId: string | null; orderIds: string }): string {
  const template = form.auto
    ? parseTemplate(batch.batchId === null ? { order_ids: "{order_ids}" } : { batch_id: "{batch_id}" })
    : form.template;
  return renderTemplate(template, (name) => {
    if (name === "order_ids") return { kind: "json", text: batch.orderIds };
    if (name === "batch_id") return batch.batchId === null ? undefined : { kind: "json", text: batch.batchId };
    return undefined;
  });
}

/**
 * What a failed confirm means. A batch that the service no longer knows was confirmed if it was tried before: the
 * earlier answer was lost. Otherwise a refusal is final and visible; everything else is tried again.
 */
export function classifyConfirmFailure(error: unknown, triedBefore: boolean): "confirmed" | "refused" | "retry" {
  if (!(error instanceof ServiceError)) {
    // A template that cannot be rendered for this batch cannot be rendered the next time either.
    return error instanceof BridgeError ? "retry" : "refused";
  }
  const { status } = error;
  if (status === 404 || status === 409 || status === 410) return triedBefore ? "confirmed" : "refused";
  if (status === 400 || status === 405 || status === 422) return "refused";
  return "retry";
}
