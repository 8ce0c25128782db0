/*
 * What a takeover does in PostgreSQL: another machine goes on for a shop. The claim comes first, and only then is anything
 * made on the new machine: from then on the former one neither writes nor asks the service once it has looked.
 */
import type { MirrorLink } from "./connection.ts";
import { lockPosition, savePosition } from "./position.ts";

/** What PostgreSQL has of a shop. */
export interface ShopStanding {
  writer: string | null;
  takeoverNo: number;
  databaseId: string;
  host: string | null;
  /** UTC, ISO 8601. */
  heardAt: string;
  heardS: number;
  sentence: string | null;
  /** Null: it has not said of which account it is. */
  account: string | null;
  orders: number;
  /** The newest numbers of events that the shop's database had given. */
  eventsSeq: number;
}

/** Undefined: it has never written there. */
export async function lookAtShop(link: MirrorLink, shop: string): Promise<ShopStanding | undefined> {
  const [standing] = await link.look<ShopStanding>(
    `SELECT writer, takeover_no AS "takeoverNo", database_id AS "databaseId", host, to_char(heard_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "heardAt",
       greatest(extract(epoch FROM clock_timestamp() - heard_at), 0)::int AS "heardS", sentence, account,
       (SELECT count(*) FROM orders o WHERE o.shop = p.shop) AS orders, greatest(orders_seq, events_seq) AS "eventsSeq"
     FROM positions p WHERE shop = $1`,
    [shop],
  );
  return standing;
}

/** Returns the number of the takeover, which is stored in the database that goes on. */
export async function claimTakeover(
  link: MirrorLink,
  shop: string,
  by: { writer: string; host: string; version: string; account: string },
): Promise<number> {
  return await link.transaction(async (tx) => {
    const position = await lockPosition(tx, shop);
    if (position === undefined) throw new Error("The shop was there a moment ago.");
    const takeoverNo = position.takeoverNo + 1;
    await savePosition(tx, shop, { ...by, writerNo: position.writerNo + 1, takeoverNo });
    return takeoverNo;
  });
}
