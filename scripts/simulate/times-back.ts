/* By how many minutes times without a zone are too early: an hour, zones of a large country, half a day. */

export const TIMES_BACK = [60, 180, 300, 720] as const;
export type TimesBack = (typeof TIMES_BACK)[number];
