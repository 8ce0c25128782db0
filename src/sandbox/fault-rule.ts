import * as z from "zod";
import { checked } from "./checked.ts";
import { FEEDS, REQUEST_KINDS } from "./messages.ts";

const count = z.int().min(0);
const status = z.int().min(200).max(599);
/** Of the body, or of the whole answer, head included. */
const part = z.enum(["body", "answer"]).optional();

/** What a fault does to an answer. */
const ACTIONS = [
  /** Another status; the body is `{"error": …}` unless given. */
  z.strictObject({
    kind: z.literal("status"),
    status,
    headers: z.record(z.string(), z.string()).optional(),
    body: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal("reset") }),
  z.strictObject({ kind: z.literal("hang") }),
  /** `before`: the effect itself comes late, also when the client has given up; `after`: only the answer does. */
  z.strictObject({ kind: z.literal("delay"), ms: count }),
  /** So many bytes, then the connection is closed. */
  z.strictObject({ kind: z.literal("cut"), bytes: count, of: part }),
  z.strictObject({ kind: z.literal("drip"), bytesPerSecond: z.number().positive(), of: part }),
  /** 200 with a page of a captive portal. */
  z.strictObject({ kind: z.literal("html") }),
  /** The answer, then white space for ever. */
  z.strictObject({ kind: z.literal("endless") }),
  /** The answer compressed though nobody asked; with `bombBytes`, so many spaces instead. */
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
  /** The id of one order, for requests that name it in their path. */
  order: z.string().optional(),
});

/**
 * One rule. Of the rules that match a request, the first that was added applies, so many `times` (1 unless said), after
 * letting `skip` matching requests pass. `before` (unless said): the effect does not happen; `after`: it does, and the
 * answer is lost or changed.
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

/** A rule of unknown origin, checked. Throws TypeError that names the property. */
export function readFaultRule(value: unknown): FaultRule {
  return checked(RULE, value);
}
