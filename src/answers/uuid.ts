const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Of the nil UUID and the max UUID (RFC 9562), which stand where there is none. */
const NOBODYS = /^(?:[0-]+|[f-]+)$/i;

/**
 * An order id in the form it is stored: a UUID (8-4-4-4-12 hexadecimal digits, any version) in lower case. Undefined for
 * anything else, blanks and braces included: such an id must never become part of a request's path. Undefined also for the nil and
 * the max UUID: several orders without an id may bear it.
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
 * The UUIDs that a text holds, wherever they stand: in braces, after `urn:uuid:`, between blanks or without dashes. In the order
 * of their places, each once, as they are written there but for the dashes; by their form in lower case.
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
