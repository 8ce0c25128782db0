/** Why something waits. Reasons with a probe end by themselves; the others wait for a person. */
export type HoldReason =
  | "credentials"
  | "payment"
  | "rate limit"
  | "refused"
  | "hand-out lost"
  | "tie"
  /** Shown, not held: following reads on from where a pass reached its bound. */
  | "behind"
  /** Shown, not held: pages of changes lack their oldest, which are looked for order by order. */
  | "cut"
  /** No further answer that cannot be read has room. */
  | "unread"
  /** Shown, not held: what became of rows is unknown, because their answers were in a new form. */
  | "answer"
  | "guard"
  | "table"
  | "disk"
  | "mapping"
  | "account"
  /** Shown, not held: what a restore could not bring back. */
  | "restored"
  /** What a feed reads could not be brought over by a restore: it may be as old as the copy. */
  | "unrestored";

/** `area`: every flow of the area waits. `flow`: only the flow of this name, which for the pull is that of its area. */
export type HoldScope = "area" | "flow";
