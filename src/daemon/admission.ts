/*
 * Whether a command may send requests itself. Like the daemon, it sends none for a shop that another instance works
 * for. A database that does not exist yet names no shop, and an unreadable one is reported elsewhere.
 */
import { existsSync } from "node:fs";
import type { LoadedConfig } from "../config/load.ts";
import { mirrorRouteOf } from "../config/route.ts";
import { openReadOnly } from "../database/connection.ts";
import { judgeVisit, type Known } from "../mirror/claim/fence.ts";
import { Fenced, refuseFenced } from "../mirror/claim/fenced.ts";
import { briefly } from "../mirror/connection.ts";
import { loadKnown, loadMirrorState } from "../mirror/mirror-state.ts";
import { lookAtPosition } from "../mirror/position.ts";

/** Interval of repeated checks during one command. */
const LOOK_MS = 30_000;

/** @throws Fenced by the returned function */
export function admissionOf(loaded: LoadedConfig): () => Promise<void> {
  let freeUntilMs = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() < freeUntilMs) return;
    // Where PostgreSQL does not answer the first time, the command does not wait for it again.
    freeUntilMs = (await look(loaded)) === "unknown" ? Number.POSITIVE_INFINITY : performance.now() + LOOK_MS;
  };
}

async function look({ config }: LoadedConfig): Promise<"free" | "unknown"> {
  const known = readDatabase(config);
  const route = mirrorRouteOf(config);
  if (known === undefined || route === undefined) return "unknown";
  const { schema, timeout } = config.mirror;
  const { shop } = route;
  const seen = await briefly({ ...route, schema, timeoutMs: timeout }, (link) => lookAtPosition(link, shop)).catch(
    () => undefined,
  );
  if (seen === undefined) return "unknown";
  const verdict = judgeVisit(seen, known);
  if (verdict === "free") return "free";
  const isTakenOver = verdict === "taken over";
  throw new Fenced({ shop, host: seen.host, isTakenOver, strays: isTakenOver ? null : 0 });
}

/** @throws Fenced where the database records that another machine has the shop */
function readDatabase({ database, mirror }: LoadedConfig["config"]): (Known & { takeoverNo: number }) | undefined {
  if (!existsSync(database.path)) return undefined;
  try {
    using store = openReadOnly(database.path);
    const fenced = refuseFenced(store, mirror.shop);
    if (fenced !== undefined) throw fenced;
    return { ...loadKnown(store), takeoverNo: Number(loadMirrorState(store, "takeover_no") ?? 0) };
  } catch (error) {
    if (error instanceof Fenced) throw error;
    return undefined;
  }
}
