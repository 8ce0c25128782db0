/** At most so many columns name a row of a feed. */
export const KEY_COLUMNS_MAX = 4;

export type FeedName = "stocks" | "prices" | "catalog" | "images";

export const FEED_NAMES: readonly FeedName[] = ["stocks", "prices", "catalog", "images"];
