/** What somebody else has put into words may have its end already. */
export function ended(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
