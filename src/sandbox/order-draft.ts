import * as z from "zod";
import { checked } from "./checked.ts";

const NUMBER_LITERAL = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** A number, or its literal where all digits matter: `"0.250"`. */
const amount = z.union([z.number(), z.string().regex(NUMBER_LITERAL)], { error: "expected a number or its digits" });
const json = z.string().refine(isJson, "expected JSON text");

/** A line; absent properties have simple defaults. */
const LINE = z.strictObject({
  id: json.optional(),
  sku: z.string(),
  name: z.string().optional(),
  quantity: amount.optional(),
  price: amount.optional(),
});

/** The content to change. An absent total is computed from the lines. */
const CONTENT = z.strictObject({
  number: z.string().optional(),
  status: z.string().optional(),
  currency: z.string().optional(),
  total: amount.optional(),
  lines: z.array(LINE).readonly().optional(),
  /** Further properties: their names and JSON text. */
  extra: z.record(z.string(), json).readonly().optional(),
  /** The text of a record served instead of everything else; null for a usual order. */
  raw: z.string().nullable().optional(),
});

/** A new version of an order. Its timestamp is the current time by default. */
const CHANGE = CONTENT.extend({
  /** Milliseconds since 1970, any time. */
  timestamp: z.number().optional(),
  /** How much earlier than now its timestamp is: a change that is listed late. */
  lateByMs: z.number().optional(),
  /** Keeps the timestamp of the former version. */
  keepTimestamp: z.boolean().optional(),
  /** JSON text written instead of the timestamp; null omits it. The feed still uses the true timestamp. */
  timestampText: json.nullable().optional(),
});

/** `id`: a UUID; written as configured in `shape.upperCaseIds`. */
const DRAFT = CHANGE.extend({ id: z.string().optional() });

const ORDERS_AT_ONCE_MAX = 100_000;
/** Several orders with the same draft. */
const NEW_ORDERS = z.strictObject({
  count: z.int().min(1).max(ORDERS_AT_ONCE_MAX).default(1),
  order: DRAFT.default({}),
});

export type LineDraft = Readonly<z.infer<typeof LINE>>;
export type ContentPatch = Readonly<z.infer<typeof CONTENT>>;
export type ChangePatch = Readonly<z.infer<typeof CHANGE>>;
export type OrderDraft = Readonly<z.infer<typeof DRAFT>>;

/** Parses the orders to create. Throws TypeError that names the invalid property. */
export function readNewOrders(value: unknown): { count: number; order: OrderDraft } {
  return checked(NEW_ORDERS, value);
}

/** The same for a change. */
export function readChange(value: unknown): ChangePatch {
  return checked(CHANGE, value);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
