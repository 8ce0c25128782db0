/** Now, for the name of a file that is kept: `20260301T120000Z`. */
export function timestampInName(): string {
  return new Date().toISOString().replace(/[-:]|\.\d+/g, "");
}
