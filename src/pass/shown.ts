/*
 * A command decides only about what a person can have been shown. Where it would cover more, it names what is new, decides
 * nothing, and decides when it is given again while nothing else is new. Saved in the transaction of the decision; after a
 * crash before the commit the command names it once more.
 */

import { digestOf } from "../answers/digest.ts";
import { MetaValue, unlessEmpty } from "../database/meta.ts";
import type { Store } from "../database/store.ts";

/** What a command would decide about now. */
export interface Covered {
  /** Names all of it: another text where something else is covered. */
  what: string;
  /** All of it was there when the person can have looked. */
  isShown: boolean;
}

/** By subject: the digest of what was named. */
const NAMED = new MetaValue<Record<string, string>>("told", {});

/** The command has named all that it covers. @param subject the command's area or feed, and what it decides about */
export function saveNamed(store: Store, subject: string, { what }: Pick<Covered, "what">): void {
  NAMED.save(store, { ...NAMED.load(store), [subject]: digestOf(what).toString("base64") });
}

/** Whether the command may decide. Otherwise it has to name what it covers; the same call with the same `what` is true then. */
export function mayDecide(store: Store, subject: string, { what, isShown }: Covered): boolean {
  const { [subject]: named, ...others } = NAMED.load(store);
  const mayNow = isShown || named === digestOf(what).toString("base64");
  if (!mayNow) saveNamed(store, subject, { what });
  else if (named !== undefined) NAMED.save(store, unlessEmpty(others));
  return mayNow;
}
