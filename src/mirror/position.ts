/* The position of a shop's mirror in PostgreSQL. SQL, because the row is locked and its search_path is the connection's. */
import type { InferSelectModel } from "drizzle-orm";
import { m } from "../messages/messages.ts";
import type { MirrorLink, MirrorTx, Param } from "./connection.ts";
import { MirrorError } from "./mirror-error.ts";
import type { positions } from "./schema/postgres-schema.ts";
import { SEEN_TRIGGERS } from "./schema/triggers.ts";

export type Position = Omit<InferSelectModel<typeof positions>, "heardAt" | "silentAfter" | "sentence">;

/** Identifies this process. */
export interface Self {
  shop: string;
  /** The id of the shop's database, `meta.database`. */
  databaseId: string;
  /** A random id of the process. */
  writer: string;
  host: string;
  version: string;
  /** A hash that identifies the account at the service. */
  account: string;
}

const COLUMNS = `shop, database_id AS "databaseId", writer, writer_no AS "writerNo", takeover_no AS "takeoverNo", host, version, epoch,
  orders_seq AS "ordersSeq", events_seq AS "eventsSeq", walk, walk_after AS "walkAfter",
  compared_at AS "comparedAt", extra_orders AS "extraOrders", up_no AS "upNo", account, turn`;

/** The position and pending work, read by one statement without locks. */
export interface Seen extends Position {
  /** Whether `touched` has rows of the shop. */
  isTouched: boolean;
  /** Differs after a trigger of the ERP's tables was created, dropped, enabled or disabled, even if that was undone. */
  triggers: string;
  /** Whether another machine that worked for the shop has listed orders. */
  hasStrays: boolean;
  /** Seconds since this shop last wrote to PostgreSQL. */
  heardS: number;
  /** When that was, in seconds since 1970. */
  heardAtS: number;
  /** Whether that is longer ago than a working bridge allows. */
  isSilent: boolean;
}

export async function lookAtPosition(link: MirrorLink, shop: string): Promise<Seen | undefined> {
  const [seen] = await link.look<Seen>(
    `SELECT ${COLUMNS}, EXISTS (SELECT 1 FROM touched t WHERE t.shop = p.shop) AS "isTouched",
       EXISTS (SELECT 1 FROM strays s WHERE s.shop = p.shop) AS "hasStrays",
       ${SEEN_TRIGGERS} AS triggers,
       extract(epoch FROM clock_timestamp() - heard_at)::int AS "heardS", extract(epoch FROM heard_at)::bigint AS "heardAtS",
       heard_at < clock_timestamp() - silent_after AS "isSilent" FROM positions p WHERE shop = $1`,
    [shop],
    "position",
  );
  return seen;
}

/** FOR NO KEY UPDATE, because FOR UPDATE would block inserts of rows that reference the shop. */
export async function lockPosition(tx: MirrorTx, shop: string): Promise<Position | undefined> {
  const [position] = await tx.query<Position>(`SELECT ${COLUMNS} FROM positions WHERE shop = $1 FOR NO KEY UPDATE`, [
    shop,
  ]);
  return position;
}

/** The columns that a transaction changes. */
export type Move = Partial<
  Pick<
    Position,
    | ("writer" | "writerNo" | "host" | "version" | "epoch" | "ordersSeq" | "eventsSeq")
    | ("walk" | "walkAfter" | "extraOrders" | "comparedAt" | "takeoverNo" | "databaseId" | "upNo" | "account")
  >
> & { sentence?: string | null; silentAfterS?: number };

const NAMES: Record<keyof Move, string> = {
  writer: "writer",
  writerNo: "writer_no",
  takeoverNo: "takeover_no",
  databaseId: "database_id",
  host: "host",
  version: "version",
  epoch: "epoch",
  ordersSeq: "orders_seq",
  eventsSeq: "events_seq",
  walk: "walk",
  walkAfter: "walk_after",
  extraOrders: "extra_orders",
  comparedAt: "compared_at",
  upNo: "up_no",
  account: "account",
  sentence: "sentence",
  silentAfterS: "silent_after",
};

/**
 * Ends every writing transaction: advances the position together with the rows that it covers, and increments `turn`.
 * Returns the turn.
 */
export async function savePosition(tx: MirrorTx, shop: string, move: Move): Promise<number> {
  const entries = Object.entries(move) as [keyof Move, Param][];
  const sets = entries.map(([name], index) =>
    name === "silentAfterS" ? `silent_after = make_interval(secs => $${index + 2})` : `${NAMES[name]} = $${index + 2}`,
  );
  const [row] = await tx.query<{ turn: number }>(
    `UPDATE positions SET ${[...sets, "turn = turn + 1", "heard_at = clock_timestamp()"].join(", ")} WHERE shop = $1 RETURNING turn`,
    [shop, ...entries.map(([, value]) => value)],
  );
  if (row === undefined) throw new Error("The position was not there to be moved.");
  return row.turn;
}

/**
 * Two databases with the same shop key would overwrite each other's rows.
 * @throws MirrorError `mirror_database`
 */
export function refuseOtherDatabase(position: Pick<Position, "databaseId" | "host">, self: Self): void {
  if (position.databaseId === self.databaseId) return;
  throw new MirrorError("mirror_database", m.mirror.otherDatabase({ shop: self.shop, host: position.host ?? "?" }), {
    hint: m.mirror.otherDatabaseHint,
  });
}
