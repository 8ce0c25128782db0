/*
 * Whether a command that asks the service itself may do so: like the daemon's own requests, none leaves for a shop that another instance
 * works for. A database that was never there names no shop, and one that cannot be read is reported elsewhere.
 */
import { existsSync } from "node:fs";
import type { LoadedConfig } from "../config/load.ts";
import { mirrorRouteOf } from "../config/route.ts";
import { openReadOnly } from "../database/connection.ts";
import { briefly } from "../mirror/connection.ts";
import { judgeVisit, type Known } from "../mirror/fence.ts";
import { Fenced, refuseFenced } from "../mirror/fenced.ts";
import { loadKnown, loadMirrorState } from "../mirror/mirror-state.ts";
import { lookAtPosition } from "../mirror/position.ts";

/** How often it is looked again during one command. */
const LOOK_MS = 30_000;

/** @throws Fenced (what is returned does) */
export function admissionOf(loaded: LoadedConfig): () => Promise<void> {
  let freeUntilMs = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() < freeUntilMs) return;
    // What PostgreSQL does not say at first is not waited for again.
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

/** @throws Fenced where it is written there that another machine has the shop */
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
