/** A request as passed to the model. Header names are in lower case; `path` includes the query as sent. */
export interface SandboxRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * How the transport sends the answer:
 * - `reset` closes the connection without an answer; `hang` sends nothing;
 * - `delay` sends the answer later, after the effect; `later` delays the effect too: after `ms` the transport calls
 * `complete` (even if the client has disconnected) and sends the result;
 * - `cut` closes the connection after so many bytes; `drip` sends the bytes slowly (`answer`: including the head);
 * - `endless` sends white space after the body without end.
 */
export type Delivery =
  | { readonly kind: "plain" }
  | { readonly kind: "reset" }
  | { readonly kind: "hang" }
  | { readonly kind: "delay"; readonly ms: number }
  | { readonly kind: "later"; readonly ms: number; readonly complete: () => SandboxResponse }
  | { readonly kind: "cut"; readonly bytes: number; readonly of: "body" | "answer" }
  | { readonly kind: "drip"; readonly bytesPerSecond: number; readonly of: "body" | "answer" }
  | { readonly kind: "endless" };

export interface SandboxResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly delivery: Delivery;
}

/** The purpose of a request; fault rules select requests by these names. */
export const REQUEST_KINDS = ["orders", "confirm", "updates", "snapshot", "status", "import", "unknown"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

export const FEEDS = ["stocks", "prices", "catalog", "images"] as const;
export type Feed = (typeof FEEDS)[number];

/**
 * The effect of a request, as stored in the ledger. Batch ids are JSON literals (a string id with its quotes), null
 * where batches have no ids; order ids are in lower case.
 */
export type Effect =
  | { readonly kind: "handed-out"; readonly batchId: string | null; readonly orderIds: readonly string[] }
  | { readonly kind: "confirmed"; readonly batchIds: readonly (string | null)[]; readonly orderIds: readonly string[] }
  | { readonly kind: "status"; readonly orderId: string; readonly status: string }
  | {
      readonly kind: "import";
      readonly feed: Feed;
      readonly accepted: readonly { readonly key: string; readonly record: string }[];
      readonly rejected: readonly { readonly key: string; readonly message: string }[];
      /** The keys of records after those that the service takes of one request. */
      readonly untaken: readonly string[];
      /** How many accepted records differ from the stored ones. */
      readonly changed: number;
    };

/** One record of an answer: a whole order, or a change with only the changed properties. */
export interface ServedRecord {
  readonly orderId: string;
  readonly text: string;
  readonly whole: boolean;
}

/**
 * An answer whose effect has not happened yet. Because both are separate, a fault can suppress the answer, the effect
 * or both.
 */
export interface Plan {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly served: readonly ServedRecord[];
  readonly effect: Effect | null;
  readonly commit: () => void;
}

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

/** A plan without an effect that answers with JSON text. */
export function answerText(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Plan {
  const noEffect = { served: [], effect: null, commit: () => {} };
  return { status, headers: { ...JSON_TYPE, ...headers }, body, ...noEffect };
}

/** A refusal, `{"error": …}`. */
export function refuse(status: number, error: string, headers: Readonly<Record<string, string>> = {}): Plan {
  return answerText(status, JSON.stringify({ error }), headers);
}
