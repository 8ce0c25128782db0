/* Checks that the schema in PostgreSQL is the one for this program version, on every new connection. */
import path from "node:path";
import { loadMigrations, MIGRATIONS_FOLDER, type Migration } from "../../database/migrations.ts";
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import type { LinkOptions, MirrorTx } from "../connection.ts";
import { MirrorError, placeOf } from "../mirror-error.ts";
import { TOUCHED_TABLES } from "../up/erp-tables.ts";
import { triggersOf } from "./triggers.ts";

/** The first major version of PostgreSQL with `security_invoker` views. */
const NEEDED = 15;

let known: readonly Migration[] | undefined;

/** The migrations that `mirror init` applies, in order. */
export function mirrorMigrations(): readonly Migration[] {
  known ??= loadMigrations(path.join(MIGRATIONS_FOLDER, "postgres"));
  return known;
}

export interface AppliedToMirror {
  tag: string;
  hash: string;
}

/** Compares the applied migrations with the expected ones; pure. */
export function compareVersions(
  applied: readonly AppliedToMirror[],
  expected: readonly Migration[],
): "same" | "older" | "newer" | "other" {
  const isOther = applied.some(({ hash }, index) => expected[index] !== undefined && expected[index].hash !== hash);
  if (isOther) return "other";
  if (applied.length === expected.length) return "same";
  return applied.length < expected.length ? "older" : "newer";
}

type Place = Pick<LinkOptions, "target" | "schema" | "shop">;

interface Found {
  server: number;
  version: string;
  exists: boolean;
  mayUse: boolean;
  isMade: boolean;
}

/** @throws MirrorError `mirror_schema`, `mirror_right` where the schema cannot be used */
export async function verifySchema(query: MirrorTx["query"], place: Place): Promise<void> {
  const found = await inspect(query, place);
  const at = placeOf(place.target);
  const { schema } = place;
  if (found.exists && !found.mayUse)
    throw new MirrorError("mirror_right", m.mirror.right({ at, user: place.target.user, why: `USAGE, ${schema}` }), {
      hint: m.mirror.rightHint({ shop: place.shop }),
    });
  if (!found.isMade) throw wrongSchema(m.mirror.noSchema({ at, schema }), m.mirror.initHint);
  const applied = await query<AppliedToMirror>("SELECT tag, hash FROM migrations ORDER BY id");
  const outcome = compareVersions(applied, mirrorMigrations());
  if (outcome === "older") throw wrongSchema(m.mirror.olderSchema({ at, schema }), m.mirror.initHint);
  if (outcome === "newer") throw wrongSchema(m.mirror.newerSchema({ at, schema }), m.mirror.newerHint);
  if (outcome === "other") throw wrongSchema(m.mirror.otherSchema({ at, schema }), m.mirror.newerHint);
  const tables = await findDisarmed(query, schema);
  if (tables.length > 0)
    throw wrongSchema(m.mirror.disarmed({ at, schema, tables: tables.join(", ") }), m.mirror.initHint);
}

/** Tables whose rows belong to one shop or one role, protected by row-level security. */
export const SHOP_TABLES = [
  ...[
    "shop_keys",
    "shop_roles",
    "positions",
    "orders",
    "order_events",
    "batches",
    "quarantine",
    "conditions",
    "erp_queue",
    "touched",
    "strays",
  ],
  ...TOUCHED_TABLES,
];

/** Tables without row-level security or a needed trigger, as after a partial restore, or where these are disabled. */
async function findDisarmed(query: MirrorTx["query"], schema: string): Promise<string[]> {
  const wanted = SHOP_TABLES.map((name) => ({ name, triggers: triggersOf(name).map((trigger) => trigger.name) }));
  const rows = await query<{ name: string }>(
    `SELECT w.name FROM json_to_recordset($2::json) AS w(name text, triggers json)
     LEFT JOIN pg_class c ON c.relname = w.name AND c.relnamespace = to_regnamespace(quote_ident($1))
     WHERE c.relrowsecurity IS NOT TRUE OR NOT EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid)
       OR EXISTS (SELECT 1 FROM json_array_elements_text(w.triggers) t(name) WHERE NOT EXISTS (
         SELECT 1 FROM pg_trigger g WHERE g.tgrelid = c.oid AND g.tgname = t.name AND g.tgenabled IN ('O', 'A')))
     ORDER BY 1`,
    [schema, JSON.stringify(wanted)],
  );
  return rows.map(({ name }) => name);
}

/** Identifies the cluster and its timeline; undefined where this needs a privilege, as on some hosted servers. */
export async function identify(query: MirrorTx["query"]): Promise<string | undefined> {
  try {
    const [found] = await query<{ server: string }>(
      "SELECT s.system_identifier || '/' || c.timeline_id AS server FROM pg_control_system() s, pg_control_checkpoint() c",
    );
    return found?.server;
  } catch (error) {
    if ((error as { code?: unknown }).code === INSUFFICIENT_PRIVILEGE) return undefined;
    throw error;
  }
}

const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * Reads the state of the server and the schema, which may not exist yet.
 * @throws MirrorError `mirror_schema` where the server is too old
 */
export async function inspect(query: MirrorTx["query"], { target, schema }: Place): Promise<Found> {
  const [found] = await query<Found>(
    `SELECT current_setting('server_version_num')::int AS server, current_setting('server_version') AS version,
       to_regnamespace(quote_ident($1)) IS NOT NULL AS exists,
       coalesce(has_schema_privilege(to_regnamespace(quote_ident($1)), 'USAGE'), false) AS "mayUse",
       to_regclass(quote_ident($1) || '.migrations') IS NOT NULL AS "isMade"`,
    [schema],
  );
  if (found === undefined) throw new Error("PostgreSQL has not said what it is.");
  if (found.server >= NEEDED * 10_000) return found;
  const text = m.mirror.tooOld({ at: placeOf(target), version: found.version, needed: NEEDED });
  throw wrongSchema(text, m.mirror.tooOldHint);
}

function wrongSchema(text: Message, hint: Message): MirrorError {
  return new MirrorError("mirror_schema", text, { hint });
}
