export interface Backoff {
  firstMs: number;
  longestMs: number;
  /** 2 by default. */
  factor?: number;
}

/** The wait after so many failures in a row, in milliseconds: grows with each by the factor, up to the longest. */
export function backoffMs({ firstMs, longestMs, factor = 2 }: Backoff, failures: number): number {
  return Math.min(firstMs * factor ** Math.max(0, failures - 1), longestMs);
}
