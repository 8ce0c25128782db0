import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import type { Sandbox } from "../../src/sandbox/start-sandbox.ts";
import { type Followed, startFollowed } from "./followed.ts";

export interface IllOrders extends Followed {
  /** The answers instead of these orders; all others are answered correctly. */
  ill: Map<string, FaultAction>;
  /** Orders that the changes do not list: after a restore of the service they have no change. */
  unlisted: Set<string>;
}

/** A bridge whose reads of single orders fail as configured. */
export async function startWithIll(
  count: number,
  options: Parameters<typeof startFollowed>[1] = {},
): Promise<IllOrders> {
  const ill = new Map<string, FaultAction>();
  const holder: { sandbox?: Sandbox } = {};
  const onRequest = ({ method, path }: { method: string; path: string }) => {
    const action = method === "GET" ? ill.get(path.split("/").at(-1)?.toLowerCase() ?? "") : undefined;
    // A rule added now applies to this request.
    if (action !== undefined) holder.sandbox?.faults.add({ match: { path: "snapshot" }, do: action });
  };
  const test = await startFollowed(count, { ...options, sandbox: { ...options.sandbox, onRequest } });
  holder.sandbox = test.sandbox;
  const unlisted = new Set<string>();
  const handle = test.sandbox.service.handle.bind(test.sandbox.service);
  test.sandbox.service.handle = (call) => {
    const answered = handle(call);
    if (unlisted.size === 0 || !call.path.includes("/orders/updates")) return answered;
    const { updates, ...rest } = JSON.parse(answered.body.toString()) as { updates?: { order_id: string }[] };
    if (updates === undefined) return answered;
    const left = updates.filter((change) => !unlisted.has(change.order_id.toLowerCase()));
    return { ...answered, body: Buffer.from(JSON.stringify({ ...rest, updates: left })) };
  };
  return Object.defineProperties({ ill, unlisted } as IllOrders, Object.getOwnPropertyDescriptors(test));
}

export const NO_SUCH_ORDER: FaultAction = { kind: "status", status: 404, body: '{"error":"no such order"}' };
export const WEB_PAGE_404: FaultAction = {
  kind: "raw",
  status: 404,
  contentType: "text/html; charset=utf-8",
  body: "<html><head><title>404 Not Found</title></head><body>nginx</body></html>",
};
