/*
 * Removes a closed shop from the mirror: rows that wait for it would otherwise accumulate as long as an ERP writes them.
 * Orders and events are kept for reports. A row that an ERP writes for the shop afterwards violates a foreign key.
 */
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";
import { type LinkOptions, MirrorLink } from "../connection.ts";

/** In an order that satisfies foreign keys. */
const TABLES = [
  ...(["erp_queue", "conditions", "batches", "quarantine"] as const),
  ...(["stock", "prices", "products", "images", "erp_orders", "status_requests"] as const),
  ...(["touched", "strays", "positions", "shop_roles", "shop_keys"] as const),
];

interface Found {
  isHeard: boolean | null;
  host: string | null;
}

/**
 * Returns the number of deleted rows, by table.
 * @throws BridgeError `usage` where the shop is unknown or still working
 */
export async function removeShop(options: Omit<LinkOptions, "verify">): Promise<Record<string, number>> {
  const { shop } = options;
  const link = new MirrorLink(options);
  try {
    return await link.transaction(async (tx) => {
      const [found] = await tx.query<Found>(
        `SELECT p.heard_at > clock_timestamp() - p.silent_after AS "isHeard", p.host
         FROM shop_keys k LEFT JOIN positions p ON p.shop = k.shop WHERE k.shop = $1 FOR UPDATE OF k`,
        [shop],
      );
      if (found === undefined) throw new BridgeError("usage", m.mirror.removeUnknown({ shop }));
      if (found.isHeard === true)
        throw new BridgeError("usage", m.mirror.removeHeard({ shop, host: found.host ?? "?" }));
      const rows: Record<string, number> = {};
      for (const table of TABLES) rows[table] = await tx.run(`DELETE FROM ${table} WHERE shop = $1`, [shop]);
      return rows;
    });
  } finally {
    link.close();
  }
}
