import { isNumber, type JudgedOrder } from "../completeness/lost-values.ts";
import { foldName } from "../database/same-name.ts";
import { stateOfStatus } from "./plan-order.ts";

/** The names of one list of `orders.statuses`. A service may write them in other letters for a while: `has` ignores case and surrounding space. */
export class StatusNames extends Set<string> {
  readonly #folded: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    super();
    for (const name of names) this.add(name);
    this.#folded = new Set(names.map(foldName));
  }

  override has(status: string): boolean {
    return this.#folded.has(foldName(status));
  }
}

interface NamedStatuses {
  cancelled: ReadonlySet<string>;
  closed: ReadonlySet<string>;
}

/** What a status shows of whether its record has lost something. */
export function judgeStatus(
  status: string | null,
  named: NamedStatuses,
): Pick<JudgedOrder, "isCancelled" | "isOddStatus"> {
  return { isCancelled: stateOfStatus(status, named).isCancelled, isOddStatus: isOddStatus(status, named) };
}

/** Whether a status is a number where those of the configuration are words, or a word where they are numbers. */
export function isOddStatus(status: string | null, { cancelled, closed }: NamedStatuses): boolean {
  if (status === null || status.trim() === "" || cancelled.has(status) || closed.has(status)) return false;
  const named = [...cancelled, ...closed];
  return isNumber(status) !== (named.length > 0 && named.every(isNumber));
}
