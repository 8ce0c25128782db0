/*
 * Stops pulling orders while there is still room to finish the rest: a full disk would also stop confirms, pushes and
 * the ERP in the middle of their work. The hold is a row, so that it is visible; the first pass that finds room deletes
 * it. A crash changes nothing: the next pass checks again.
 */

import path from "node:path";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../pass/hold-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { type DiskSpace, judgeSpace, sizeOf } from "./space-rule.ts";

export type ReadSpace = (folder: string) => DiskSpace;

const AREA = "orders";

export class WatchDisk {
  readonly #context: JobContext;
  readonly #readSpace: ReadSpace;
  #isLowReported = false;

  constructor(context: JobContext, readSpace: ReadSpace) {
    this.#context = context;
    this.#readSpace = readSpace;
  }

  /**
   * Undefined where there is room for a batch; else the error that the pass ends with after its confirms. The hold is
   * already set.
   */
  async findNoRoom(signal: AbortSignal): Promise<BridgeError | undefined> {
    const { store, clock, log } = this.#context;
    const folder = path.dirname(store.path);
    const space = this.#look(folder);
    if (space === undefined) return undefined;
    const isStopped = loadHoldsOf(store, AREA).some(({ reason }) => reason === "disk");
    const judged = judgeSpace(space, isStopped);
    if (judged === "full") {
      const detail = m.backup.notAskedFor({ free: sizeOf(space.free), folder });
      const hold = { area: AREA, reason: "disk" as const, since: isoTime(clock.nowMs()), nextProbeAt: null, detail };
      if (!isStopped) await commit(this.#context, signal, () => saveHold(store, hold));
      return new BridgeError("disk_full", detail, { hint: m.backup.roomSoon });
    }
    if (isStopped) {
      await commit(this.#context, signal, () => deleteHold(store, AREA, "disk"));
      log.info({ area: AREA, free: space.free }, m.backup.roomAgain);
    }
    this.#reportLow(judged === "low", space, folder);
    return undefined;
  }

  /** A file system that cannot be checked must not stop orders. */
  #look(folder: string): DiskSpace | undefined {
    try {
      return this.#readSpace(folder);
    } catch {
      return undefined;
    }
  }

  #reportLow(isLow: boolean, { free }: DiskSpace, folder: string): void {
    if (isLow && !this.#isLowReported) {
      this.#context.log.warn({ folder, free }, m.backup.lowSpace({ free: sizeOf(free), folder }));
    }
    this.#isLowReported = isLow;
  }
}
