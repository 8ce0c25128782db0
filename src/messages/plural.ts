import type { Language } from "./language.ts";

/** The forms of a word beside a number, by the categories of `Intl.PluralRules`. */
export interface Forms {
  en: { one: string; other: string };
  /** `other` is the form of a fraction, which is that of `few` where it is left out. */
  ru: { one: string; few: string; many: string; other?: string };
}

const rules = new Map<Language, Intl.PluralRules>();

/** `заказ`, `заказа` or `заказов`: the form that fits the number. */
export function plural<L extends Language>(language: L, n: number, forms: Forms[L]): string {
  const rule = rules.get(language) ?? new Intl.PluralRules(language);
  rules.set(language, rule);
  const { one, few, many, other = few }: Partial<Forms["en"] & Forms["ru"]> = forms;
  const form = { one, few, many, other }[rule.select(n) as keyof Forms["ru"]];
  return form ?? other ?? "";
}
