import type { statusEn } from "./status-en.ts";

export type StatusWords = typeof statusEn;

/** What an error code means, for a person; a code of a later version stays as it is. */
function errorWords(code: string, { errors }: StatusWords): string {
  return Object.hasOwn(errors, code) ? errors[code as keyof StatusWords["errors"]] : code;
}

/** Why a flow fails, without a full stop: the sentence that may be shown, or what its code means; empty where no pass has failed. */
export function failureWords({ error, why }: { error: string | null; why: string | null }, words: StatusWords): string {
  return (why ?? errorWords(error ?? "", words)).replace(/\.$/, "");
}

/** What a hold means, for a person; its `detail` says more. */
export function holdWords(reason: string, { holds }: StatusWords): string {
  return Object.hasOwn(holds, reason) ? holds[reason as keyof StatusWords["holds"]] : reason;
}
