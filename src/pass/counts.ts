/** What a pass did, by name, as it is shown and stored in `runs`. Zero counts are left out. */
export type Counts = Record<string, number>;

export function addCount(counts: Counts, name: string, by = 1): void {
  if (by > 0) counts[name] = (counts[name] ?? 0) + by;
}

export function addCounts(counts: Counts, more: Readonly<Counts>): void {
  for (const [name, by] of Object.entries(more)) addCount(counts, name, by);
}
