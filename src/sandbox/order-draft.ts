import * as z from "zod";
import { checked } from "./checked.ts";

const NUMBER_LITERAL = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** A number, or its literal where digits matter: `"0.250"`. */
const amount = z.union([z.number(), z.string().regex(NUMBER_LITERAL)], { error: "expected a number or its digits" });
const json = z.string().refine(isJson, "expected JSON text");

/** A line as a caller describes it; what is absent gets a plain value. */
const LINE = z.strictObject({
  id: json.optional(),
  sku: z.string(),
  name: z.string().optional(),
  quantity: amount.optional(),
  price: amount.optional(),
});

/** Which content to change. A total that is not given follows the lines. */
const CONTENT = z.strictObject({
  number: z.string().optional(),
  status: z.string().optional(),
  currency: z.string().optional(),
  total: amount.optional(),
  lines: z.array(LINE).readonly().optional(),
  /** Further properties: their names and JSON text. */
  extra: z.record(z.string(), json).readonly().optional(),
  /** A record's text served as it is in place of everything else; null for a usual order. */
  raw: z.string().nullable().optional(),
});

/** A new version of an order. Without a timestamp of its own it is made now. */
const CHANGE = CONTENT.extend({
  /** Milliseconds since 1970, of any time. */
  timestamp: z.number().optional(),
  /** The timestamp that now gets if it comes so late. */
  lateByMs: z.number().optional(),
  /** The timestamp of the version before. */
  keepTimestamp: z.boolean().optional(),
  /** JSON text to show in place of the timestamp; null leaves the property out. The feed still goes by the true timestamp. */
  timestampText: json.nullable().optional(),
});

/** `id`: a UUID; given to the client as `shape.upperCaseIds` says. */
const DRAFT = CHANGE.extend({ id: z.string().optional() });

const ORDERS_AT_ONCE_MAX = 100_000;
/** Several orders share what the draft says. */
const NEW_ORDERS = z.strictObject({
  count: z.int().min(1).max(ORDERS_AT_ONCE_MAX).default(1),
  order: DRAFT.default({}),
});

export type LineDraft = Readonly<z.infer<typeof LINE>>;
export type ContentPatch = Readonly<z.infer<typeof CONTENT>>;
export type ChangePatch = Readonly<z.infer<typeof CHANGE>>;
export type OrderDraft = Readonly<z.infer<typeof DRAFT>>;

/** Orders to make, described from outside, checked. Throws TypeError that names the property. */
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
