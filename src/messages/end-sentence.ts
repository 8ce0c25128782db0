/** Adds a full stop unless the foreign text already ends a sentence. */
export function ended(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
