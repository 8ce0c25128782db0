/*
 * Reads around values that PostgreSQL cannot return as text: numbers with more than a gigabyte of digits, or text with bytes
 * of another encoding. The whole statement fails, so the row is isolated by reading fewer rows each time; others do not wait.
 */
import { m } from "../../messages/messages.ts";
import type { MirrorTx } from "../connection.ts";
import { MirrorError } from "../mirror-error.ts";

/** A row as text, or why there is none. */
export interface FoundRow {
  content: string | null;
  /** The row exceeds the size limit. */
  isLarge?: boolean | null;
  /** PostgreSQL's error text. */
  why?: string | undefined;
}

/** The reason for the row's `error`; undefined where it was read. */
export function unreadableOf({ isLarge, why }: FoundRow, bytesMax: number): string | undefined {
  if (why !== undefined) return String(m.mirror.unreadable({ why }));
  return isLarge === true ? String(m.mirror.tooLarge({ megabytes: bytesMax / 1024 / 1024 })) : undefined;
}

const OUT_OF_MEMORY = "53200";
/** Each try may take PostgreSQL half a minute. */
const FEWER = 16;

/** Whether an error concerns a value. */
export function isOfValue(error: unknown): error is MirrorError {
  return error instanceof MirrorError && (error.isOfData || error.sqlState === OUT_OF_MEMORY);
}

/** Whether it may concern one: JSON of a large value is made for longer than a statement may take. */
export function mayBeOfValue(error: unknown): error is MirrorError {
  return isOfValue(error) || (error instanceof MirrorError && error.isTooLong);
}

/**
 * As many of the next rows as can be given. Where the first of them cannot, it comes alone, with the reason in the place of its values. What is
 * written meanwhile has a later note than the key that is read before the value.
 */
export async function readReadable<F extends FoundRow>(
  tx: MirrorTx,
  limit: number,
  act: {
    read: (some: number) => Promise<readonly F[]>;
    /** The first one, without its values. */
    readKey: () => Promise<readonly F[]>;
    readOne: (found: F) => Promise<readonly FoundRow[]>;
  },
): Promise<readonly F[]> {
  for (let some = limit; some > 1; some = Math.floor(some / FEWER)) {
    const found = await unlessOfValue(tx, () => act.read(some));
    if (typeof found !== "string") return found;
  }
  const [first] = await act.readKey();
  if (first === undefined) return [];
  const one = await unlessOfValue(tx, () => act.readOne(first));
  return [typeof one === "string" ? { ...first, content: null, why: one } : { ...first, content: null, ...one[0] }];
}

async function unlessOfValue<T>(tx: MirrorTx, read: () => Promise<T>): Promise<T | string> {
  try {
    return await tx.savepoint(read);
  } catch (error) {
    if (!mayBeOfValue(error)) throw error;
    // Where PostgreSQL is away, no value is to blame.
    if (error.isTooLong) await tx.query("SELECT 1");
    return error.message;
  }
}
