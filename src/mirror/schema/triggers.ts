/*
 * The triggers of the mirror's tables in PostgreSQL. They are checked on every new connection and after each change, and
 * recreated by `mirror init`.
 */
import { TOUCHED_TABLES, touchedKey } from "../up/erp-tables.ts";

interface Trigger {
  name: string;
  create: string;
  /** Fires also in sessions with `session_replication_role = replica`, such as replication or a restore. */
  isAlways: boolean;
}

const EVENTS: Readonly<Record<string, string>> = {
  INSERT: "REFERENCING NEW TABLE AS new_rows",
  UPDATE: "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows",
  DELETE: "REFERENCING OLD TABLE AS old_rows",
  TRUNCATE: "",
};

/** Triggers that record writes to a table of the ERP's in `touched`; without them a shop never gets those rows. */
function touchTriggers(table: string): Trigger[] {
  const events = Object.entries(EVENTS).filter(([event]) => event !== "TRUNCATE" || table !== "status_requests");
  return events.map(([event, rows]) => {
    const name = `touch_${event.toLowerCase()}`;
    const create = `CREATE TRIGGER ${name} AFTER ${event} ON ${table} ${rows} FOR EACH STATEMENT EXECUTE FUNCTION touch('${touchedKey(table)}')`;
    return { name, create, isAlways: true };
  });
}

/** Triggers that complete rows written by the ERP; replicated or restored rows already have these values. */
const ROW_TRIGGERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  erp_orders: {
    note_block: "BEFORE INSERT OR UPDATE OF state ON erp_orders FOR EACH ROW WHEN (NEW.state = 'blocked')",
    forget_refusal: "BEFORE UPDATE ON erp_orders FOR EACH ROW WHEN (OLD.error IS NOT NULL)",
  },
  status_requests: {
    note_known: "BEFORE INSERT ON status_requests FOR EACH ROW WHEN (NEW.known_revision IS NULL)",
    // They fire in the order of their names.
    keep_known: "BEFORE UPDATE OF known_revision ON status_requests FOR EACH ROW WHEN (NEW.order_id <> OLD.order_id)",
    note_corrected: "BEFORE UPDATE ON status_requests FOR EACH ROW WHEN (NEW.order_id <> OLD.order_id)",
  },
};

export function triggersOf(table: string): readonly Trigger[] {
  if (!TOUCHED_TABLES.includes(table)) return [];
  const ofRows = Object.entries(ROW_TRIGGERS[table] ?? {}).map(([name, when]) => ({
    name,
    create: `CREATE TRIGGER ${name} ${when} EXECUTE FUNCTION ${name}()`,
    isAlways: false,
  }));
  return [...touchTriggers(table), ...ofRows];
}

const listed = (names: readonly string[]) => names.map((name) => `'${name}'`).join(", ");
const OWN = listed([...new Set(TOUCHED_TABLES.flatMap((table) => triggersOf(table).map(({ name }) => name)))]);

/** SQL for a hash of these triggers' versions: a rewritten row of the catalog has another `xmin`. */
export const SEEN_TRIGGERS = `(SELECT hashtextextended(coalesce(string_agg(concat_ws(' ', g.oid, g.xmin), ',' ORDER BY g.oid), ''), 0)::text
         FROM pg_trigger g JOIN unnest(ARRAY[${listed(TOUCHED_TABLES)}]) own(name) ON g.tgrelid = to_regclass(own.name) WHERE g.tgname IN (${OWN}))`;
