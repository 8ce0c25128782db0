import { gzipSync } from "node:zlib";
import { type FaultAction, type FaultRule, readFaultRule } from "./fault-rule.ts";
import type { Delivery, SandboxResponse } from "./messages.ts";
import type { Route } from "./routes.ts";

/** The fault selected for one request. */
export interface TakenFault {
  readonly ruleId: number;
  readonly when: "before" | "after";
  readonly action: FaultAction;
}

interface StoredRule {
  readonly id: number;
  readonly rule: FaultRule;
  left: number;
  skip: number;
}

/** The fault rules in force. */
export class Faults {
  private rules: StoredRule[] = [];
  private lastId = 0;

  /** Adds a rule at the end and returns its number. Throws TypeError where it is invalid. */
  add(described: FaultRule): number {
    const rule = readFaultRule(described);
    const left = rule.times === "forever" ? Number.POSITIVE_INFINITY : (rule.times ?? 1);
    this.rules.push({ id: ++this.lastId, rule, left, skip: rule.skip ?? 0 });
    return this.lastId;
  }

  remove(id: number): void {
    this.rules = this.rules.filter((rule) => rule.id !== id);
  }

  clear(): void {
    this.rules = [];
  }

  /** Rules that are not used up. */
  list(): (FaultRule & { id: number })[] {
    return this.rules.map(({ id, rule, left }) => ({ ...rule, id, times: Number.isFinite(left) ? left : "forever" }));
  }

  /** The fault for a request, if any. Counts as one use of its rule. */
  take(method: string, route: Route): TakenFault | undefined {
    for (const stored of this.rules) {
      const { match = {} } = stored.rule;
      if (match.method !== undefined && match.method.toUpperCase() !== method) continue;
      if (match.path !== undefined && match.path !== route.kind) continue;
      if (match.feed !== undefined && match.feed !== route.feed) continue;
      if (match.order !== undefined && match.order !== route.orderId?.toLowerCase()) continue;
      if (stored.left <= 0 || stored.skip-- > 0) continue;
      stored.left--;
      if (stored.left <= 0) this.remove(stored.id);
      return { ruleId: stored.id, when: stored.rule.when ?? "before", action: stored.rule.do };
    }
    return undefined;
  }
}

const CAPTIVE_PORTAL = `<!doctype html><html><head><title>Wi-Fi</title></head>
<body><h1>Добро пожаловать</h1><form action="/login">Войдите в сеть</form></body></html>`;

const HEADER_BYTES = 100_000;
const HEADER_PIECE = 7000;
const BOMB_PIECE = 16 * 1024 * 1024;

/** A gzip stream of so many spaces, built from repeated members so that it needs little memory. */
function gzipBomb(bytes: number): Buffer {
  const pieces: Buffer[] = [];
  const piece = gzipSync(Buffer.alloc(Math.min(bytes, BOMB_PIECE), " "));
  for (let made = 0; made < bytes; made += BOMB_PIECE) pieces.push(piece);
  return Buffer.concat(pieces);
}

function bigHeaders(bytes: number): Record<string, string> {
  const count = Math.ceil(bytes / HEADER_PIECE);
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`x-filler-${index}`, "f".repeat(HEADER_PIECE)]),
  );
}

function deliveryOf(action: FaultAction): Delivery {
  switch (action.kind) {
    case "reset":
    case "hang":
    case "endless":
      return { kind: action.kind };
    case "delay":
      return { kind: "delay", ms: action.ms };
    case "cut":
      return { kind: "cut", bytes: action.bytes, of: action.of ?? "body" };
    case "drip":
      return { kind: "drip", bytesPerSecond: action.bytesPerSecond, of: action.of ?? "body" };
    default:
      return { kind: "plain" };
  }
}

/** The answer with a fault applied: other content, or another delivery. */
export function distort(response: SandboxResponse, action: FaultAction): SandboxResponse {
  const { date } = response.headers;
  const kept = date === undefined ? {} : { date };
  const replace = (status: number, body: string, headers: Readonly<Record<string, string>>): SandboxResponse => ({
    status,
    headers: { ...kept, ...headers },
    body: Buffer.from(body),
    delivery: { kind: "plain" },
  });
  switch (action.kind) {
    case "status": {
      const json = { "content-type": "application/json; charset=utf-8" };
      const body = action.body ?? JSON.stringify({ error: `the sandbox was told to answer ${action.status}` });
      return replace(action.status, body, { ...json, ...action.headers });
    }
    case "html":
      return replace(200, CAPTIVE_PORTAL, { "content-type": "text/html; charset=utf-8" });
    case "redirect":
      return replace(action.status ?? 302, "", { location: action.to });
    case "raw":
      return replace(action.status ?? 200, action.body, { "content-type": action.contentType });
    case "gzip": {
      const body = action.bombBytes === undefined ? gzipSync(response.body) : gzipBomb(action.bombBytes);
      return { ...response, headers: { ...response.headers, "content-encoding": "gzip" }, body };
    }
    case "big-headers":
      return { ...response, headers: { ...response.headers, ...bigHeaders(action.bytes ?? HEADER_BYTES) } };
    default:
      return { ...response, delivery: deliveryOf(action) };
  }
}

/** Whether a client may have received the true answer in full under this fault. */
export function arrivesWhole(action: FaultAction | undefined): boolean {
  if (action === undefined) return true;
  if (action.kind === "gzip") return action.bombBytes === undefined;
  return action.kind === "delay" || action.kind === "drip" || action.kind === "big-headers";
}

/** Whether a fault replaces the true body. */
export function replacesBody(action: FaultAction | undefined): boolean {
  return action !== undefined && ["status", "html", "redirect", "raw"].includes(action.kind);
}
