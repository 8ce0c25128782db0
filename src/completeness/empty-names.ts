/*
 * Decides whether an answer without orders that names a batch is a batch to be confirmed, or the service's usual answer
 * when there is nothing. An answer with a name is a batch, unless the service names its empty answers. Pure.
 */

/** Names are digests. */
export interface EmptyNames {
  /** Whether empty answers usually have a name. Absent: unknown. */
  usual?: "none" | "named";
  /** The number of consecutive empty answers without a name, up to {@link UNNAMED_TIMES}. */
  unnamed?: number;
  /** The name of the last empty answer. */
  last?: string;
  /** Orders under another name have been received since. */
  isPast?: true;
  /** Where each empty answer seems to have a new name: the first such names, up to {@link FIRST_MAX}. */
  first?: readonly string[];
  /** How many of these names were confirmed as those of batches, up to {@link TRIALS_MAX}. */
  trials?: number;
  /**
   * A name was received again after another one: several batches are served in turn. Until orders are received, a
   * different name does not show that names are always new.
   */
  isReturned?: true;
}

const UNNAMED_TIMES = 3;
const FIRST_MAX = 5;
/** Several batches that lost their orders may wait one behind the other, and confirms of them may be lost. */
const TRIALS_MAX = 6;

/**
 * Whether an empty answer with a name is the service's usual one. Where each has a new name, so may a batch at each
 * delivery: only confirms without effect show that these are no batches.
 */
export function isNothing({ usual, first, trials = 0 }: EmptyNames): boolean {
  return usual === "named" && (first === undefined || trials >= TRIALS_MAX);
}

/** Whether the empty answers so far may have been batches that had lost their orders: the answer for nothing may be of another kind. */
export function mayBeBatches(names: EmptyNames): boolean {
  return (names.last ?? names.first) !== undefined && !isNothing(names);
}

/** Learns from an answer with orders. Returns the same object where nothing is new. */
export function learnServedName(names: EmptyNames, name: string | undefined): EmptyNames {
  if (names.usual !== undefined || names.last === undefined) return names;
  // The batch was named before its orders were available.
  if (name === names.last) return { usual: "named" };
  return names.isPast ? names : { ...names, isPast: true };
}

/**
 * Learns from an answer without orders. Returns the same object where nothing is new.
 * @param isConfirmed its name was confirmed as that of a batch, and it is still served
 */
export function learnEmptyName(names: EmptyNames, name: string | undefined, isConfirmed: boolean): EmptyNames {
  const { usual, last, isPast = false, isReturned, first } = names;
  if (usual !== undefined && first === undefined) return names;
  if (name === undefined) {
    const unnamed = (names.unnamed ?? 0) + 1;
    return unnamed >= UNNAMED_TIMES ? { usual: "none" } : { ...names, unnamed };
  }
  if (first !== undefined) return learnFirst(names, first, name);
  if (isConfirmed) return { usual: "named" };
  if (isReturned && !isPast) return names.unnamed === undefined ? names : { last: name, isReturned };
  // The service's own name for nothing, or a batch that it delivers again: a confirm shows which.
  if (last === name && isPast) return names;
  if (last !== undefined && last !== name && !isPast) return { usual: "named", first: [last, name] };
  return last === name && names.unnamed === undefined ? names : { last: name };
}

/** A name that is new each time does not return. Where one returns, two batches without orders are served in turn. */
function learnFirst({ unnamed: _, ...names }: EmptyNames, first: readonly string[], name: string): EmptyNames {
  if (first.at(-1) === name) return names;
  if (first.includes(name)) return { last: name, isReturned: true };
  return first.length < FIRST_MAX ? { ...names, first: [...first, name] } : names;
}
