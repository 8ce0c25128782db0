/** Counts how often each possible event happened: a fault that never happens proves nothing. */
export class Coverage {
  readonly #counts = new Map<string, number>();

  count(kind: string, name: string | number): void {
    const key = `${kind}: ${name}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** @param key `kind: name` */
  get(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(counts: Readonly<Record<string, number>>): void {
    for (const [key, count] of Object.entries(counts)) this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
