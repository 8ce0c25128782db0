import type { Language } from "./language.ts";

/** The language that the surroundings ask for, as the C library reads them: the first of the three that is set. */
export function localeLanguage(env: Readonly<Record<string, string | undefined>>): Language {
  const locale = ["LC_ALL", "LC_MESSAGES", "LANG"].map((name) => env[name]).find((value) => value) ?? "";
  return /^ru(?![a-z])/i.test(locale) ? "ru" : "en";
}
