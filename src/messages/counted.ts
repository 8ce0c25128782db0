import { plural } from "./plural.ts";

/** `1 order`, `2 orders`: the one place that decides how a counted thing is written in English. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${n} ${plural("en", n, { one, other: many })}`;
}
