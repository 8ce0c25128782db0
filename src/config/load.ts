import path from "node:path";
import * as z from "zod";
import { isNameOfDatabase } from "../database/file/copy-names.ts";
import { localeLanguage } from "../messages/locale.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { resolveSecret, type Secret } from "./credentials.ts";
import {
  type DocumentProblem,
  type Expectations,
  type Path,
  placeKey,
  type ReadDocument,
  readDocument,
} from "./document.ts";
import { type Finding, findingsOf } from "./issues.ts";
import { type KeyMeta, textsOf } from "./kinds.ts";
import { type MirrorUrl, resolveMirrorUrl } from "./mirror-url.ts";
import { ConfigError, type ConfigProblem, dotted, PROBLEMS_MAX } from "./problems.ts";
import { type Config, configSchema } from "./schema.ts";
import { nodeOf, schemaAt } from "./schema-walk.ts";
import { decodeText, readSmallFile } from "./small-file.ts";
import { namesIn } from "./syntax.ts";

export interface LoadedConfig {
  config: Config;
  /** Absolute. */
  file: string;
  /** Version of the file (see {@link SmallFile}); null where the text was given. */
  version: string | null;
  /**
   * Dotted paths of the keys that are set in the file. An answer path that is set must match; a default may be absent.
   */
  written: ReadonlySet<string>;
  /** Why the mirror's address could not be read. The mirror stops; nothing else does. */
  mirrorTrouble: Message | undefined;
  /** For the administrator; none of them stops the program. */
  warnings: Message[];
  /** `line:column` of a value in the file, or of its nearest parent. */
  positionOf(at: Path): string | null;
}

const FILE_BYTES_MAX = 1_000_000;

/** @throws ConfigError (`config_invalid`) with all problems at once */
export function loadConfig({
  file,
  env,
  secret = "needed",
}: {
  file: string;
  env: NodeJS.ProcessEnv;
  secret?: SecretNeed;
}): LoadedConfig {
  return parseConfig({ ...readFile(file), file, env, need: secret });
}

/** The text of the file, to be edited. @throws ConfigError */
export function readConfigText(file: string): string {
  return readFile(file).text;
}

function readFile(file: string): { text: string; mode: number; version: string } {
  const read = readSmallFile(file, FILE_BYTES_MAX);
  if ("problem" in read) {
    const state = STATES[read.code];
    throw new ConfigError(
      file,
      [about(m.config.configurationFile({ problem: read.problem }))],
      state === undefined ? {} : { file: state },
    );
  }
  const decoded = decodeText(read.bytes);
  if ("problem" in decoded) {
    const { line, column, problem } = decoded;
    throw new ConfigError(file, [{ ...about(m.config.theFile({ problem })), line, column }]);
  }
  return { text: decoded.text, mode: read.mode, version: read.version };
}

const STATES: Readonly<Record<string, "missing" | "forbidden">> = {
  ENOENT: "missing",
  EACCES: "forbidden",
  EPERM: "forbidden",
};

function about(problem: Message): ConfigProblem {
  return { line: null, column: null, key: "", problem, source: null, meaning: null };
}

export interface ConfigText {
  text: string;
  /** For messages; relative paths start from its folder. */
  file: string;
  env: NodeJS.ProcessEnv;
  /** Permission bits of the file. */
  mode?: number;
  version?: string;
  need?: SecretNeed;
}

/**
 * `needed`: a missing Client Secret is an error. `optional`: it stays empty where only another process, such as the
 * service, may read it. `none`: it is not looked for. Without it no request can be made.
 */
export type SecretNeed = "needed" | "optional" | "none";

/** Parses text that was read already. Reads only the files of the secret and of the mirror's address. */
export function parseConfig({ text, file, env, mode = 0, version, need = "needed" }: ConfigText): LoadedConfig {
  const document = readDocument(text, env, EXPECTATIONS);
  if (document.problems.some((problem) => problem.path.length === 0)) throw refusal(file, document, []);
  const parsed = configSchema.safeParse(document.value, READING);
  const findings = findingsOf(configSchema, parsed.error?.issues ?? []).filter((finding) => !isEcho(finding, document));
  const secret = need === "none" ? NO_SECRET : secretOf(document, file, env, need);
  if ("problem" in secret && secret.problem !== null && !findings.some((finding) => isSecretPath(finding.path))) {
    findings.push(secretFinding({ ...secret, problem: secret.problem }));
  }
  const found = need === "none" ? NO_MIRROR : mirrorOf(document, file, env, need);
  const mirrorTrouble = "problem" in found && found.isOfFile === true ? troubleOf(found) : undefined;
  const mirror = mirrorTrouble === undefined ? found : { ...NO_MIRROR, warnings: [mirrorTrouble] };
  if ("problem" in mirror && !findings.some((finding) => finding.path[0] === "mirror")) {
    const at = mirror.key === null ? ["mirror"] : ["mirror", mirror.key];
    findings.push({ path: at, problem: mirror.problem, detail: null, aboutKey: mirror.key === null, meaningOf: at });
  }
  if (!parsed.success || "problem" in secret || "problem" in mirror || findings.length + document.problems.length > 0) {
    throw refusal(file, document, findings);
  }
  const inline = document.places.get(placeKey(["service", "client_secret"]));
  const isBare = inline !== undefined && !inline.fromEnvironment && (mode & 0o004) !== 0;
  const config = effective(parsed.data, secret, {
    mirror,
    folder: path.dirname(path.resolve(file)),
    written: writtenKeys(document),
    env,
  });
  const taken = foldersOfDatabase(config);
  if (taken.length > 0) throw refusal(file, document, taken);
  return {
    config,
    file: path.resolve(file),
    mirrorTrouble,
    version: version ?? null,
    written: writtenKeys(document),
    positionOf: (at) => {
      const offset = offsetOf(document, { path: at, aboutKey: false });
      if (offset === null) return null;
      const { line, column } = document.source.placeOf(offset);
      return `${line}:${column}`;
    },
    warnings: [
      ...secret.warnings,
      ...mirror.warnings,
      ...ignoredVariables(env),
      ...(isBare ? [m.config.openConfiguration({ file })] : []),
      ...partialKeyWarnings(config),
    ],
  };
}

/** Refuses a folder whose name SQLite would take for a file of the database. */
function foldersOfDatabase({ backup, database }: Config): Finding[] {
  return (["dir", "journal"] as const).flatMap((key) => {
    const folder = backup[key];
    if (folder === null || !isNameOfDatabase(folder, database.path)) return [];
    const at = ["backup", key];
    return [
      {
        path: at,
        problem: m.config.nameOfDatabase,
        detail: null,
        aboutKey: false,
        meaningOf: at,
      },
    ];
  });
}

/**
 * Feeds whose record contains only a part of the key: the service cannot distinguish rows that differ only in the rest.
 * A key that the record does not contain at all is an internal number of the ERP's and is not reported.
 */
function partialKeyWarnings({ imports }: Config): Message[] {
  return (["stocks", "prices", "catalog"] as const).flatMap((feed) => {
    const { path: importPath, key, record } = imports[feed];
    const named = textsOf(record).flatMap(([, part]) => namesIn(part));
    const missing = key.filter((column) => !named.includes(column));
    const isPartial = missing.length > 0 && missing.length < key.length;
    return importPath !== null && isPartial ? [m.config.untoldKey({ feed, columns: missing })] : [];
  });
}

/** Variables that would weaken the program if they were obeyed. */
function ignoredVariables(env: NodeJS.ProcessEnv): Message[] {
  return env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0" ? [m.config.unverifiedTlsIgnored] : [];
}

/** `jitless`, because each process parses once: generating code for the schema takes longer than interpreting it. */
const READING = { reportInput: true, jitless: true };

const EXPECTATIONS: Expectations = {
  convert(at, text) {
    const schema = schemaAt(configSchema, at);
    const type = schema === undefined ? undefined : nodeOf(schema).core._zod.def.type;
    if (type === "number" && /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) return Number(text);
    return type === "boolean" && (text === "true" || text === "false") ? text === "true" : text;
  },
  empty(at) {
    const schema = schemaAt(configSchema, at);
    if (schema === undefined) return null;
    const { core, nullable } = nodeOf(schema);
    if (nullable) return null;
    const type = core._zod.def.type;
    if (type === "array") return [];
    return type === "object" || type === "record" ? {} : null;
  },
};

/** A value that the reader refused is missing for the schema, which reports it, or the group around it, again. */
function isEcho({ path: at, isMissing, aboutKey }: Finding, document: ReadDocument): boolean {
  const isAbout = (refused: Path) =>
    isMissing === true
      ? placeKey(refused) === placeKey(at)
      : !aboutKey && at.length > 0 && at.length < refused.length && at.every((step, index) => step === refused[index]);
  return document.problems.some((one) => isAbout(one.path));
}

function isSecretPath(at: Path): boolean {
  return at[0] === "service" && (at[1] === "client_secret" || at[1] === "client_secret_file");
}

type Imports = z.output<typeof configSchema>["imports"];

const NO_SECRET: Secret = { secret: "", file: null, warnings: [] };

type SecretOutcome = Secret | { key: null; problem: null };

function secretOf(document: ReadDocument, configFile: string, env: NodeJS.ProcessEnv, need: SecretNeed): SecretOutcome {
  if (document.problems.some(({ path: at }) => isSecretPath(at))) return { key: null, problem: null };
  const { service } = document.value as { service?: { client_secret?: unknown; client_secret_file?: unknown } };
  const { client_secret: inline, client_secret_file: namedFile } = typeof service === "object" ? service : {};
  const secret = resolveSecret({
    inline: typeof inline === "string" ? inline : undefined,
    namedFile: typeof namedFile === "string" ? namedFile : undefined,
    configFile,
    env,
  });
  return need === "optional" && "problem" in secret && secret.isElsewhere === true ? NO_SECRET : secret;
}

const NO_MIRROR: ResolvedMirror = { url: null, file: null, warnings: [] };

type ResolvedMirror = Exclude<MirrorUrl, { problem: Message }>;

function mirrorOf(document: ReadDocument, configFile: string, env: NodeJS.ProcessEnv, need: SecretNeed): MirrorUrl {
  // Problems with a key of this group are reported already.
  if (document.problems.some(({ path: at }) => at[0] === "mirror")) return NO_MIRROR;
  const { mirror } = document.value as { mirror?: Record<string, unknown> | null };
  const textAt = (key: string) => (typeof mirror?.[key] === "string" ? mirror[key] : undefined);
  const found = resolveMirrorUrl({
    shop: textAt("shop"),
    inline: textAt("url"),
    namedFile: textAt("url_file"),
    configFile,
    env,
  });
  return need === "optional" && "problem" in found && found.isElsewhere ? NO_MIRROR : found;
}

function troubleOf({ key, problem }: Extract<MirrorUrl, { problem: Message }>): Message {
  return m.config.mirrorStands({ key: key === null ? "mirror" : `mirror.${key}`, problem });
}

function secretFinding({ key, problem }: { key: string | null; problem: Message }): Finding {
  const at = key === null ? ["service"] : ["service", key];
  return { path: at, problem, detail: null, aboutKey: key === null, meaningOf: at };
}

function effective(
  parsed: z.output<typeof configSchema>,
  secret: Secret,
  {
    mirror,
    folder,
    written,
    env,
  }: { mirror: ResolvedMirror; folder: string; written: ReadonlySet<string>; env: NodeJS.ProcessEnv },
): Config {
  if ("problem" in secret) throw new TypeError("the secret was not resolved");
  const absolute = (place: string) => path.resolve(folder, place);
  const { service, database, backup } = parsed;
  return {
    ...parsed,
    // A value in the file precedes the environment, which precedes the default.
    language: written.has("language") ? parsed.language : localeLanguage(env),
    service: {
      ...service,
      client_secret: secret.secret,
      client_secret_file: secret.file,
      ca_file: service.ca_file === null ? null : absolute(service.ca_file),
    },
    database: { ...database, path: absolute(database.path) },
    imports: withFiles(parsed.imports, absolute),
    mirror: {
      ...parsed.mirror,
      url: mirror.url,
      url_file: mirror.file,
      ca_file: parsed.mirror.ca_file === null ? null : absolute(parsed.mirror.ca_file),
    },
    backup: {
      ...backup,
      // Beside the database by default; for the defaults of both keys the result is the same.
      dir: written.has("backup.dir")
        ? absolute(backup.dir)
        : path.join(path.dirname(absolute(database.path)), "backups"),
      journal: backup.journal === null ? null : absolute(backup.journal),
    },
  };
}

function withFiles(imports: Imports, absolute: (place: string) => string): Imports {
  const feed = <F extends { file: string | null }>(one: F): F => ({
    ...one,
    file: one.file === null ? null : absolute(one.file),
  });
  const { stocks, prices, catalog, images } = imports;
  const folder = images.folder === null ? null : absolute(images.folder);
  return {
    stocks: feed(stocks),
    prices: feed(prices),
    catalog: feed(catalog),
    images: { ...feed(images), folder },
  };
}

function writtenKeys({ places }: ReadDocument): ReadonlySet<string> {
  const paths = [...places.values()].map((place) => place.path);
  return new Set(paths.filter((at) => at.length > 0 && at.every((step) => typeof step === "string")).map(dotted));
}

function refusal(file: string, document: ReadDocument, findings: readonly Finding[]): ConfigError {
  for (const { path: at, isUnknown } of findings) {
    const place = document.places.get(placeKey(at));
    if (isUnknown && place !== undefined) document.source.hideRest(place.valueAt);
  }
  const read = document.problems.map((problem) => ({ at: problem.at, finding: findingOf(problem) }));
  const found = findings.map((finding) => ({ at: offsetOf(document, finding), finding }));
  const ordered = [...read, ...found].sort((a, b) => (a.at ?? 0) - (b.at ?? 0));
  const listed = ordered.slice(0, PROBLEMS_MAX).map(({ at, finding }) => problemAt(document, at, finding));
  return new ConfigError(file, listed, { unlisted: ordered.length - listed.length });
}

function findingOf({ path: at, problem }: DocumentProblem): Finding {
  const words = at.length === 0 ? m.config.theFile({ problem }) : problem;
  return { path: at, problem: words, detail: null, aboutKey: false, meaningOf: at };
}

/** Offset of the value, or of its innermost existing parent; null where there is none. */
function offsetOf({ places }: ReadDocument, { path: at, aboutKey }: Pick<Finding, "path" | "aboutKey">): number | null {
  const place = places.get(placeKey(at));
  if (place !== undefined) return aboutKey ? place.keyAt : place.valueAt;
  for (let depth = at.length - 1; depth > 0; depth--) {
    const around = places.get(placeKey(at.slice(0, depth)));
    if (around !== undefined) return around.keyAt;
  }
  return null;
}

function problemAt({ source, places }: ReadDocument, at: number | null, finding: Finding): ConfigProblem {
  const place = source.placeOf(at ?? 0);
  const { problem, detail } = finding;
  const mayQuote = places.get(placeKey(finding.path))?.fromEnvironment !== true;
  return {
    ...place,
    key: dotted(finding.path),
    problem: detail === null || !mayQuote ? problem : m.common.about({ subject: problem, text: detail }),
    source: at === null ? null : source.lineAt(place.line),
    meaning: meaningOf(finding.meaningOf),
  };
}

/** The meaning of the key, or of its nearest parent that has one. */
function meaningOf(at: Path): Message | null {
  for (let depth = at.length; depth > 0; depth--) {
    const schema = schemaAt(configSchema, at.slice(0, depth));
    const meta = schema === undefined ? undefined : (z.globalRegistry.get(schema) as KeyMeta | undefined);
    if (meta?.meaning !== undefined) return meta.meaning;
  }
  return null;
}
