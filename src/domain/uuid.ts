const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * An order id in the form it is stored: a UUID (8-4-4-4-12 hexadecimal digits, any version) in lower case. Undefined for
 * anything else, blanks and braces included: such an id must never become part of a request's path.
 */
export function readOrderId(text: string): string | undefined {
  return UUID.test(text) ? text.toLowerCase() : undefined;
}
