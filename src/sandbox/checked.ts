import type * as z from "zod";

/** A value of unknown origin as its schema has it. Throws TypeError that names what does not fit, and where. */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new TypeError(result.error.issues.map(wordsOf).join("; "));
}

function wordsOf(issue: z.core.$ZodIssue): string {
  const unknown = issue.code === "unrecognized_keys" ? [issue.keys.join(" and ")] : [];
  return [[...issue.path, ...unknown].join("."), issue.message].filter((part) => part !== "").join(": ");
}
