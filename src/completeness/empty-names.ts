/*
 * Whether an answer without orders that names a batch is that batch, which waits to be confirmed, or how the service says
 * that there is nothing. What has a name is a batch, unless the service names its empty answers. Pure.
 */

/** Names are digests. */
export interface EmptyNames {
  /** Whether empty answers usually have a name. Absent: it is not known. */
  usual?: "none" | "named";
  /** Empty answers without a name in a row, up to {@link UNNAMED_TIMES}. */
  unnamed?: number;
  /** The name that came last with nothing. */
  last?: string;
  /** Orders under another name have come since. */
  isPast?: true;
  /** Where each empty answer seems to have a new name: the first such names, up to {@link FIRST_MAX}. */
  first?: readonly string[];
  /** A name came again after another one: batches wait by turns, and until orders come no name says that each is new. */
  isReturned?: true;
}

const UNNAMED_TIMES = 3;
const FIRST_MAX = 5;

/** An answer with orders was read. The same object where nothing is new. */
export function learnServedName(names: EmptyNames, name: string | undefined): EmptyNames {
  if (names.usual !== undefined || names.last === undefined) return names;
  // Its orders came later: it was open.
  if (name === names.last) return { usual: "named" };
  return names.isPast ? names : { ...names, isPast: true };
}

/**
 * An answer without orders was read. The same object where nothing is new.
 * @param isConfirmed its name was confirmed as that of a batch, and it is served all the same
 */
export function learnEmptyName(names: EmptyNames, name: string | undefined, isConfirmed: boolean): EmptyNames {
  const { usual, last, isPast = false, isReturned, first } = names;
  if (usual !== undefined) return first === undefined || name === undefined ? names : learnFirst(names, first, name);
  if (name === undefined) {
    const unnamed = (names.unnamed ?? 0) + 1;
    return unnamed >= UNNAMED_TIMES ? { usual: "none" } : { ...names, unnamed };
  }
  if (isConfirmed) return { usual: "named" };
  if (isReturned && !isPast) return names.unnamed === undefined ? names : { last: name, isReturned };
  if (last !== undefined && (last === name) === isPast)
    // The same again and again, or a new one each time.
    return isPast ? { usual: "named" } : { usual: "named", first: [last, name] };
  return last === name && names.unnamed === undefined ? names : { last: name };
}

/** What is new each time does not come again: two batches that have lost their orders are served by turns. */
function learnFirst(names: EmptyNames, first: readonly string[], name: string): EmptyNames {
  if (first.at(-1) === name) return names;
  if (first.includes(name)) return { last: name, isReturned: true };
  return first.length < FIRST_MAX ? { ...names, first: [...first, name] } : names;
}
