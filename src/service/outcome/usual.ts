/* When something becomes usual for an endpoint: the same for forms, texts, words for records, and empty answers. */

/** Received so often at first; a single answer is not enough. */
export const USUAL_TIMES = 3;
/** Later, after so many proofs that the service had worked all the same. */
export const PROOFS = 3;
/** Or where nothing else came for a day, because most outages are shorter, and not in two answers hours apart. */
export const PATIENCE_MS = 24 * 3_600_000;
export const PATIENCE_TIMES = 6;
