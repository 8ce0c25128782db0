import type { ErpObjects } from "../database/objects/erp-objects.ts";
import { m } from "../messages/messages.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";

/** Creates missing or changed triggers, indexes and views of the bridge again, before anything depends on them. */
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
