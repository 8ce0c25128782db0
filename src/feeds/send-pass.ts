import type { AnswerCounts, CountedOtherwise } from "../service/answer-counts.ts";
import type { ServiceError } from "../service/service-error.ts";
import type { FeedPass } from "./absorb-feed.ts";
import type { FeedRules } from "./feed.ts";
import type { OutboxRow } from "./feed-outbox.ts";
import type { Refusal, RefusalTrial } from "./refusal-trial.ts";

export interface SendOptions {
  rules: FeedRules;
  /** Deadline of one request: until then an answer that did not come may still have been an effect. */
  timeoutMs: number;
}

/** What a pass has found out of the service and of single rows; what it says of one counts with what it says of others. */
export interface SendPass extends FeedPass {
  readonly trial: RefusalTrial<OutboxRow>;
  /** A row from the far end of what waits, to find out whether the service takes anything at all. */
  readonly control: () => Promise<OutboxRow | undefined>;
  /** The rows as they were before their first request. */
  readonly before: Map<number, OutboxRow>;
  /** Rows of requests of which the service has counted only a part, by the name of the count. */
  readonly short: Map<number, string>;
  /** Halves of such requests that were not answered since, with how many were taken by that count before and after. */
  readonly divided: Map<string, { name: string; taken: number; counted: number; left: number }>;
  /** Rows of requests of which none was counted, while nothing shows whether that says that they are the same. */
  readonly undecided: Set<number>;
  /** A record that was accepted, the last one: sent again at once, it changes nothing. */
  lastAccepted: Entry | undefined;
  lastRefused: Refused | undefined;
  /** What the service failed with at a record alone. */
  failure: ServiceError | undefined;
}

/** One record of a request. Without a row: the service takes the whole table in each request. */
export interface Entry {
  key: readonly string[];
  record: string;
  row: OutboxRow | undefined;
}

/** A record that the answer reports as refused. */
export type Named = Entry & { words: string };

export type Outcome =
  | { kind: "accepted"; status: number; accepted: number; named: readonly Named[] }
  /** What became of the records that are not named is unknown. */
  | { kind: "partial"; status: number; words: string; named: readonly Named[] }
  | Refused;

export type Refused = Refusal & {
  kind: "refused";
  code: "request_refused" | "redirected";
  short?: Short;
};

/** The service has counted fewer records than were sent. `isEarly`: of a half, before the other one was sent. */
export type Short = CountedOtherwise & { isEarly?: boolean };

/** What an answer counts, and of how many records that were not refused by name. */
export interface Counted {
  counts: AnswerCounts;
  size: number;
}
