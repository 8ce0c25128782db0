/*
 * Creates the schema in PostgreSQL, or migrates it to the program's version, in one transaction: a crash leaves the former
 * state. Three roles without a login have the minimum privileges; the login role of a shop, an ERP or a reader is a member
 * of one of them and sees the shops listed for it in `shop_roles`.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { m } from "../../messages/messages.ts";
import type { LinkOptions, MirrorTx } from "../connection.ts";
import { MirrorLink } from "../connection.ts";
import { MirrorError, placeOf } from "../mirror-error.ts";
import { TOUCHED_TABLES } from "../up/erp-tables.ts";
import { type AppliedToMirror, compareVersions, inspect, mirrorMigrations, SHOP_TABLES } from "./schema-version.ts";
import { triggersOf } from "./triggers.ts";

/** Serializes concurrent runs, which would create the same roles. */
const LOCK = "SELECT pg_advisory_xact_lock(hashtext('erp-bridge mirror init'))";

const ERP_TABLES = ["erp_orders", "stock", "prices", "products", "images"];
const BRIDGE_TABLES = ["orders", "order_events", "batches", "quarantine", "conditions", "erp_queue"];
const OUTCOME = "state, attempts, http_status, answered_at, last_error, error";
const WANTED = "order_id, status, comment, data, known_revision";
const REQUEST = `id, shop, requested_at, ${WANTED}`;

export interface InitOptions {
  link: Omit<LinkOptions, "shop" | "verify">;
  /** A shop to register, with its own login role. */
  shop?: string | undefined;
  /** Login roles for an ERP and for a reader; they see the shop, or all shops where none is given. */
  erp?: string | undefined;
  reader?: string | undefined;
}

export interface LoginRole {
  role: string;
  /** Set for a role that was created now; the password of an existing role is not changed. */
  password: string | undefined;
}

export interface InitReport {
  /** Tags of the migrations applied. */
  applied: string[];
  shop: LoginRole | undefined;
  erp: LoginRole | undefined;
  reader: LoginRole | undefined;
}

export async function initSchema({ link: options, shop, erp, reader }: InitOptions): Promise<InitReport> {
  const link = new MirrorLink({ ...options, shop: shop ?? "" });
  try {
    return await link.transaction(async (tx) => {
      await tx.query(LOCK);
      const place = { ...options, shop: shop ?? "" };
      await requireUtf8(tx, place);
      const { isMade } = await inspect(tx.query.bind(tx), place);
      const applied = await migrate(tx, place, isMade);
      const groups = groupsOf(options.schema);
      for (const role of Object.values(groups)) await makeRole(tx, role, "NOLOGIN");
      await grantRights(tx, options.schema, groups);
      await closeFunctions(tx, options.schema);
      await armTables(tx);
      if (shop !== undefined) await tx.run("INSERT INTO shop_keys VALUES ($1) ON CONFLICT DO NOTHING", [shop]);
      const login = async (role: string | undefined, group: string, seen: string) =>
        role === undefined ? undefined : await makeLogin(tx, { role, group, seen });
      const ofShop = shop === undefined ? undefined : `${options.schema}_shop_${shop}`;
      return {
        applied,
        shop: await login(ofShop, groups.bridge, shop ?? ""),
        erp: await login(erp, groups.erp, shop ?? "*"),
        reader: await login(reader, groups.reader, shop ?? "*"),
      };
    });
  } finally {
    link.close();
  }
}

/** Other encodings cannot store every order; in SQL_ASCII clients can store bytes that cannot be read as text. */
async function requireUtf8(tx: MirrorTx, { target }: Pick<LinkOptions, "target">): Promise<void> {
  const [row] = await tx.query<{ encoding: string }>("SELECT current_setting('server_encoding') AS encoding");
  const { encoding = "" } = row ?? {};
  if (encoding === "UTF8") return;
  const text = m.mirror.notUtf8({ at: placeOf(target), encoding });
  throw new MirrorError("mirror_schema", text, { hint: m.mirror.utf8Hint({ database: target.database }) });
}

function groupsOf(schema: string) {
  return { bridge: `${schema}_bridge`, erp: `${schema}_erp`, reader: `${schema}_reader` };
}

async function migrate(
  tx: MirrorTx,
  place: Pick<LinkOptions, "target" | "schema">,
  isMade: boolean,
): Promise<string[]> {
  if (!isMade) {
    await tx.run(`CREATE SCHEMA IF NOT EXISTS ${quoted(place.schema)}`);
    await tx.run(`CREATE TABLE migrations (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tag text NOT NULL,
      hash text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`);
  }
  const before = await tx.query<AppliedToMirror>("SELECT tag, hash FROM migrations ORDER BY id");
  const known = mirrorMigrations();
  const outcome = compareVersions(before, known);
  const at = placeOf(place.target);
  const { schema } = place;
  if (outcome === "newer" || outcome === "other") {
    const text = outcome === "newer" ? m.mirror.newerSchema({ at, schema }) : m.mirror.otherSchema({ at, schema });
    throw new MirrorError("mirror_schema", text, { hint: m.mirror.newerHint });
  }
  const pending = known.slice(before.length);
  for (const { tag, hash, statements } of pending) {
    for (const statement of statements) await tx.run(statement);
    await tx.run("INSERT INTO migrations (tag, hash) VALUES ($1, $2)", [tag, hash]);
  }
  return pending.map(({ tag }) => tag);
}

/** Privileges are granted in each run, so that they include tables added by later versions. */
async function grantRights(tx: MirrorTx, schema: string, groups: ReturnType<typeof groupsOf>): Promise<void> {
  const [bridge, erp, reader] = [quoted(groups.bridge), quoted(groups.erp), quoted(groups.reader)];
  const all = `${bridge}, ${erp}, ${reader}`;
  const statements = [
    `GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${all}`,
    `GRANT SELECT ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${all}`,
    `REVOKE SELECT ON touched FROM ${erp}, ${reader}`,
    // Inserts again a row of `touched` whose row another transaction has locked.
    `GRANT INSERT (shop, tbl, k0, k1), DELETE ON touched TO ${bridge}`,
    `GRANT INSERT (shop, host, order_id, service_id), DELETE ON strays TO ${bridge}`,
    `GRANT INSERT, UPDATE ON positions TO ${bridge}`,
    `GRANT INSERT, UPDATE, DELETE ON ${BRIDGE_TABLES.join(", ")} TO ${bridge}`,
    ...ERP_TABLES.map((table) => `GRANT UPDATE (error) ON ${table} TO ${bridge}`),
    // For rows that an ERP had written in the shop before there was a mirror.
    `GRANT INSERT ON erp_orders TO ${bridge}`,
    `GRANT UPDATE (${OUTCOME}), INSERT (${REQUEST}, ${OUTCOME}) ON status_requests TO ${bridge}`,
    `GRANT INSERT, UPDATE, DELETE ON ${ERP_TABLES.join(", ")} TO ${erp}`,
    `GRANT INSERT (${REQUEST}), UPDATE (${WANTED}), DELETE ON status_requests TO ${erp}`,
  ];
  for (const statement of statements) await tx.run(statement);
}

/**
 * Recreates missing or disabled triggers and policies, such as of a table that was restored alone. Each shop notices that
 * its triggers have changed, and compares all rows.
 */
async function armTables(tx: MirrorTx): Promise<void> {
  for (const table of TOUCHED_TABLES) {
    const there = await tx.query<{ name: string; enabled: string }>(
      "SELECT tgname AS name, tgenabled AS enabled FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal",
      [table],
    );
    for (const { name, create, isAlways } of triggersOf(table)) {
      const found = there.find((trigger) => trigger.name === name);
      if (found === undefined) await tx.run(create);
      const isEnabled = found?.enabled === "A" || (!isAlways && (found === undefined || found.enabled === "O"));
      if (!isEnabled) await tx.run(`ALTER TABLE ${table} ENABLE ${isAlways ? "ALWAYS " : ""}TRIGGER ${name}`);
    }
  }
  for (const table of SHOP_TABLES) {
    await tx.run(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
    const policies = await tx.query("SELECT 1 FROM pg_policy WHERE polrelid = to_regclass($1)", [table]);
    if (policies.length > 0) continue;
    const own = "(SELECT my_shops())::text[]";
    await tx.run(
      table === "shop_roles"
        ? "CREATE POLICY own_role ON shop_roles USING (role = current_user)"
        : `CREATE POLICY own_shops ON ${table} USING (shop = ANY (${own}) OR '*' = ANY (${own}))`,
    );
  }
}

/**
 * Sets a search_path with pg_temp last for all functions: otherwise a session's temporary tables would shadow those of the
 * schema, in policies and in triggers that run as the schema's owner. In each run, for functions of later versions.
 */
async function closeFunctions(tx: MirrorTx, schema: string): Promise<void> {
  const functions = await tx.query<{ name: string; isTrigger: boolean }>(
    `SELECT oid::regprocedure::text AS name, prorettype <> 'text[]'::regtype AS "isTrigger" FROM pg_proc
     WHERE pronamespace = to_regnamespace(quote_ident($1))`,
    [schema],
  );
  for (const { name, isTrigger } of functions) {
    await tx.run(`ALTER FUNCTION ${name} SET search_path = ${quoted(schema)}, pg_temp`);
    // Functions of policies run as the querying role, so every role may call them.
    if (isTrigger) await tx.run(`REVOKE ALL ON FUNCTION ${name} FROM PUBLIC`);
  }
}

async function makeRole(tx: MirrorTx, role: string, how: string): Promise<boolean> {
  const found = await tx.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [role]);
  if (found.length > 0) return false;
  await tx.run(`CREATE ROLE ${quoted(role)} ${how}`);
  return true;
}

async function makeLogin(
  tx: MirrorTx,
  { role, group, seen }: { role: string; group: string; seen: string },
): Promise<LoginRole> {
  const password = randomBytes(24).toString("base64url");
  const isNew = await makeRole(tx, role, `LOGIN PASSWORD '${scramOf(password)}'`);
  await tx.run(`GRANT ${quoted(group)} TO ${quoted(role)}`);
  await tx.run("INSERT INTO shop_roles VALUES ($1, $2) ON CONFLICT DO NOTHING", [role, seen]);
  return { role, password: isNew ? password : undefined };
}

const ITERATIONS = 4096;

/** The SCRAM verifier that PostgreSQL stores, so that the password itself does not appear in the server's log. */
function scramOf(password: string, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, "sha256");
  const hmac = (text: string) => createHmac("sha256", salted).update(text).digest();
  const stored = createHash("sha256").update(hmac("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${stored}:${hmac("Server Key").toString("base64")}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
