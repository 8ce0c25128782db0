import type { Draws } from "../simulate/draws.ts";

/**
 * One replacement in the source. `find` must stand exactly once in the file, or in its function of the name `in`; how it is
 * laid out in lines does not matter.
 */
export interface TextEdit {
  readonly file: string;
  readonly in?: string;
  readonly find: string;
  readonly replace: string;
}

/** What the function or method of that name does instead, whatever it does now. A private one is named `#name`. */
export interface BodyEdit {
  readonly file: string;
  readonly of: string;
  readonly does: string;
}

export type Edit = TextEdit | BodyEdit;

/** A bug to be planted in a copy of the source, and who has to find it. */
export interface PlantedBug {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** Where the simulation has to play one world alone, so that few seeds find it. */
  readonly world?: "hostile";
  /** What it needs is drawn rarely: of many seeds those are played that draw it. */
  readonly draws?: Draws;
  /**
   * `simulation`; the test of that file, where what it guards is decided by one function; or the direct check of that name, for what
   * no simulation of one process can see.
   */
  readonly foundBy: string;
}

export const one = (name: string, file: string, find: string, replace: string): PlantedBug => ({
  name,
  edits: [{ file, find, replace }],
  foundBy: "simulation",
});

/** A bug that only the hostile world meets. */
export const hostile = (
  name: string,
  file: string,
  [find, replace]: readonly [string, string],
  draws?: Draws,
): PlantedBug => ({
  ...one(name, file, find, replace),
  world: "hostile",
  ...(draws === undefined ? {} : { draws }),
});

/** A bug that the tests of a file find. */
export const tested = (
  foundBy: `test/${string}`,
  name: string,
  edit: Omit<TextEdit, "file"> | Omit<BodyEdit, "file">,
  file: string,
): PlantedBug => ({ name, edits: [{ file, ...edit } as Edit], foundBy });

/** A bug that the direct check of that name finds. */
export const direct = (
  foundBy: string,
  name: string,
  file: string,
  [find, replace]: readonly [string, string],
): PlantedBug => ({
  ...one(name, file, find, replace),
  foundBy,
});
