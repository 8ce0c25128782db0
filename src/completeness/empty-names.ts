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
}

const UNNAMED_TIMES = 3;

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
  if (names.usual !== undefined) return names;
  if (name === undefined) {
    const unnamed = (names.unnamed ?? 0) + 1;
    return unnamed >= UNNAMED_TIMES ? { usual: "none" } : { ...names, unnamed };
  }
  const { last, isPast = false } = names;
  // A new one each time, or the same again and again.
  if (isConfirmed || (last !== undefined && (last === name) === isPast)) return { usual: "named" };
  return last === name && names.unnamed === undefined ? names : { last: name };
}
