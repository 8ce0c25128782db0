/*
 * One pass of the mirror: a look at PostgreSQL that locks nothing, and where something is to be done, bounded transactions each way. No other
 * flow waits for it. Whatever fails ends the connection and the pass; the next one begins with another look.
 */
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { type LinkOptions, MirrorLink, type MirrorTx } from "./connection.ts";
import { loadLocal } from "./down-rows.ts";
import { type Claim, judgeWriter } from "./fence.ts";
import { Fenced } from "./fenced.ts";
import { MirrorError, placeOf } from "./mirror-error.ts";
import { loadMirrorState, saveMirrorState } from "./mirror-state.ts";
import type { MirrorPart, MirrorSession } from "./part.ts";
import { firstPosition } from "./plan-down.ts";
import {
  lockPosition,
  lookAtPosition,
  type Position,
  refuseOtherDatabase,
  type Seen,
  type Self,
  savePosition,
} from "./position.ts";
import { identify, verifySchema } from "./schema-version.ts";

/** So often a shop in which nothing happens writes a sign of life. */
const HEARD_MS = 15_000;
/** Silence of so long is worth a word there, at least. */
export const SILENT_MIN_S = 120;
/** A pass that found nothing to do is recorded so often: there may be one a second. */
const RECORD_IDLE_MS = 60_000;
/** The turn is noted so often at most; in between the process keeps it. */
const NOTE_TURN_MS = 30_000;

export interface MirrorOptions {
  link: Omit<LinkOptions, "verify">;
  self: Self;
  parts: readonly MirrorPart[];
  /** How things stand with the shop, in a sentence. */
  sentence: () => string;
  /** Silence of so long is worth a word at the head office. */
  silentAfterS: number;
  /** The newest takeover that the shop's database has noted. */
  takeoverNo: number;
  /** Another instance works for the shop: this one is to end. */
  onFenced: (error: Fenced) => void;
}

export class RunMirror implements Job {
  readonly name = "mirror";
  readonly areas = [];
  readonly #context: JobContext;
  readonly #options: MirrorOptions;
  readonly #link: MirrorLink;
  readonly #claim: Claim;
  #turn: number;
  #notedTurn: number;
  #isRestored = false;
  /** Which PostgreSQL the connection leads to; undefined: it does not say. */
  #server: string | undefined;
  #notedMs = Number.NEGATIVE_INFINITY;
  #recordedMs: number | undefined;
  /** When the conditions were last written there. */
  #saidMs = Number.NEGATIVE_INFINITY;

  constructor(context: JobContext, options: MirrorOptions) {
    this.#context = context;
    this.#options = options;
    const verify: LinkOptions["verify"] = async (query) => {
      await verifySchema(query, options.link);
      this.#server = await identify(query);
    };
    this.#link = new MirrorLink({ ...options.link, verify });
    this.#claim = { writer: options.self.writer, writerNo: undefined, takeoverNo: options.takeoverNo };
    this.#notedTurn = Number(loadMirrorState(context.store, "turn") ?? 0);
    this.#turn = this.#notedTurn;
  }

  /** The next passes go through everything, both ways. */
  requestCompare(): void {
    for (const part of this.#options.parts) part.compareAll();
  }

  skipsIdleRow(monotonicMs: number): boolean {
    if (this.#recordedMs !== undefined && monotonicMs - this.#recordedMs < RECORD_IDLE_MS) return true;
    this.#recordedMs = monotonicMs;
    return false;
  }

  close(): void {
    this.#link.close();
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const close = () => this.#link.close();
    signal.addEventListener("abort", close, { once: true });
    try {
      return await this.#pass(signal);
    } catch (error) {
      this.#recordedMs = undefined;
      if (error instanceof Fenced) this.#options.onFenced(error);
      throw error;
    } finally {
      signal.removeEventListener("abort", close);
    }
  }

  async #pass(signal: AbortSignal): Promise<JobReport> {
    const { self, parts } = this.#options;
    const { store } = this.#context;
    const seen = (await lookAtPosition(this.#link, self.shop)) ?? (await this.#begin());
    this.#refuseOthers(seen);
    this.#isRestored ||= seen.turn < this.#turn || this.#isOtherServer();
    const session = this.#session();
    const counts: Record<string, number> = {};
    let more = false;
    for (const part of parts) {
      if (!part.hasWork(store, seen, this.#isRestored)) continue;
      const result = await part.run(session, seen, signal);
      for (const [name, count] of Object.entries(result.counts)) counts[name] = (counts[name] ?? 0) + count;
      more ||= result.more;
    }
    // Also of a shop that is busy all the time, whose rows say nothing of how it stands.
    if (this.#context.clock.monotonicMs() - this.#saidMs >= HEARD_MS || seen.heardS * 1_000 >= HEARD_MS) {
      await session.transact(async (tx) => ({ turn: await savePosition(tx, self.shop, this.#standing()) }));
    }
    await this.#noteTurn(signal);
    return { outcome: more ? "more" : Object.keys(counts).length > 0 ? "done" : "idle", counts };
  }

  #standing() {
    this.#saidMs = this.#context.clock.monotonicMs();
    return { sentence: this.#options.sentence(), silentAfterS: this.#options.silentAfterS };
  }

  /** The first pass of a shop: it must be known there, and then has a position. */
  async #begin(): Promise<Seen> {
    const { self, link } = this.#options;
    const { ordersSeq, eventsSeq, epoch, walk, walkAfter } = firstPosition(loadLocal(this.#context.store));
    await this.#link.transaction(async (tx) => {
      const known = await tx.query("SELECT 1 FROM shop_keys WHERE shop = $1", [self.shop]);
      if (known.length === 0) {
        const at = placeOf(link.target);
        throw new MirrorError("mirror_right", m.mirror.unknownShop({ at, shop: self.shop, user: link.target.user }), {
          hint: m.mirror.rightHint({ shop: self.shop }),
        });
      }
      await tx.run(
        `INSERT INTO positions (shop, database_id, epoch, orders_seq, events_seq, walk, walk_after, takeover_no)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
        [self.shop, self.databaseId, epoch, ordersSeq, eventsSeq, walk, walkAfter, this.#options.takeoverNo],
      );
    });
    const seen = await lookAtPosition(this.#link, self.shop);
    if (seen === undefined) throw new Error("The position that was made is not there.");
    return seen;
  }

  #session(): MirrorSession {
    const self = this.#options.self;
    const mirror = this;
    return {
      link: this.#link,
      self,
      context: this.#context,
      get isRestored() {
        return mirror.#isRestored;
      },
      transact: (work) => this.#transact(work),
    };
  }

  async #transact<T extends { turn: number; isRestored?: boolean }>(
    work: (tx: MirrorTx, position: Position) => Promise<T>,
  ): Promise<T> {
    const { shop } = this.#options.self;
    let writerNo: number | undefined;
    const result = await this.#link.transaction(async (tx) => {
      const position = await lockPosition(tx, shop);
      if (position === undefined) throw new Error("The shop's position is gone.");
      const verdict = this.#refuseOthers(position);
      writerNo = verdict.kind === "claim" ? verdict.writerNo : position.writerNo;
      if (verdict.kind === "claim") {
        const { writer, host, version } = this.#options.self;
        await savePosition(tx, shop, { writer, writerNo, host, version, ...this.#standing() });
      }
      return await work(tx, position);
    });
    this.#claim.writerNo = writerNo;
    this.#turn = result.turn;
    if (result.isRestored === true) this.#isRestored = false;
    return result;
  }

  /** @throws MirrorError `mirror_database`, `mirror_fenced` */
  #refuseOthers(position: Position) {
    const { self } = this.#options;
    refuseOtherDatabase(position, self);
    const verdict = judgeWriter(position, this.#claim);
    if (verdict.kind !== "fenced") return verdict;
    throw new Fenced(self.shop, position.host, verdict.isTakenOver);
  }

  /** Another cluster, or another timeline of the same: one that was restored, or a standby that took its place. */
  #isOtherServer(): boolean {
    const known = loadMirrorState(this.#context.store, "server");
    return known !== undefined && this.#server !== undefined && this.#server !== known;
  }

  /** After a restore of PostgreSQL it goes back as well, but only once everything is gone through. */
  async #noteTurn(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    if (this.#isRestored) return;
    const server = this.#server ?? loadMirrorState(store, "server") ?? "";
    const isSoon = this.#turn >= this.#notedTurn && clock.monotonicMs() - this.#notedMs < NOTE_TURN_MS;
    if (server === (loadMirrorState(store, "server") ?? "") && (this.#turn === this.#notedTurn || isSoon)) return;
    await commit(this.#context, signal, () => {
      saveMirrorState(store, "turn", String(this.#turn));
      if (server !== "") saveMirrorState(store, "server", server);
    });
    this.#notedTurn = this.#turn;
    this.#notedMs = clock.monotonicMs();
  }
}
