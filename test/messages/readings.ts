/**
 * Texts whose parts are made in other places of the program: how they read in the end. A message that changes its
 * words is no longer found here, and then asks for a reading of its own.
 */
export const READINGS: Readonly<Record<string, readonly string[]>> = {
  "a list of {kindof}s": ["a list of strings", "a list of arrays", "a list of booleans", "a list of nulls"],
};
