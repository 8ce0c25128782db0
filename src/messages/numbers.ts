/* Numbers with nouns, sizes and durations, in both languages. */

import type { Language } from "./language.ts";

/** The forms of a noun after a number, by the categories of `Intl.PluralRules`. */
export interface Forms {
  en: { one: string; other: string };
  /** `other` is the form after a fraction; by default that of `few`. */
  ru: { one: string; few: string; many: string; other?: string };
}

const rules = new Map<Language, Intl.PluralRules>();

/** `заказ`, `заказа` or `заказов`: the form for the number. */
export function plural<L extends Language>(language: L, n: number, forms: Forms[L]): string {
  const rule = rules.get(language) ?? new Intl.PluralRules(language);
  rules.set(language, rule);
  const { one, few, many, other = few }: Partial<Forms["en"] & Forms["ru"]> = forms;
  const form = { one, few, many, other }[rule.select(n) as keyof Forms["ru"]];
  return form ?? other ?? "";
}

/** `1 order`, `2 orders`: all counted nouns in English are formatted here. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${n} ${plural("en", n, { one, other: many })}`;
}

/** `1 заказ`, `2 заказа`, `5 заказов` */
export function countedRu(n: number, [one, few, many]: readonly [one: string, few: string, many: string]): string {
  return `${n} ${plural("ru", n, { one, few, many })}`;
}

const MB = 1_000_000;

function sizeIn(bytes: number): readonly [n: string, unit: "KB" | "MB" | "GB"] {
  if (bytes < MB) return [String(Math.ceil(bytes / 1_000)), "KB"];
  if (bytes < 1_000 * MB) return [String(Math.floor(bytes / MB)), "MB"];
  return [(bytes / 1_000 / MB).toFixed(1), "GB"];
}

export function sizeText(bytes: number): string {
  return sizeIn(bytes).join(" ");
}

const UNITS_RU = { KB: "КБ", MB: "МБ", GB: "ГБ" } as const;

export function sizeTextRu(bytes: number): string {
  const [n, unit] = sizeIn(bytes);
  return `${n.replace(".", ",")} ${UNITS_RU[unit]}`;
}

/** `12 s`, `4 min`, `5 h`, `3 days` */
export function spanText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

export function spanTextRu(seconds: number): string {
  if (seconds < 120) return `${seconds} с`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} мин`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} ч`;
  return countedRu(Math.floor(seconds / 86_400), ["день", "дня", "дней"]);
}
