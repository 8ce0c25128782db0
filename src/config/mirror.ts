import * as z from "zod";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { isLoopback } from "./addresses.ts";
import { duration, key, schedule, section, text, worded } from "./kinds.ts";

/** A shop's key in the head office's PostgreSQL, and the name of a schema there; both are part of names of roles. */
const SHOP = /^[a-z0-9][a-z0-9_-]{0,39}$/;
const SCHEMA = /^[a-z_][a-z0-9_]{0,39}$/;

export const mirror = section(m.keys.mirror, {
  url: key(worded(z.string().max(2000), m.kinds.text, "secret").optional(), m.keys.mirrorUrl),
  url_file: key(text(1000, m.kinds.file).optional(), m.keys.mirrorUrlFile),
  shop: key(worded(z.string().regex(SHOP), m.kinds.shopKey).nullable().prefault(null), m.keys.mirrorShop),
  schema: key(worded(z.string().regex(SCHEMA), m.kinds.schemaName).prefault("erp_bridge"), m.keys.mirrorSchema),
  schedule: key(schedule().prefault("* * * * * *"), m.keys.mirrorSchedule),
  compare: key(schedule().prefault("47 3 * * *"), m.keys.mirrorCompare),
  timeout: key(duration("1s", "10m").prefault("30s"), m.keys.mirrorTimeout),
  ca_file: key(text(1000, m.kinds.file).nullable().prefault(null), m.keys.mirrorCaFile),
});

export function isShopKey(value: string): boolean {
  return SHOP.test(value);
}

export function isSchemaName(value: string): boolean {
  return SCHEMA.test(value);
}

/** Location and login of a PostgreSQL database. */
export interface MirrorTarget {
  /** A host name, an address, or the folder of a socket. */
  host: string;
  port: number;
  user: string;
  password: string | undefined;
  database: string;
  /** Where true, the certificate is always verified. */
  tls: boolean;
}

/** The password ends at the first `@` and cannot contain one, so that no part of it is taken for the host. */
const URL_FORM =
  /^postgres(?:ql)?:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?(\[[^\]]+\]|[^:@/?]*)(?::(\d{1,5}))?\/([^@?/]+)(?:\?(.*))?$/;
const PORT = 5432;
const PARAMETERS = new Set(["host", "port", "user", "password", "sslmode"]);
/** libpq's modes: each one that allows TLS means verified TLS here. */
const SSL_MODES = new Set(["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]);

/**
 * Parses `postgres://user:password@host/database` or `postgres://user@/database?host=/run/postgresql`. TLS is off on
 * sockets, and on loopback with `sslmode=disable`.
 */
export function readMirrorUrl(url: string): MirrorTarget | { problem: Message } {
  try {
    return readParts(url);
  } catch {
    // An invalid percent escape.
    return { problem: m.config.notPostgresUrl };
  }
}

function readParts(url: string): MirrorTarget | { problem: Message } {
  const match = URL_FORM.exec(url.trim());
  if (match === null) return { problem: m.config.notPostgresUrl };
  const [user = "", password, host = "", port, database = ""] = match.slice(1).map((part) => decoded(part));
  const query = new URLSearchParams(match[6] ?? "");
  for (const name of query.keys()) if (!PARAMETERS.has(name)) return { problem: m.config.postgresParameter({ name }) };
  const mode = query.get("sslmode") ?? undefined;
  if (mode !== undefined && !SSL_MODES.has(mode)) return { problem: m.config.postgresParameter({ name: "sslmode" }) };
  const place = (query.get("host") ?? host).replace(/^\[|\]$/g, "");
  const target = {
    host: place,
    port: Number(query.get("port") ?? port ?? PORT),
    user: query.get("user") ?? user,
    password: query.get("password") ?? password,
    database,
  };
  if (place === "" || target.user === "") return { problem: m.config.notPostgresUrl };
  const isSocket = place.startsWith("/");
  const isHere = isSocket || isLoopback(place);
  if (!isHere && mode === "disable") return { problem: m.config.plainPostgres };
  return { ...target, tls: !isSocket && mode !== "disable" };
}

function decoded(part: string | undefined): string | undefined {
  return part === undefined ? undefined : decodeURIComponent(part);
}
