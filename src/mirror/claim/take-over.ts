/*
 * A takeover in PostgreSQL: another machine continues for a shop. The claim is made before anything is created on the new
 * machine: the former one stops writing and sending requests as soon as it reads the claim.
 */
import type { MirrorLink } from "../connection.ts";
import { lockPosition, savePosition } from "../position.ts";

/** The state of a shop in PostgreSQL. */
export interface ShopStanding {
  writer: string | null;
  takeoverNo: number;
  databaseId: string;
  host: string | null;
  /** UTC, ISO 8601. */
  heardAt: string;
  heardS: number;
  sentence: string | null;
  /** Null where the shop has not stored its account. */
  account: string | null;
  orders: number;
  /** The highest event number that the shop's database is known to have assigned. */
  eventsSeq: number;
}

/** Undefined where the shop has never written to PostgreSQL. */
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

/** Returns the number of the takeover, to be stored in the database that continues. */
export async function claimTakeover(
  link: MirrorLink,
  shop: string,
  by: { writer: string; host: string; version: string; account: string },
): Promise<number> {
  return await link.transaction(async (tx) => {
    const position = await lockPosition(tx, shop);
    if (position === undefined) throw new Error("The shop was there a moment ago.");
    const takeoverNo = position.takeoverNo + 1;
    // The former server may have applied a round that is not noted here: to the database that continues it is one that it lacks.
    const upNo = position.upNo + 1;
    await savePosition(tx, shop, { ...by, writerNo: position.writerNo + 1, takeoverNo, upNo });
    return takeoverNo;
  });
}
