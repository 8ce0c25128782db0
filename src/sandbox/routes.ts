import { FEEDS, type Feed, type RequestKind } from "./messages.ts";
import type { SandboxOptions } from "./options.ts";

export type Area = "import" | "1c";

const ORDERS = "/api/v1/1c/orders";
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The resource that a path names, before its method and credentials are checked. */
export interface Route {
  readonly kind: RequestKind;
  readonly pathname: string;
  /** The query as sent, without the question mark. */
  readonly query: string;
  /** The methods that the path accepts. */
  readonly methods: readonly string[];
  readonly orderId?: string;
  readonly feed?: Feed;
}

/** The order id in a path, by a template such as `/…/{order_id}/status`. */
function idIn(pathname: string, template: string): string | undefined {
  const [before = "", after = ""] = template.split("{order_id}");
  if (!pathname.startsWith(before) || !pathname.endsWith(after)) return undefined;
  const raw = pathname.slice(before.length, pathname.length - after.length);
  if (raw === "" || raw.includes("/")) return undefined;
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}

export function isUuid(value: string): boolean {
  return UUID.test(value);
}

/** Determines the route of a request. The path is used literally: dots and double slashes are not resolved. */
export function routeOf(verb: string, path: string, options: SandboxOptions): Route {
  const mark = path.indexOf("?");
  const pathname = mark === -1 ? path : path.slice(0, mark);
  const base = { pathname, query: mark === -1 ? "" : path.slice(mark + 1) };
  if (pathname === ORDERS) return { ...base, kind: "orders", methods: ["GET"] };
  if (pathname === `${ORDERS}/confirm`) return { ...base, kind: "confirm", methods: ["POST"] };
  if (pathname === `${ORDERS}/updates`) return { ...base, kind: "updates", methods: ["GET"] };
  const feed = FEEDS.find((name) => options.imports[name].path === pathname);
  if (feed !== undefined) return { ...base, kind: "import", methods: ["POST"], feed };
  const { path: statusPath, method } = options.status;
  const statusId = statusPath === null ? undefined : idIn(pathname, statusPath);
  const snapshotId = idIn(pathname, `${ORDERS}/{order_id}`);
  // A status path without a suffix is also the snapshot's path, distinguished by the method.
  const readsIt = verb === "GET" && statusId === snapshotId;
  if (statusId !== undefined && !readsIt) return { ...base, kind: "status", methods: [method], orderId: statusId };
  if (snapshotId !== undefined) return { ...base, kind: "snapshot", methods: ["GET"], orderId: snapshotId };
  return { ...base, kind: "unknown", methods: [] };
}

/** The area of a route: it determines the authentication and the form of refusals. */
export function areaOf(route: Route): Area | undefined {
  if (route.kind === "import" || route.pathname.startsWith("/api/v1/import/")) return "import";
  return route.kind !== "unknown" || route.pathname.startsWith("/api/v1/1c/") ? "1c" : undefined;
}
