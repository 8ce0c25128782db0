import { plural } from "./plural.ts";

/** `1 order`, `2 orders`: the one place that decides how a counted thing is written in English. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${n} ${plural("en", n, { one, other: many })}`;
}

/** `1 заказ`, `2 заказа`, `5 заказов` */
export function countedRu(n: number, [one, few, many]: readonly [one: string, few: string, many: string]): string {
  return `${n} ${plural("ru", n, { one, few, many })}`;
}
