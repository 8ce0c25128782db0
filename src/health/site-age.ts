/**
 * The longest age of the stock on the site, in seconds, for each span of `spanMs` between two times; null where no
 * success is known yet. At a success the site shows the ERP's table of that moment; the age grows until the next one.
 * @param successes when passes succeeded, ascending; includes the last one before `fromMs` where it is known
 */
export function longestAges(
  successes: readonly number[],
  { fromMs, toMs, spanMs }: { fromMs: number; toMs: number; spanMs: number },
): (number | null)[] {
  const ages: (number | null)[] = [];
  let next = 0;
  let last: number | undefined;
  for (let startMs = fromMs; startMs < toMs; startMs += spanMs) {
    const endMs = Math.min(startMs + spanMs, toMs);
    let longestMs: number | undefined;
    for (let at = successes[next]; at !== undefined && at < endMs; at = successes[++next]) {
      if (last !== undefined && at >= startMs) longestMs = Math.max(longestMs ?? 0, at - last);
      last = at;
    }
    if (last !== undefined) longestMs = Math.max(longestMs ?? 0, endMs - last);
    ages.push(longestMs === undefined ? null : Math.round(longestMs / 1000));
  }
  return ages;
}
