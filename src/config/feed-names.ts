/** At most so many columns name a row of a feed. */
export const KEY_COLUMNS_MAX = 4;

export type FeedName = "stocks" | "prices" | "catalog" | "images";

export const FEED_NAMES: readonly FeedName[] = ["stocks", "prices", "catalog", "images"];

/** Ways in which an image reaches the service. */
export const IMAGE_SENDS = ["url", "base64", "multipart"] as const;

/** What a record may say of its file, besides the columns of its row. */
export const FILE_NAMES = ["file.base64", "file.name", "file.type", "file.size", "file.sha256"] as const;

/** The kinds of images that the bridge can recognise by their first bytes. */
export const IMAGE_TYPES = [
  "image/jpeg",
  "image/png",
  "image/webp",
  "image/gif",
  "image/avif",
  "image/heic",
  "image/bmp",
  "image/tiff",
] as const;
