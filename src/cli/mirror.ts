import path from "node:path";
import { isSchemaName, isShopKey, readMirrorUrl } from "../config/mirror.ts";
import { printable } from "../config/problems.ts";
import { authoritiesOf } from "../config/route.ts";
import { m } from "../messages/messages.ts";
import { initSchema, type LoginRole } from "../mirror/schema/init-schema.ts";
import { removeShop } from "../mirror/schema/remove-shop.ts";
import { asError, BridgeError, EXIT } from "../platform/errors.ts";
import type { Call, Command } from "./command.ts";
import { jsonLine } from "./terminal.ts";

interface Place {
  url: string;
  shop?: string;
  schema?: string;
  caFile?: string;
}

export interface MirrorInitOptions extends Place {
  erp?: string;
  reader?: string;
}

export type MirrorRemoveOptions = Place & { shop: string };

/** Creating an index on a large table is slow. */
const STATEMENT_MS = 10 * 60_000;

/**
 * Creates or upgrades the mirror's schema; with `--shop` also registers the shop and prints the address for its
 * configuration.
 */
export const mirrorInit: Command<MirrorInitOptions> = async (call, options) => {
  const link = linkOf(call, options);
  const { shop, erp, reader } = options;
  const { schema } = link;
  const made = await initSchema({ link, shop, erp, reader });
  const logins = Object.entries({ shop: made.shop, erp: made.erp, reader: made.reader }).flatMap(([kind, login]) =>
    login === undefined ? [] : [{ kind, role: login.role, url: addressOf(options.url, login) }],
  );
  if (call.json) {
    call.terminal.out(jsonLine({ schema, applied: made.applied, shop: shop ?? null, logins }));
    return EXIT.ok;
  }
  call.terminal.out(made.applied.length === 0 ? m.mirror.schemaCurrent({ schema }) : m.mirror.schemaMade({ schema }));
  for (const { kind, role, url } of logins) {
    if (url === null) call.terminal.out(m.mirror.roleStays({ role }));
    else call.terminal.out(m.mirror.roleMade({ role, isShop: kind === "shop", url }));
  }
  return EXIT.ok;
};

/** Removes a shop from the mirror for good. */
export const mirrorRemove: Command<MirrorRemoveOptions> = async (call, options) => {
  const { shop } = options;
  const rows = await removeShop({ ...linkOf(call, options), shop });
  if (call.json) call.terminal.out(jsonLine({ shop, rows }));
  else call.terminal.out(m.mirror.removed({ shop, rows: Object.values(rows).reduce((sum, count) => sum + count, 0) }));
  return EXIT.ok;
};

function linkOf(call: Call, { url, shop, schema = "erp_bridge", caFile }: Place) {
  const target = readMirrorUrl(url);
  if ("problem" in target) throw new BridgeError("usage", m.mirror.badUrl({ problem: target.problem }));
  if (shop !== undefined && !isShopKey(shop))
    throw new BridgeError("usage", m.mirror.badShop({ shop: printable(shop) }));
  if (!isSchemaName(schema)) throw new BridgeError("usage", m.mirror.badSchema({ schema: printable(schema) }));
  const password = target.password ?? call.terminal.env["PGPASSWORD"];
  const authorities = givenAuthorities(caFile);
  return { target: { ...target, password }, authorities, schema, timeoutMs: STATEMENT_MS };
}

/** The file stands on the command line, not in the configuration. */
function givenAuthorities(file: string | undefined): string[] {
  try {
    return authoritiesOf(file === undefined ? null : path.resolve(file));
  } catch (error) {
    const { text, hint } = asError(error);
    throw new BridgeError("usage", text, { ...(hint === undefined ? {} : { hint }), cause: error });
  }
}

/** The same address for another role; null for an existing role, whose password is not known. */
function addressOf(url: string, { role, password }: LoginRole): string | null {
  if (password === undefined) return null;
  const [, scheme = "", rest = ""] = /^(\w+:\/\/)(?:[^@/?]*@)?(.*)$/.exec(url.trim()) ?? [];
  return `${scheme}${encodeURIComponent(role)}:${password}@${rest.replace(/([?&])(user|password)=[^&]*&?/g, "$1").replace(/[?&]$/, "")}`;
}
