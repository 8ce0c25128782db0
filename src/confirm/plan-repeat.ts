/** An order that a refused confirm names, as it is stored. */
export interface NamedOrder {
  /** Where its newest revision came from, reading with another mapping aside; null: it is not stored. */
  source: string | null;
  /** It came then in an earlier batch of this account, and that batch is confirmed. */
  isConfirmed: boolean;
  /** An earlier batch of this account that is not confirmed holds it. */
  isUnconfirmed: boolean;
  /** A read of it is queued, or a record of it is held. */
  mayHaveChanged: boolean;
  /** The service has it no more. */
  isRemoved: boolean;
}

/** So often, an hour apart, the confirm of such a batch is refused, and none of its orders is served in between. Also of one that is gone. */
export const REPEAT_RETRIES = 2;

/** How often the service answered that it has no such batch, since anything of the batch was served. */
export interface GoneCount {
  retries: number;
  /** It has accepted the confirm of another batch in between. */
  isOtherAccepted: boolean;
}

/** Whether the service has carried out the confirm that it refused: it has the batch no more, and accepts others. */
export function isCarriedOut({ retries, isOtherAccepted }: GoneCount): boolean {
  return retries >= REPEAT_RETRIES && isOtherAccepted;
}

/**
 * Whether the batch of a refused confirm only repeats orders that were confirmed before, or that the service has no more. Not
 * where an order has changed since: a service may deliver it again and wait for this confirm.
 * @param hasBad a record of the batch may have been quarantined
 */
export function isRepeat(orders: readonly NamedOrder[], hasBad: boolean): boolean {
  if (hasBad || orders.length === 0) return false;
  return orders.every(
    ({ source, isConfirmed, isUnconfirmed, mayHaveChanged, isRemoved }) =>
      !mayHaveChanged && (isRemoved || (source === "batch" && isConfirmed && !isUnconfirmed)),
  );
}
