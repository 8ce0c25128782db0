const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Matches the nil UUID and the max UUID (RFC 9562), which are placeholders for a missing id. */
const NOBODYS = /^(?:[0-]+|[f-]+)$/i;

/**
 * An order id in stored form: a UUID (8-4-4-4-12 hexadecimal digits, any version) in lower case. Undefined for anything
 * else, including white space and braces, because the id becomes part of a request's path. Undefined also for the nil
 * and the max UUID, which several orders without an id may share.
 */
export function readOrderId(text: string): string | undefined {
  return UUID.test(text) && !NOBODYS.test(text) ? text.toLowerCase() : undefined;
}

/** The nil or the max UUID. */
export function isUuidOfNothing(text: string): boolean {
  return UUID.test(text) && NOBODYS.test(text);
}

const ANYWHERE =
  /(?<![0-9a-f])([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})(?![0-9a-f])/gi;

/**
 * The UUIDs in a text: in braces, after `urn:uuid:`, between blanks or without dashes. In order of appearance, each
 * once, as written but with dashes; keyed by their lower-case form.
 *
 * @example
 * findOrderIds('{"guid":"{0F8C1E2A-0000-4000-8000-000000000001}"}'); // "0f8c…" → "0F8C…"
 */
export function findOrderIds(text: string, limit: number): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, ...parts] of text.matchAll(ANYWHERE)) {
    if (found.size >= limit) break;
    const written = parts.slice(0, 5).join("-");
    if (!found.has(written.toLowerCase())) found.set(written.toLowerCase(), written);
  }
  return found;
}
