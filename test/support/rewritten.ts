import { type Followed, startFollowed } from "./followed.ts";

type Order = Record<string, unknown>;
export type Rewrite = (order: Order) => Order;
type Endpoint = "orders" | "updates" | "snapshot";

export interface Rewritten extends Followed {
  /** Rewrites the orders in these answers from now on; undefined: no longer. */
  rewrite(endpoint: Endpoint, as: Rewrite | undefined): void;
  /** From now on the service compares `since` with the timestamps as text, in the form in which they are served. */
  compareTexts(): void;
  /** All values of `since` compared in this way, oldest first. */
  compared: string[];
}

/** A bridge and a service whose answers have orders in another form. */
export async function startWithRewritten(
  count: number,
  options: Parameters<typeof startFollowed>[1] = {},
): Promise<Rewritten> {
  const test = await startFollowed(count, options);
  const rewrites = new Map<Endpoint, Rewrite | undefined>();
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  const compared: string[] = [];
  let comparesTexts = false;
  service.handle = (request) => {
    const [path = "", query] = request.path.split("?");
    const endpoint = path.endsWith("/updates") ? "updates" : path.endsWith("/orders") ? "orders" : "snapshot";
    const since = new URLSearchParams(query).get("since");
    const isCompared = comparesTexts && endpoint === "updates" && since !== null;
    if (isCompared) compared.push(since);
    const answered = handle(isCompared ? { ...request, path: `${path}?since=2000-01-01T00:00:00Z` } : request);
    const as = rewrites.get(endpoint) ?? ((order: Order) => order);
    if (request.method !== "GET" || answered.status !== 200) return answered;
    const body = JSON.parse(answered.body.toString()) as Order;
    if (endpoint === "snapshot") return { ...answered, body: Buffer.from(JSON.stringify(as(body))) };
    const list = (body[endpoint] as Order[] | undefined)?.map(as);
    const left = list?.filter((order) => !isCompared || String(order["updated_at"]).slice(0, 19) >= since.slice(0, 19));
    return { ...answered, body: Buffer.from(JSON.stringify({ ...body, [endpoint]: left })) };
  };
  const own = {
    compared,
    rewrite: (endpoint: Endpoint, as: Rewrite | undefined) => void rewrites.set(endpoint, as),
    compareTexts: () => {
      comparesTexts = true;
    },
  };
  return Object.defineProperties(own as Rewritten, Object.getOwnPropertyDescriptors(test));
}
