/*
 * What a command that only looks needs of the configuration, without a check of the whole: a daemon has accepted this very file
 * already, and its lock says so (`LockHolder.config`). Whatever is unusual leaves the file to the check, which says what is wrong.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { type AcceptedConfig, readAcceptedConfig } from "../database/instance-lock.ts";
import type { Language } from "../messages/language.ts";
import { localeLanguage } from "../messages/locale.ts";
import { VERSION } from "../platform/version.ts";
import { resolveSecret } from "./credentials.ts";
import type { LoadedConfig } from "./load.ts";
import { readSmallFile } from "./small-file.ts";

/** The part of the configuration that `status` uses. */
export interface SeenConfig {
  language: Language;
  database: { path: string };
  erp: { read_within: number };
  service: { client_id: string; client_secret: string };
}

/** A configuration has a tenth of it; the parser is quick with so many. */
const FILE_BYTES_MAX = 100_000;

function versionFor(file: string): string {
  return `${VERSION} ${file}`;
}

/** What a process that has checked its configuration says of it in its lock. */
export function acceptedConfig({ config, version }: LoadedConfig): AcceptedConfig | undefined {
  return version === null ? undefined : { version: versionFor(version), readWithinMs: config.erp.read_within };
}

/** Undefined where the file is not the one that was accepted, or holds what another process may read otherwise. */
export function findAccepted({ file, env }: { file: string; env: NodeJS.ProcessEnv }): SeenConfig | undefined {
  const read = readSmallFile(file, FILE_BYTES_MAX);
  if ("problem" in read) return undefined;
  const text = read.bytes.toString("utf8");
  // Variables and the mirror's address come from this process's own surroundings.
  if (text.includes("${")) return undefined;
  const { service = {}, database = {}, mirror, language } = valuesOf(text);
  if (mirror !== undefined || typeof database.path !== "string" || typeof service.client_id !== "string")
    return undefined;
  const databasePath = path.resolve(path.dirname(file), database.path);
  const accepted = readAcceptedConfig(databasePath);
  if (accepted?.version !== versionFor(read.version) || !existsSync(databasePath)) return undefined;
  const { client_secret: inline, client_secret_file: namedFile } = service;
  const secret = resolveSecret({ inline: textOf(inline), namedFile: textOf(namedFile), configFile: file, env });
  if ("problem" in secret) return undefined;
  return {
    language: language === "en" || language === "ru" ? language : localeLanguage(env),
    database: { path: databasePath },
    erp: { read_within: accepted.readWithinMs },
    service: { client_id: service.client_id, client_secret: secret.secret },
  };
}

type Group = Partial<Record<string, unknown>>;

/** As `readDocument` reads a file that is accepted; nothing where it is no such file. */
function valuesOf(text: string): { service?: Group; database?: Group; mirror?: unknown; language?: unknown } {
  try {
    return parse(text, { version: "1.2", schema: "core", merge: false, uniqueKeys: false, logLevel: "silent" }) ?? {};
  } catch {
    return {};
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
