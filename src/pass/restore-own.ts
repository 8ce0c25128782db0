import type { ErpObjects } from "../database/erp-objects.ts";
import { m } from "../messages/messages.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";

/** Makes the bridge's own triggers, indexes and views again that are gone or differ, before anything is decided by them. */
export async function restoreOwn(
  context: Pick<JobContext, "store" | "clock" | "log" | "objects" | "requireAccount">,
  objects: ErpObjects | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (objects?.isToRestore !== true) return;
  const names = await commit(context, signal, () => objects.restore());
  objects.noteRestored();
  if (names.length > 0) context.log.warn({}, m.database.ownMadeAgain({ names }));
}
