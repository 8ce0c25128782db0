/*
 * The part of `sync_status.sentence` after the condition, as a message. Pure.
 */
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { ageOf } from "./conditions.ts";
import type { Facts, FlowFacts } from "./facts.ts";

/** @param hasLead whether the sentence starts with a condition of the flow */
export function describeRow(flow: FlowFacts, { erpWrites = [] }: Facts, nowMs: number, hasLead: boolean): Message {
  const { waiting, quarantined, refused, held, failingSince } = flow;
  const ago = (at: string | null) => spanOf(ageOf(at, nowMs) ?? 0);
  if (flow.flow === "erp") {
    const minutes = Math.floor((ageOf(flow.waitingSince, nowMs) ?? 0) / 60);
    const taken = waiting === 0 ? m.status.erpTookAll : m.status.erpWaiting({ n: waiting, minutes });
    return m.common.sentences({
      parts: [taken, ...(quarantined > 0 ? [m.status.erpBlocked({ n: quarantined })] : [])],
    });
  }
  if (!flow.enabled) return m.status.switchedOff;
  const wrote = erpWrites.find(({ feed }) => feed === flow.flow);
  const wroteS = ageOf(wrote?.since ?? null, nowMs) ?? 0;
  const parts: Message[] = [];
  if (!hasLead && held !== null) parts.push(m.status.held({ reasons: held }));
  else if (!hasLead && failingSince !== null) parts.push(m.status.failingSince({ at: failingSince }));
  parts.push(
    flow.lastSuccessAt === null ? m.status.neverSucceeded : m.status.succeeded({ ago: ago(flow.lastSuccessAt) }),
  );
  if (waiting > 0) parts.push(m.status.waiting({ n: waiting }));
  if (refused > 0) parts.push(m.status.refused({ n: refused }));
  if (quarantined > 0) parts.push(m.status.quarantined({ n: quarantined }));
  if (flow.asOf !== null) parts.push(m.status.onSite({ ago: ago(flow.asOf) }));
  if (wrote !== undefined && wroteS > wrote.withinS) parts.push(m.status.erpSilent({ n: Math.floor(wroteS / 3600) }));
  return m.common.sentences({ parts });
}

/** In hours, however many, as in the SQL of `sync_status`. */
function spanOf(seconds: number): Message {
  return seconds < 172_800 ? m.common.span({ seconds }) : m.status.hours({ n: Math.floor(seconds / 3_600) });
}
