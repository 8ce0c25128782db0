import { type Followed, startFollowed } from "./followed.ts";

type Order = Record<string, unknown>;
export type Rewrite = (order: Order) => Order;
type Endpoint = "orders" | "updates" | "snapshot";

export interface Rewritten extends Followed {
  /** From now on the orders of these answers are served so; undefined: as they are. */
  rewrite(endpoint: Endpoint, as: Rewrite | undefined): void;
}

/** A bridge and a service whose answers write orders in another way. */
export async function startWithRewritten(
  count: number,
  options: Parameters<typeof startFollowed>[1] = {},
): Promise<Rewritten> {
  const test = await startFollowed(count, options);
  const rewrites = new Map<Endpoint, Rewrite | undefined>();
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  service.handle = (request) => {
    const answered = handle(request);
    const path = request.path.split("?")[0] ?? "";
    const endpoint = path.endsWith("/updates") ? "updates" : path.endsWith("/orders") ? "orders" : "snapshot";
    const as = rewrites.get(endpoint);
    if (as === undefined || request.method !== "GET" || answered.status !== 200) return answered;
    const body = JSON.parse(answered.body.toString()) as Order;
    const list = body[endpoint] as Order[] | undefined;
    const rewritten = endpoint === "snapshot" ? as(body) : { ...body, [endpoint]: list?.map(as) };
    return { ...answered, body: Buffer.from(JSON.stringify(rewritten)) };
  };
  const own = { rewrite: (endpoint: Endpoint, as: Rewrite | undefined) => void rewrites.set(endpoint, as) };
  return Object.defineProperties(own as Rewritten, Object.getOwnPropertyDescriptors(test));
}
