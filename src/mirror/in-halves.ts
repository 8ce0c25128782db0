import type { MirrorTx } from "./connection.ts";
import { MirrorError } from "./mirror-error.ts";

/** A row that PostgreSQL refuses, and its error text. */
export interface RefusedRow<R> {
  row: R;
  why: string;
}

/**
 * Writes rows inside savepoints. Where PostgreSQL refuses some of them (a constraint, a trigger), they are found by halving, and the
 * others are written.
 * @param write resolves to a reason if it wrote fewer rows than it was given
 * @returns the refused rows
 */
export async function inHalves<R>(
  tx: MirrorTx,
  rows: readonly R[],
  write: (part: readonly R[]) => Promise<string | undefined>,
): Promise<RefusedRow<R>[]> {
  const [first] = rows;
  if (first === undefined) return [];
  const why = await refusalOf(tx, () => write(rows));
  if (why === undefined) return [];
  if (rows.length === 1) return [{ row: first, why }];
  const middle = Math.ceil(rows.length / 2);
  const refused = await inHalves(tx, rows.slice(0, middle), write);
  return [...refused, ...(await inHalves(tx, rows.slice(middle), write))];
}

/** Why PostgreSQL refuses what `write` sends; undefined where it accepts it. */
export async function refusalOf(tx: MirrorTx, write: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await tx.savepoint(write);
  } catch (error) {
    if (error instanceof MirrorError && error.isOfData) return error.message;
    throw error;
  }
}
