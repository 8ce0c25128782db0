import type { AnswerCounts, CountedOtherwise } from "../../service/outcome/answer-counts.ts";
import type { ServiceError } from "../../service/service-error.ts";
import type { FeedPass } from "../diff/absorb-feed.ts";
import type { FeedRules } from "../feed.ts";
import type { OutboxRow } from "../feed-outbox.ts";
import type { Refusal, RefusalTrial } from "./refusal-trial.ts";

export interface SendOptions {
  rules: FeedRules;
  /** Deadline of one request: until then an unanswered one may still have an effect. */
  timeoutMs: number;
}

/** State of a pass: findings about the service and about single rows, which are interpreted together. */
export interface SendPass extends FeedPass {
  readonly trial: RefusalTrial<OutboxRow>;
  /** Why the feed is held. The pass is a probe then, and what is refused ends no hold. */
  readonly heldFor: readonly string[];
  /** Returns a control row: shows whether the service accepts anything at all. */
  readonly control: () => Promise<OutboxRow | undefined>;
  /** Whether rows wait beside those of the pass. */
  readonly hasOthers: () => boolean;
  /** The rows before their first request, by id. */
  readonly before: Map<number, OutboxRow>;
  /** Ids of rows in requests of which the service counted only a part, with the name of the count. */
  readonly short: Map<number, string>;
  /** Halves of such requests that are not yet answered, with the accepted records of the whole and of the halves so far. */
  readonly divided: Map<string, { name: string; taken: number; counted: number; left: number }>;
  /** Ids of rows in requests with a count of 0, while it is unknown whether that means unchanged. */
  readonly undecided: Set<number>;
  /** Parts of requests with fewer counted changes than there were, which go once more after all others. */
  readonly late: Set<string>;
  /** How many rows that were denied before have been denied again, with none of them accepted in between. */
  deniedInRow: number;
  /** The last accepted record: sent again at once, it changes nothing. */
  lastAccepted: Entry | undefined;
  lastRefused: Refused | undefined;
  /** The service's failure at a record sent alone. */
  failure: ServiceError | undefined;
}

/** One record of a request. Without a row, it is an acknowledged record of a table that is sent whole. */
export interface Entry {
  key: readonly string[];
  record: string;
  row: OutboxRow | undefined;
}

/** A record that the answer reports as refused. */
export type Named = Entry & { words: string };

export type Outcome =
  | { kind: "accepted"; status: number; accepted: number; named: readonly Named[] }
  /** The outcome of records that are not named is unknown. */
  | { kind: "partial"; status: number; words: string; named: readonly Named[] }
  | Refused;

export type Refused = Refusal & {
  kind: "refused";
  code: "request_refused" | "redirected" | "credentials_refused" | "payment_required";
  short?: Short;
  /** The body of an answer without a 2xx status. */
  body?: Buffer | undefined;
};

/**
 * A count smaller than the number of sent records. `isEarly`: of a part, before the others were sent. `parts`: the rows are sent
 * again at once, so many in a request.
 */
export type Short = CountedOtherwise & { isEarly?: boolean; parts?: number };

/** The counts of an answer, and the number of records that were not refused by name. */
export interface Counted {
  counts: AnswerCounts;
  size: number;
  /** The answer has a word for success. */
  isYes: boolean;
  /** When it was received. */
  at: string;
}
