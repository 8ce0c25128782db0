/** One line of the report; `aim` says whether the figure is what it should be. */
export function print(what: string, figure: string, aim?: { text: string; isMet: boolean }): void {
  const verdict = aim === undefined ? "" : `   aim ${aim.text}: ${aim.isMet ? "met" : "MISSED"}`;
  console.log(`${what.padEnd(44)} ${figure}${verdict}`);
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

export const atMost = (value: number, limit: number, unit = "") => ({
  text: `at most ${limit}${unit}`,
  isMet: value <= limit,
});

export const atLeast = (value: number, limit: number, unit = "") => ({
  text: `at least ${limit}${unit}`,
  isMet: value >= limit,
});
