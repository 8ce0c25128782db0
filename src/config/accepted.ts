/*
 * What a read-only command needs of the configuration, without validating the whole file: a running daemon has accepted
 * this very version of it and recorded that in its lock (`LockHolder.config`). Anything unusual falls back to full
 * validation, which reports what is wrong.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { type AcceptedConfig, readAcceptedConfig } from "../database/file/instance-lock.ts";
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

/** Ten times the size of a usual configuration; the parser is quick with it. */
const FILE_BYTES_MAX = 100_000;

function versionFor(file: string): string {
  return `${VERSION} ${file}`;
}

/** For the lock of a process that has validated its configuration; undefined where the file has no version. */
export function acceptedConfig({ config, version }: LoadedConfig): AcceptedConfig | undefined {
  return version === null ? undefined : { version: versionFor(version), readWithinMs: config.erp.read_within };
}

/** Undefined where the daemon accepted another version of the file, or the file depends on the environment. */
export function findAccepted({ file, env }: { file: string; env: NodeJS.ProcessEnv }): SeenConfig | undefined {
  const read = readSmallFile(file, FILE_BYTES_MAX);
  if ("problem" in read) return undefined;
  const text = read.bytes.toString("utf8");
  // Variables are expanded from this process's own environment, which may differ from the daemon's.
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

/** Parses like `readDocument`; empty where the file is not valid. */
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
