import { FEEDS, type Feed, type RequestKind } from "./messages.ts";

/** What a fault does to an answer. */
export type FaultAction =
  /** Another status; the body is `{"error": …}` unless given. */
  | { kind: "status"; status: number; headers?: Record<string, string>; body?: string }
  | { kind: "reset" }
  | { kind: "hang" }
  /** `before`: the effect itself comes late, also when the client has given up; `after`: only the answer does. */
  | { kind: "delay"; ms: number }
  /** So many bytes of the body (or of the whole answer, head included), then the connection is closed. */
  | { kind: "cut"; bytes: number; of?: "body" | "answer" }
  | { kind: "drip"; bytesPerSecond: number; of?: "body" | "answer" }
  /** 200 with a page of a captive portal. */
  | { kind: "html" }
  /** The answer, then white space for ever. */
  | { kind: "endless" }
  /** The answer compressed though nobody asked; with `bombBytes`, so many spaces instead. */
  | { kind: "gzip"; bombBytes?: number }
  | { kind: "redirect"; to: string; status?: number }
  | { kind: "raw"; body: string; contentType: string; status?: number }
  | { kind: "big-headers"; bytes?: number };

export interface FaultMatch {
  method?: string;
  path?: RequestKind;
  feed?: Feed;
  /** The id of one order, for requests that name it in their path. */
  order?: string;
}

/**
 * One rule. Of the rules that match a request, the first that was added applies, so many `times` (1 unless said), after
 * letting `skip` matching requests pass. `before` (unless said): the effect does not happen; `after`: it does, and the
 * answer is lost or changed.
 */
export interface FaultRule {
  match?: FaultMatch;
  times?: number | "forever";
  skip?: number;
  when?: "before" | "after";
  do: FaultAction;
}

const KINDS: readonly RequestKind[] = ["orders", "confirm", "updates", "snapshot", "status", "import", "unknown"];

type Field = (value: unknown) => boolean;
const count: Field = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const positive: Field = (value) => typeof value === "number" && value > 0;
const text: Field = (value) => typeof value === "string";
const status: Field = (value) => Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 599;
const texts: Field = (value) => isMap(value) && Object.values(value).every(text);
const among =
  (...choices: readonly unknown[]): Field =>
  (value) =>
    choices.includes(value);

const part = among("body", "answer");

/** The fields of each action; a question mark: it may be absent. */
const ACTIONS: Record<FaultAction["kind"], Record<string, Field>> = {
  status: { status, "headers?": texts, "body?": text },
  reset: {},
  hang: {},
  delay: { ms: count },
  cut: { bytes: count, "of?": part },
  drip: { bytesPerSecond: positive, "of?": part },
  html: {},
  endless: {},
  gzip: { "bombBytes?": count },
  redirect: { to: text, "status?": status },
  raw: { body: text, contentType: text, "status?": status },
  "big-headers": { "bytes?": count },
};

const RULE = { "match?": isMap, "times?": (v: unknown) => v === "forever" || count(v), "skip?": count, do: isMap };
const MATCH = { "method?": text, "path?": among(...KINDS), "feed?": among(...FEEDS), "order?": text };

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkFields(value: Record<string, unknown>, fields: Record<string, Field>, at: string): void {
  const known = new Map(Object.entries(fields).map(([key, field]) => [key.replace("?", ""), field]));
  for (const key of Object.keys(value)) {
    if (!known.has(key)) throw new TypeError(`${at}.${key}: no such property; known: ${[...known.keys()].join(", ")}`);
  }
  for (const [written, field] of Object.entries(fields)) {
    const key = written.replace("?", "");
    const given = value[key];
    if (given === undefined && written.endsWith("?")) continue;
    if (!field(given)) throw new TypeError(`${at}.${key}: ${JSON.stringify(given) ?? "nothing"} does not fit`);
  }
}

/** A rule of unknown origin, checked. Throws TypeError that names the property. */
export function readFaultRule(value: unknown): FaultRule {
  if (!isMap(value)) throw new TypeError("a rule is an object");
  checkFields(value, { ...RULE, "when?": among("before", "after") }, "rule");
  if (isMap(value["match"])) checkFields(value["match"], MATCH, "rule.match");
  const { kind, ...fields } = value["do"] as Record<string, unknown>;
  if (typeof kind !== "string" || !Object.hasOwn(ACTIONS, kind)) {
    throw new TypeError(`rule.do.kind: one of ${Object.keys(ACTIONS).join(", ")}`);
  }
  checkFields(fields, ACTIONS[kind as FaultAction["kind"]], "rule.do");
  return value as unknown as FaultRule;
}
