import type * as z from "zod";

/** Parses a value with its schema. Throws TypeError with the place and cause of the first mismatch. */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new TypeError(result.error.issues.map(wordsOf).join("; "));
}

function wordsOf(issue: z.core.$ZodIssue): string {
  const unknown = issue.code === "unrecognized_keys" ? [issue.keys.join(" and ")] : [];
  return [[...issue.path, ...unknown].join("."), issue.message].filter((part) => part !== "").join(": ");
}
