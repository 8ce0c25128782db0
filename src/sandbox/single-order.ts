import { nodeAt, writeObject } from "./json-text.ts";
import { answerText, type Plan, refuse, type SandboxRequest } from "./messages.ts";
import { newestVersion, type StoredOrder } from "./order-book.ts";
import { orderText, writtenId } from "./order-text.ts";
import { isUuid } from "./routes.ts";
import { isRetired, readBody, type Site, shuffleOf } from "./site.ts";

/** The order in a path. Its id must have the service's own case. */
function findOrder(orderId: string, site: Site): StoredOrder | Plan {
  const { options } = site;
  if (!isUuid(orderId)) return refuse(404, "the order id is not a UUID");
  const order = site.book.find(orderId);
  if (order === undefined || writtenId(order.id, options) !== orderId) return refuse(404, "there is no such order");
  return isRetired(order, site) ? refuse(options.goneStatus, "the order is kept no longer") : order;
}

/** GET /orders/{order_id}: the whole order. */
export function planSnapshot(orderId: string, site: Site): Plan {
  const { options } = site;
  const order = findOrder(orderId, site);
  if ("status" in order) return order;
  const text = orderText(order, { options, snapshot: true, ...shuffleOf(site) });
  const path = options.shape.snapshot;
  const body = path.length === 0 ? text : writeObject([{ path, text }]);
  return { ...answerText(200, body), served: [{ orderId: order.id, text, whole: true }] };
}

/** Sets a status: refused where the transition is not allowed, a no-op where the order already has it. */
export function planStatus(request: SandboxRequest, orderId: string, site: Site): Plan {
  const { key, transitions, refusal, timed, confirmedOnly, movesOn } = site.options.status;
  const body = readBody(request);
  if ("refusal" in body) return body.refusal;
  const node = nodeAt(body.node, key);
  if (node?.kind !== "string") return refuse(400, `the body lacks the text ${key.join(".")}`);
  const order = findOrder(orderId, site);
  if ("status" in order) return order;
  if (confirmedOnly && !order.confirmed && order.wasForgotten !== true)
    return refuse(409, "the order was not confirmed yet");
  const { status: current, extra } = newestVersion(order).content;
  const wanted = node.value;
  const same = wanted === current;
  const reachable = transitions !== null && Object.hasOwn(transitions, current) ? transitions[current] : [];
  if (!same && transitions !== null && reachable?.includes(wanted) !== true) {
    return refuse(refusal, `an order with status ${current} cannot become ${wanted}`);
  }
  const status = (Object.hasOwn(movesOn, wanted) ? movesOn[wanted] : undefined) ?? wanted;
  return {
    ...answerText(200, JSON.stringify({ ok: true, order_id: writtenId(order.id, site.options), status })),
    effect: { kind: "status", orderId: order.id, status: wanted },
    commit: () => {
      const time = timed
        ? { extra: { ...extra, [`${wanted}_at`]: JSON.stringify(new Date(site.now()).toISOString()) } }
        : {};
      if (!same || status !== current) site.book.change(order.id, { status, ...time });
    },
  };
}
