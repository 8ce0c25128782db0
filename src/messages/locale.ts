import type { Language } from "./language.ts";

/** The language of the environment, as in the C library: the first of the three variables that is set. */
export function localeLanguage(env: Readonly<Record<string, string | undefined>>): Language {
  const locale = ["LC_ALL", "LC_MESSAGES", "LANG"].map((name) => env[name]).find((value) => value) ?? "";
  return /^ru(?![a-z])/i.test(locale) ? "ru" : "en";
}
