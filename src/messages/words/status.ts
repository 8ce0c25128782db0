import type { statusEn } from "./status-en.ts";

export type StatusWords = typeof statusEn;

/** The meaning of an error code, for a person; a code of a later version is shown unchanged. */
function errorWords(code: string, { errors }: StatusWords): string {
  return Object.hasOwn(errors, code) ? errors[code as keyof StatusWords["errors"]] : code;
}

/**
 * Why a flow fails, without a full stop: the sentence that may be shown, or the meaning of its code; empty where no
 * pass has failed.
 */
export function failureWords({ error, why }: { error: string | null; why: string | null }, words: StatusWords): string {
  return (why ?? errorWords(error ?? "", words)).replace(/\.$/, "");
}

/** The meaning of a hold, for a person; its `detail` has more. */
export function holdWords(reason: string, { holds }: StatusWords): string {
  return Object.hasOwn(holds, reason) ? holds[reason as keyof StatusWords["holds"]] : reason;
}
