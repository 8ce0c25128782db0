/*
 * Watches surroundings that make the program's work wrong without making it fail: a clock far from the service's, and a
 * Client Secret whose file is newer than systemd's copy. Each is logged once when it begins and once when it ends;
 * `status` shows it in between. Also restores the bridge's own triggers and views that another program has changed.
 */

import { FEED_NAMES } from "../config/feed-names.ts";
import { describeObjects, type ErpObjects } from "../database/objects/erp-objects.ts";
import { requestCompare } from "../feeds/feed-rows.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { loadNotices, NOTICES, type NoticeName } from "../pass/notices.ts";
import { restoreOwn } from "../pass/restore-own.ts";
import type { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { clockOffsetS } from "./clock-offset.ts";

/** A drifting clock's offset is stored again only after it moved by so much. */
const OFFSET_STEP_S = 60;

export class WatchMachine {
  readonly #context: JobContext;
  readonly #objects: ErpObjects;
  readonly #findStaleCredential: () => BridgeError | undefined;

  constructor(context: JobContext, objects: ErpObjects, findStaleCredential: () => BridgeError | undefined) {
    this.#context = context;
    this.#objects = objects;
    this.#findStaleCredential = findStaleCredential;
  }

  async look(signal: AbortSignal): Promise<void> {
    const known = new Map(loadNotices(this.#context.store).map((notice) => [notice.name, notice]));
    await restoreOwn(this.#context, this.#objects, signal);
    await this.#lookAtClock(known.get("clock"), signal);
    await this.#lookAtCredential(known.has("credential"), signal);
    await this.#lookAtObjects(known.get("objects"), signal);
  }

  async #lookAtClock(known: { since: string; offsetS?: number } | undefined, signal: AbortSignal): Promise<void> {
    const { client, clock, log, store } = this.#context;
    // Before the first answer nothing is known, and the former notice stays.
    if (client.serviceNow === undefined) return;
    const offsetS = clockOffsetS(client.serviceNow, clock.nowMs(), known !== undefined);
    if (offsetS === undefined) {
      if (known === undefined) return;
      await this.#end("clock", signal);
      log.info({}, m.health.clockAgrees);
      return;
    }
    if (known !== undefined && Math.abs((known.offsetS ?? 0) - offsetS) < OFFSET_STEP_S) return;
    const since = known?.since ?? isoTime(clock.nowMs());
    await commit(this.#context, signal, () => NOTICES.clock.save(store, { since, offsetS }));
    if (known === undefined) log.warn({ offsetS }, m.health.clockFar);
  }

  async #lookAtCredential(isKnown: boolean, signal: AbortSignal): Promise<void> {
    const { clock, log, store } = this.#context;
    const stale = this.#findStaleCredential();
    if ((stale !== undefined) === isKnown) return;
    if (stale === undefined) {
      await this.#end("credential", signal);
      return;
    }
    const since = isoTime(clock.nowMs());
    await commit(this.#context, signal, () => NOTICES.credential.save(store, { since }));
    log.warn({}, stale.inFull);
  }

  async #lookAtObjects(known: { since: string; names?: string } | undefined, signal: AbortSignal): Promise<void> {
    const { clock, log, store } = this.#context;
    const found = this.#objects.list();
    const names = describeObjects(found);
    if (names === (known?.names ?? "")) return;
    const since = known?.since ?? isoTime(clock.nowMs());
    await commit(this.#context, signal, () => {
      // Changes made meanwhile may not have been recorded.
      for (const feed of FEED_NAMES) requestCompare(store, feed, m.health.hadTriggers);
      NOTICES.objects.save(store, found.length === 0 ? undefined : { since, names });
    });
    if (found.length === 0) log.info({}, m.health.noObjects);
    else log.warn({ objects: names }, m.health.objects({ names }));
  }

  async #end(name: NoticeName, signal: AbortSignal): Promise<void> {
    await commit(this.#context, signal, () => NOTICES[name].delete(this.#context.store));
  }
}
