/* References of rows: the key in one text, as in `quarantine` and on the command line. */
import type { FeedRules } from "./feed.ts";

/**
 * The reference of a row in `quarantine`: its key columns joined by `/`, without trailing empty ones. Keys that would be
 * ambiguous are written as a JSON array, so that no two keys have the same reference.
 */
export function referenceOf(key: readonly string[]): string {
  const last = key.findLastIndex((part) => part !== "");
  const isPlain = key.every((part) => !part.includes("/")) && key[0] !== "";
  return isPlain ? key.slice(0, last + 1).join("/") : JSON.stringify(key);
}

/** The key of a reference; see {@link referenceOf}. Omitted parts are empty. */
export function keyOfReference(rules: Pick<FeedRules, "keys">, reference: string): string[] {
  const listed = listIn(reference);
  if (listed !== undefined && referenceOf(listed) === reference) return listed;
  const parts = reference.split("/");
  return rules.keys.map((_, index) => parts[index] ?? "");
}

/**
 * All keys that a text may mean, whether they exist or not: a JSON array, or parts joined by `/` that may contain `/`
 * themselves; omitted parts are empty.
 */
export function keyReadings(rules: Pick<FeedRules, "keys">, text: string): string[][] {
  const listed = listIn(text);
  const isKey = listed !== undefined && listed.length > 0 && listed.length <= rules.keys.length;
  const padded = (key: readonly string[]) => rules.keys.map((_, index) => key[index] ?? "");
  const all = [...(isKey ? [listed] : []), ...groupings(text.split("/"), rules.keys.length)].map(padded);
  return [...new Map(all.map((key) => [JSON.stringify(key), key])).values()];
}

/** All ways to join adjacent parts into at most `columns` groups. */
function groupings(parts: readonly string[], columns: number): string[][] {
  if (columns === 1) return [[parts.join("/")]];
  return parts.flatMap((_, index) => {
    const first = parts.slice(0, index + 1).join("/");
    const rest = parts.slice(index + 1);
    return rest.length === 0 ? [[first]] : groupings(rest, columns - 1).map((others) => [first, ...others]);
  });
}

function listIn(reference: string): string[] | undefined {
  if (!reference.startsWith("[")) return undefined;
  try {
    const list = JSON.parse(reference) as unknown;
    return Array.isArray(list) && list.every((part) => typeof part === "string") ? list : undefined;
  } catch {
    return undefined;
  }
}
