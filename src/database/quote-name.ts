export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * The word in double quotes that SQLite rejects because it is built here without double-quoted strings; other builds
 * accept it as text. Undefined for any other error.
 */
export function refusedWord(error: unknown): string | undefined {
  const refused = /^no such column: "([\s\S]*)" - should this be a string literal in single-quotes\?$/;
  return error instanceof Error ? refused.exec(error.message)?.[1] : undefined;
}
