/** Reasons of holds. Those that are probed end by themselves; the others end when a person acts. */
export type HoldReason =
  | "credentials"
  | "payment"
  | "rate limit"
  | "refused"
  | "hand-out lost"
  | "tie"
  /** Shown only, nothing is held: a pass over the list of changes reached its limit, and the next continues there. */
  | "behind"
  /** Shown only, nothing is held: pages of changes lack their oldest entries, which are searched for order by order. */
  | "cut"
  /** There is no room to keep another unreadable answer. */
  | "unread"
  /** Shown only, nothing is held: the outcome of rows is unknown, because their answers were in a new form. */
  | "answer"
  | "guard"
  | "table"
  | "disk"
  | "mapping"
  | "account"
  /** Shown only, nothing is held: data that a restore could not bring back. */
  | "restored"
  /** A restore could not bring over a feed's source: it may be as old as the copy. */
  | "unrestored";

/** `area`: holds all flows of the area. `flow`: holds only the flow of this name; the pull has the name of its area. */
export type HoldScope = "area" | "flow";
