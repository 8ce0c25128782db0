/*
 * A command decides only about what a person can have been shown. Where it would cover more, it names what is new, decides
 * nothing, and decides when it is given again while nothing else is new. Saved in the transaction of the decision; after a
 * crash before the commit the command names it once more.
 */

import { digestOf } from "../answers/digest.ts";
import { deleteMeta, loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Store } from "../database/store.ts";

/** What a command would decide about now. */
export interface Covered {
  /** Names all of it: another text where something else is covered. */
  what: string;
  /** All of it was there when the person can have looked. */
  isShown: boolean;
}

type Named = Record<string, string>;

const load = (store: Store): Named => loadMetaJson<Named>(store, "told") ?? {};

function save(store: Store, named: Named): void {
  if (Object.keys(named).length === 0) deleteMeta(store, "told");
  else saveMetaJson(store, "told", named);
}

/** The command has named all that it covers. @param subject the command's area or feed, and what it decides about */
export function saveNamed(store: Store, subject: string, { what }: Pick<Covered, "what">): void {
  save(store, { ...load(store), [subject]: digestOf(what).toString("base64") });
}

/** Whether the command may decide. Otherwise it has to name what it covers; the same call with the same `what` is true then. */
export function mayDecide(store: Store, subject: string, { what, isShown }: Covered): boolean {
  const { [subject]: named, ...others } = load(store);
  const mayNow = isShown || named === digestOf(what).toString("base64");
  if (!mayNow) saveNamed(store, subject, { what });
  else if (named !== undefined) save(store, others);
  return mayNow;
}
