/** Limit for the columns of a feed's key. */
export const KEY_COLUMNS_MAX = 4;

export type FeedName = "stocks" | "prices" | "catalog" | "images";

export const FEED_NAMES: readonly FeedName[] = ["stocks", "prices", "catalog", "images"];

/** Ways of sending an image to the service. */
export const IMAGE_SENDS = ["url", "base64", "multipart"] as const;

/** Placeholders for an image's file, in addition to the columns of its row. */
export const FILE_NAMES = ["file.base64", "file.name", "file.type", "file.size", "file.sha256"] as const;

/** Kinds of images that the bridge recognises by their first bytes. */
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
