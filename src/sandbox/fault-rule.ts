import * as z from "zod";
import { checked } from "./checked.ts";
import { FEEDS, REQUEST_KINDS } from "./messages.ts";

const count = z.int().min(0);
const status = z.int().min(200).max(599);
/** Of the body, or of the whole answer, head included. */
const part = z.enum(["body", "answer"]).optional();

/** The effect of a fault on an answer. */
const ACTIONS = [
  /** Another status; the body is `{"error": …}` by default. */
  z.strictObject({
    kind: z.literal("status"),
    status,
    headers: z.record(z.string(), z.string()).optional(),
    body: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal("reset") }),
  z.strictObject({ kind: z.literal("hang") }),
  /**
   * `before`: the effect itself is late, and happens even if the client has disconnected; `after`: only the answer is
   * late.
   */
  z.strictObject({ kind: z.literal("delay"), ms: count }),
  /** Closes the connection after so many bytes. */
  z.strictObject({ kind: z.literal("cut"), bytes: count, of: part }),
  z.strictObject({ kind: z.literal("drip"), bytesPerSecond: z.number().positive(), of: part }),
  /** 200 with the page of a captive portal. */
  z.strictObject({ kind: z.literal("html") }),
  /** The answer, then endless white space. */
  z.strictObject({ kind: z.literal("endless") }),
  /** The answer compressed without being requested; with `bombBytes`, so many spaces instead. */
  z.strictObject({ kind: z.literal("gzip"), bombBytes: count.optional() }),
  z.strictObject({ kind: z.literal("redirect"), to: z.string(), status: status.optional() }),
  z.strictObject({ kind: z.literal("raw"), body: z.string(), contentType: z.string(), status: status.optional() }),
  z.strictObject({ kind: z.literal("big-headers"), bytes: count.optional() }),
] as const;
const ACTION = z.discriminatedUnion("kind", ACTIONS, {
  error: `expected a kind out of ${ACTIONS.map(({ shape }) => shape.kind.value).join(", ")}`,
});

const MATCH = z.strictObject({
  method: z.string().optional(),
  path: z.enum(REQUEST_KINDS).optional(),
  feed: z.enum(FEEDS).optional(),
  /** The id of an order, for requests with it in their path. */
  order: z.string().optional(),
});

/**
 * One rule. The first matching rule applies to a request, `times` times (1 by default), after `skip` matching requests.
 * `before` (default): the effect does not happen; `after`: it does, and the answer is lost or changed.
 */
const RULE = z.strictObject({
  match: MATCH.optional(),
  times: z.union([count, z.literal("forever")], { error: 'expected a whole number or "forever"' }).optional(),
  skip: count.optional(),
  when: z.enum(["before", "after"]).optional(),
  do: ACTION,
});

export type FaultAction = z.infer<typeof ACTION>;
export type FaultRule = z.infer<typeof RULE>;

/** Parses a rule. Throws TypeError that names the invalid property. */
export function readFaultRule(value: unknown): FaultRule {
  return checked(RULE, value);
}
