/* Errors and reports of statuses that were not accepted. */

import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { JobContext } from "../pass/job.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { describeForm } from "../service/outcome/known-forms.ts";
import { ServiceError } from "../service/service-error.ts";
import { named } from "./plan-status.ts";
import type { NewFormAnswer } from "./status-rows.ts";

/** Ends a request that the service refused. */
export function refused({ log }: JobContext, id: bigint, reason: Message): { kind: "settled"; as: "refused" } {
  log.warn({ request: String(id) }, m.statuses.refused({ id: String(id), reason }));
  return { kind: "settled", as: "refused" };
}

export interface StatusFailure {
  httpStatus: number | null;
  reason: Message;
}

export function failureOf(error: unknown): StatusFailure {
  if (!(error instanceof ServiceError) || error.status === undefined)
    return { httpStatus: null, reason: asError(error).text };
  if (error.status < 300 && error.words === undefined) return { httpStatus: error.status, reason: error.text };
  const text = error.words ? `${error.status}: ${error.words}` : String(error.status);
  return { httpStatus: error.status, reason: m.common.foreign({ text }) };
}

export function withWrongPath(reason: Message): Message {
  return m.common.joined({ parts: [reason, m.statuses.wrongPath] });
}

export function wrongPath({ text, area, target, method, path, status }: ServiceError): ServiceError {
  const details = { area, target, method, path, effect: "none" as const, ...(status === undefined ? {} : { status }) };
  return new ServiceError("request_refused", withWrongPath(text), details);
}

export function noStatus(orderId: string, status: string | null): BridgeError {
  const text = status === null ? "null" : JSON.stringify(status);
  return new BridgeError("answer_unreadable", m.statuses.noStatus({ orderId, text }));
}

export function changedMeanwhile(
  { statusSent, statusBefore }: { statusSent: string | null; statusBefore: string | null },
  now: string | null,
): Message {
  const sent = named(statusSent);
  if (now === statusBefore) return m.statuses.changedBack({ now: named(now), sent });
  return m.statuses.changed({ before: named(statusBefore), now: named(now), sent });
}

export function notSeen({ form, at, shown }: NewFormAnswer, repeatMs: number | undefined): Message {
  const shape = describeForm(form);
  if (repeatMs === undefined)
    return shown === undefined ? m.statuses.notSeen({ shape, at }) : m.statuses.stillShown({ at });
  return m.statuses.notSeenYet({ shape, at, again: isoTime(Date.parse(at) + repeatMs) });
}
