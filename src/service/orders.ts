import { hash } from "node:crypto";
import { readOrderId } from "../answers/uuid.ts";
import type { ServiceAnswer, ServiceClient, Turn } from "./client.ts";
import { repeatSafely } from "./repeat.ts";
import { ServiceError } from "./service-error.ts";

const ORDERS = "/api/v1/1c/orders";
const BATCH = { area: "orders", method: "GET", path: ORDERS } as const;
const CONFIRM = { area: "orders", method: "POST", path: `${ORDERS}/confirm` } as const;

/** Requests the next batch. Never retried here: a second call may deliver the following batch. */
export function fetchBatch(
  client: ServiceClient,
  query: readonly (readonly [string, string])[],
  signal: AbortSignal,
  turn?: Turn,
): Promise<ServiceAnswer> {
  return client.request({ ...BATCH, query, signal, ...(turn && { turn }) });
}

/** The query for {@link fetchBatch} in a link of an answer. */
export function queryOfBatch(client: ServiceClient, link: string): ReturnType<ServiceClient["queryOf"]> {
  return client.queryOf(BATCH.path, link);
}

/** Waits for the turn of {@link fetchBatch}. */
export function turnOfBatch(client: ServiceClient, signal: AbortSignal): Promise<Turn> {
  return client.turn({ ...BATCH, signal });
}

/** Confirms a batch. `body` is JSON text. Never retried here: the job decides, because it ensures what is durable. */
export function confirmBatch(
  client: ServiceClient,
  body: string,
  signal: AbortSignal,
  turn?: Turn,
): Promise<ServiceAnswer> {
  const record = hash("sha256", body);
  return client.request({ ...CONFIRM, body, record, signal, ...(turn && { turn }) });
}

/** Waits for the turn of {@link confirmBatch}. */
export function turnOfConfirm(client: ServiceClient, signal: AbortSignal): Promise<Turn> {
  return client.turn({ ...CONFIRM, signal });
}

/** Requests the list of changes. `since` is sent unchanged, URL-encoded. */
export function fetchUpdates(client: ServiceClient, since: string, signal: AbortSignal): Promise<ServiceAnswer> {
  return repeatSafely(client.clock, signal, () =>
    client.request({ area: "orders", method: "GET", path: `${ORDERS}/updates`, query: [["since", since]], signal }),
  );
}

/** Reads one whole order. `serviceId` is a UUID as the service writes it. */
export function fetchSnapshot(client: ServiceClient, serviceId: string, signal: AbortSignal): Promise<ServiceAnswer> {
  return repeatSafely(client.clock, signal, () =>
    client.request({
      area: "orders",
      target: "order",
      method: "GET",
      path: `${ORDERS}/${encodeURIComponent(serviceId)}`,
      signal,
    }),
  );
}

/** The order at the service to which a permanent redirect points; undefined where it points to none. */
export function orderMovedTo(error: unknown): { orderId: string; serviceId: string } | undefined {
  const [, serviceId] = (error instanceof ServiceError ? error.movedTo : undefined)?.split(`${ORDERS}/`) ?? [];
  const orderId = serviceId === undefined ? undefined : readOrderId(serviceId);
  return serviceId === undefined || orderId === undefined ? undefined : { orderId, serviceId };
}

interface StatusRequest {
  method: "POST" | "PUT" | "PATCH";
  path: string;
  signal: AbortSignal;
}

/** Waits for the turn of {@link sendStatus}. */
export function turnOfStatus(client: ServiceClient, request: StatusRequest): Promise<Turn> {
  return client.turn({ area: "orders", target: "order", ...request });
}

/** Sets an order's status. Never retried here: after an unknown outcome the order is read before anything is sent again. */
export function sendStatus(
  client: ServiceClient,
  request: StatusRequest & { body: string; turn: Turn },
): Promise<ServiceAnswer> {
  return client.request({ area: "orders", target: "order", ...request });
}
