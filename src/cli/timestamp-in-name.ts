/** The present time for the name of a kept file: `20260301T120000Z`. */
export function timestampInName(): string {
  return new Date().toISOString().replace(/[-:]|\.\d+/g, "");
}
