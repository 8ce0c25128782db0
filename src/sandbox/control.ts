import { readFaultRule } from "./fault-rule.ts";
import { FEEDS, type SandboxRequest, type SandboxResponse } from "./messages.ts";
import { mergeOptions } from "./options.ts";
import { readChange, readNewOrders } from "./order-draft.ts";
import type { SandboxService } from "./service.ts";

const PREFIX = "/_sandbox/";

function reply(status: number, value: unknown): SandboxResponse {
  const headers = { "content-type": "application/json; charset=utf-8" };
  return { status, headers, body: Buffer.from(`${JSON.stringify(value)}\n`), delivery: { kind: "plain" } };
}

function bodyOf(request: SandboxRequest): unknown {
  const text = request.body.toString("utf8").trim();
  return text === "" ? {} : JSON.parse(text);
}

function createOrders(service: SandboxService, body: unknown): SandboxResponse {
  const { count, order } = readNewOrders(body);
  return reply(201, { order_ids: Array.from({ length: count }, () => service.createOrder(order)) });
}

function changeOrder(
  service: SandboxService,
  method: string,
  orderId: string,
  request: SandboxRequest,
): SandboxResponse {
  if (service.newestText(orderId) === undefined) return reply(404, { error: `there is no order ${orderId}` });
  if (method === "DELETE") service.deleteOrder(orderId);
  else service.changeOrder(orderId, readChange(bodyOf(request)));
  return reply(200, { ok: true });
}

function route(service: SandboxService, request: SandboxRequest): SandboxResponse {
  const url = new URL(request.path, "http://127.0.0.1");
  const [what = "", which] = url.pathname.slice(PREFIX.length).split("/");
  const { method } = request;
  const feed = FEEDS.find((name) => name === which);
  switch (`${method} ${what}${which === undefined ? "" : "/"}`) {
    case "GET ledger": {
      const after = Number(url.searchParams.get("after") ?? 0);
      return reply(200, { entries: service.ledger.entries.filter(({ seq }) => seq > after) });
    }
    case "GET imported/":
      if (feed === undefined) return reply(404, { error: `feeds: ${FEEDS.join(", ")}` });
      return reply(200, { feed, records: [...service.imported(feed)].map(([key, record]) => ({ key, record })) });
    case "GET orders":
      return reply(200, { orders: service.orders() });
    case "POST orders":
      return createOrders(service, bodyOf(request));
    case "POST orders/":
    case "DELETE orders/":
      return changeOrder(service, method, which ?? "", request);
    case "GET faults":
      return reply(200, { faults: service.faults.list() });
    case "POST faults":
      return reply(201, { id: service.faults.add(readFaultRule(bodyOf(request))) });
    case "DELETE faults":
      service.faults.clear();
      return reply(200, { ok: true });
    case "GET switches":
      return reply(200, service.options);
    case "POST switches":
      service.setOptions(mergeOptions(service.options, bodyOf(request)));
      return reply(200, service.options);
    default:
      return reply(404, { error: `nothing under ${method} ${url.pathname}` });
  }
}

/**
 * The control endpoint, for curl and for tests of the whole program. It changes the model, never the ledger. Requests
 * from web pages are refused, because any page open on the same machine could send them.
 */
export function controlOf(service: SandboxService): (request: SandboxRequest) => SandboxResponse | undefined {
  return (request) => {
    if (!request.path.startsWith(PREFIX)) return undefined;
    if (request.headers["origin"] !== undefined) return reply(403, { error: "not for web pages" });
    try {
      return route(service, request);
    } catch (error) {
      return reply(400, { error: error instanceof Error ? error.message : String(error) });
    }
  };
}
