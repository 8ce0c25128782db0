import { createRequire } from "node:module";
import type { en } from "./en.ts";
import type { Language } from "./language.ts";
// Imported here because the catalogues use it while they are loaded.
import "./numbers.ts";
import type { conditionsEn } from "./words/conditions-en.ts";
import type { pageEn } from "./words/page-en.ts";
import type { statusEn } from "./words/status-en.ts";

/** The texts of an area by name; each is fixed or a function of its parameters. */
export type Texts = Readonly<Record<string, string | ((params: never) => string)>>;

/** Words used in several places. */
export interface Words {
  conditions: typeof conditionsEn;
  status: typeof statusEn;
  page: typeof pageEn;
}

const WORDS = ["conditions", "status", "page"] as const satisfies readonly (keyof Words)[];

/** The file of each area: a file has the areas of one room. */
const FILES = {
  answers: "answers",
  backup: "backup",
  check: "cli",
  command: "cli",
  common: "common",
  config: "config",
  counts: "common",
  daemon: "daemon",
  database: "database",
  feeds: "feeds",
  health: "health",
  help: "help",
  init: "cli",
  keys: "keys",
  kinds: "keys",
  mirror: "mirror",
  orders: "orders",
  pass: "pass",
  platform: "platform",
  probe: "probe",
  progress: "cli",
  quarantine: "quarantine",
  questions: "config",
  reconcile: "updates",
  remap: "orders",
  restore: "backup",
  service: "service",
  status: "health",
  statuses: "statuses",
  story: "orders",
  sync: "cli",
  updates: "updates",
  web: "web",
} as const satisfies Record<keyof typeof en, string>;

export const AREAS = Object.keys(FILES) as (keyof typeof FILES)[];

/*
 * A file is loaded when the first of its texts is used: a command uses few texts, and rarely both languages. Loading is
 * synchronous, because an error may have to be rendered anywhere.
 */
const read = createRequire(import.meta.url);
/** `.ts` in the sources, `.cjs` in the bundle. */
const ENDING = import.meta.url.slice(import.meta.url.lastIndexOf("."));
const known = new Map<string, unknown>();

function exportOf(file: string, name: string): unknown {
  const key = `${file} ${name}`;
  const found = known.get(key) ?? (read(`./${file}${ENDING}`) as Record<string, unknown>)[name];
  known.set(key, found);
  return found;
}

/** Undefined where this version has no such area. */
export function textsOf(language: Language, area: string): Texts | undefined {
  if (!Object.hasOwn(FILES, area)) return undefined;
  return exportOf(`${language}/${FILES[area as keyof typeof FILES]}`, area) as Texts;
}

/** The words of `name` in a language. */
export function wordsOf<Name extends keyof Words>(language: Language, name: Name): Words[Name] {
  return exportOf(`words/${name}-${language}`, `${name}${language === "ru" ? "Ru" : "En"}`) as Words[Name];
}

/**
 * Loads all texts of these languages. Long-running processes and those that write call this first: later a file may be
 * missing, of another version, or impossible to open because too many files are open, just when an error must be
 * rendered.
 */
export function readAllTexts(...languages: readonly Language[]): void {
  for (const language of languages) {
    for (const area of AREAS) textsOf(language, area);
    for (const name of WORDS) wordsOf(language, name);
  }
}
