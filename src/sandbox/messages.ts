/** What the transport hands to the model. Header names are in lower case; `path` carries the query as it was sent. */
export interface SandboxRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * How the answer travels. All but `plain` are the transport's duty:
 * - `reset` the connection is torn down without an answer; `hang` nothing is ever sent;
 * - `delay` the effect has happened, the answer waits; `later` the effect itself waits: after `ms` the transport calls
 *   `complete` (also when the client has gone) and delivers what it returns;
 * - `cut` so many bytes are sent, then the connection is closed; `drip` the bytes come slowly (`answer`: head included);
 * - `endless` the body is followed by white space for ever.
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

/** What a request asks for; also the names by which a fault rule chooses requests. */
export const REQUEST_KINDS = ["orders", "confirm", "updates", "snapshot", "status", "import", "unknown"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

export const FEEDS = ["stocks", "prices", "catalog", "images"] as const;
export type Feed = (typeof FEEDS)[number];

/**
 * What a request did to the service, as the ledger keeps it. Batch ids are JSON literals (a string id with its quotes),
 * null where batches have none; order ids are in lower case.
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
    };

/** One record of an answer: a whole order, or a change that names only what moved. */
export interface ServedRecord {
  readonly orderId: string;
  readonly text: string;
  readonly whole: boolean;
}

/**
 * An answer that has been worked out but has had no effect yet. Keeping the two apart is what lets a fault take away
 * the answer, the effect or both.
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

/** A plan without effect that answers with JSON text. */
export function answerText(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Plan {
  const noEffect = { served: [], effect: null, commit: () => {} };
  return { status, headers: { ...JSON_TYPE, ...headers }, body, ...noEffect };
}

/** A refusal in words, `{"error": …}`. */
export function refuse(status: number, error: string, headers: Readonly<Record<string, string>> = {}): Plan {
  return answerText(status, JSON.stringify({ error }), headers);
}
