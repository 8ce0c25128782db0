/*
 * One pass of the mirror. Each round reads the position without locks and runs one transaction in each direction that has
 * work, until nothing is left or the pass's time is over. The directions alternate, so that neither waits for the other's
 * backlog. No other flow waits for a pass. Any error ends the connection and the pass; the next pass reads the position again.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import { addCounts } from "../pass/counts.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { type Claim, judgeWriter, mayBeAtWork } from "./claim/fence.ts";
import { Fenced } from "./claim/fenced.ts";
import { deleteStrays, leaveStrays, readStrays, takeStrays } from "./claim/strays.ts";
import { briefly, type LinkOptions, MirrorLink, type MirrorTx } from "./connection.ts";
import { loadHead } from "./down/down-rows.ts";
import { firstPosition } from "./down/plan-down.ts";
import { MirrorError, placeOf } from "./mirror-error.ts";
import {
  forgetMirrorState,
  isThisHost,
  loadKnown,
  loadMirrorState,
  noteRestored,
  saveMirrorState,
} from "./mirror-state.ts";
import type { MirrorPart, MirrorSession } from "./part.ts";
import {
  lockPosition,
  lookAtPosition,
  type Position,
  refuseOtherDatabase,
  type Seen,
  type Self,
  savePosition,
} from "./position.ts";
import { identify, verifySchema } from "./schema/schema-version.ts";

/** Interval at which an idle shop writes a sign of life. */
const HEARD_MS = 15_000;
/** The minimum of `silentAfterS`. */
export const SILENT_MIN_S = 120;
/** Interval at which idle passes are recorded: there may be one per second. */
const RECORD_IDLE_MS = 60_000;
/** Limit of one pass: a shop with continuous work reports its state between passes. */
const PASS_MS = 10_000;
const ROUNDS_MAX = 200;
/** Interval at which a start checks whether another instance is still working. */
const WATCH_MS = 1_000;
/** Stored claims: a restored PostgreSQL may have an earlier one. */
const CLAIMS_MAX = 20;
/** Minimum interval at which the turn is stored; between, it is in memory. */
const NOTE_TURN_MS = 30_000;

export interface MirrorOptions {
  link: Omit<LinkOptions, "verify">;
  self: Self;
  parts: readonly MirrorPart[];
  /** Returns the state of the shop in one sentence. */
  sentence: () => string;
  /** The shop is reported at the head office where it is silent for longer. */
  silentAfterS: number;
  /** Number of the newest takeover stored in the shop's database. */
  takeoverNo: number;
  /** Set where an earlier process found that another instance works for the shop. */
  fenced: Fenced | undefined;
  /** Called where another instance works for the shop: this process must end. */
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
  #isRestored: boolean;
  /** The next pass reconnects, which verifies the schema. */
  #isSchemaDue = false;
  /** The version of the triggers in PostgreSQL at the last successful check of the schema. */
  #triggers: string | undefined;
  /** An event up to which PostgreSQL has all orders. */
  #mirrored: number | undefined;
  /** When the shop last wrote to PostgreSQL, in seconds since 1970. */
  #heardAtS: number | undefined;
  #isClaimNoted = false;
  #ownerCheck: Promise<void> | undefined;
  #fenced: Fenced | undefined;
  #ending: Promise<Fenced> | undefined;
  /** Failed passes of this process. */
  #failures = 0;
  /** Identifies the connected PostgreSQL; undefined where it may not be queried. */
  #server: string | undefined;
  #notedMs = Number.NEGATIVE_INFINITY;
  #recordedMs: number | undefined;
  /** When the shop's sentence was last written to PostgreSQL. */
  #sentenceMs = Number.NEGATIVE_INFINITY;

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
    this.#isRestored = loadMirrorState(context.store, "went_back") !== undefined;
    this.#fenced = options.fenced;
  }

  /** Makes the next passes verify the schema and compare all rows in both directions. */
  requestCompare(): void {
    this.#isSchemaDue = true;
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

  /** Set where another instance works for the shop: no request to the service is allowed. */
  get fenced(): Fenced | undefined {
    return this.#fenced;
  }

  /**
   * To be called before each request to the service. The first call waits for the check whether another instance works for
   * the shop, which does not wait long for PostgreSQL.
   * @throws Fenced where another instance does
   */
  async admit(): Promise<void> {
    await this.#checkOwnerOnce();
    if (this.#fenced !== undefined) throw this.#fenced;
  }

  #checkOwnerOnce(): Promise<void> {
    this.#ownerCheck ??= this.#checkOwner();
    return this.#ownerCheck;
  }

  /** Uses a separate connection, because a pass may be running. */
  async #checkOwner(): Promise<void> {
    const look = () => briefly(this.#options.link, (link) => lookAtPosition(link, this.#options.self.shop));
    try {
      const seen = await look();
      if (seen === undefined) return;
      // Nothing was asked of the service yet.
      await this.#watchOther(seen, look, 0);
      this.#refuseOthers(seen);
    } catch (error) {
      const { code } = asError(error);
      if (code === "stopped") throw error;
      if (error instanceof Fenced) await this.#endFenced(error);
      else this.#context.log.debug({ errorCode: code }, "Who works for the shop could not be learnt at the start.");
    }
  }

  /**
   * Where another instance may be working, waits until it is silent: until then the shop is not claimed and no request is
   * sent.
   * @param strays orders that this process has left for the other instance; null: not listed yet
   * @throws Fenced where the other instance writes meanwhile; BridgeError `stopped`
   */
  async #watchOther(first: Seen, look: () => Promise<Seen | undefined>, strays: number | null): Promise<void> {
    const { self } = this.#options;
    for (let seen: Seen | undefined = first; seen !== undefined && this.#isOtherAtWork(seen); seen = await look()) {
      if (seen.databaseId === self.databaseId) this.#refuseOthers(seen);
      if (seen.turn !== first.turn) throw new Fenced({ shop: self.shop, host: seen.host, isTakenOver: false, strays });
      if (seen === first)
        this.#context.log.warn(
          {},
          m.mirror.otherHeard({ shop: self.shop, host: seen.host ?? "?", isHere: isThisHost(seen.host) }),
        );
      // No claim: the instance at work would end.
      if (this.#context.isStopping()) throw new BridgeError("stopped", m.daemon.stoppedInPass);
      // Real time, not the injected clock, because PostgreSQL's times are real.
      await sleep(WATCH_MS);
    }
  }

  #isOtherAtWork(seen: Seen): boolean {
    if (this.#claim.writerNo !== undefined || seen.writer === this.#claim.writer) return false;
    return mayBeAtWork(seen, loadKnown(this.#context.store), this.#options.self);
  }

  /** Stores the claim before it is made, so that a start after a crash recognizes its own claim. */
  async #noteClaim(seen: Seen, signal: AbortSignal): Promise<void> {
    if (this.#isClaimNoted) return;
    const { store } = this.#context;
    const claims = [...new Set([this.#claim.writer, ...(loadKnown(store).claims ?? [])])].slice(0, CLAIMS_MAX);
    await commit(this.#context, signal, () => {
      saveMirrorState(store, "claims", JSON.stringify(claims));
      saveMirrorState(store, "heard", String(seen.heardAtS));
    });
    this.#isClaimNoted = true;
  }

  /** Allows no further request, lists orders that the other machine lacks, and ends this process. */
  #endFenced(error: Fenced): Promise<Fenced> {
    this.#fenced = error;
    this.#ending ??= this.#leave(error);
    return this.#ending;
  }

  async #leave(error: Fenced): Promise<Fenced> {
    const { link, self, onFenced } = this.#options;
    let ended = error;
    try {
      if (error.strays === null)
        ended = error.withStrays(await briefly(link, (own) => leaveStrays(own, this.#context.store, self)));
    } catch (thrown) {
      this.#context.log.warn(
        { errorCode: asError(thrown).code },
        m.mirror.straysNotLeft({ why: asError(thrown).text }),
      );
    }
    this.#fenced = ended;
    onFenced(ended);
    return ended;
  }

  /** Queues orders that another machine ingested before it found that it had lost the shop. */
  async #takeStrays(signal: AbortSignal): Promise<number> {
    const { store, clock, log } = this.#context;
    const { shop } = this.#options.self;
    const strays = await readStrays(this.#link, shop);
    const orders = await commit(this.#context, signal, () => takeStrays(store, strays, isoTime(clock.nowMs())));
    const host = strays.findLast((stray) => stray.host !== null)?.host ?? "?";
    log.warn({ orders }, m.mirror.straysTaken({ host, orders }));
    await this.#transact(async (tx) => {
      await deleteStrays(tx, shop, strays);
      return { turn: await savePosition(tx, shop, {}) };
    });
    return orders;
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const close = () => this.#link.close();
    signal.addEventListener("abort", close, { once: true });
    try {
      return await this.#pass(signal);
    } catch (error) {
      this.#recordedMs = undefined;
      this.#failures += 1;
      // Rows written while triggers were missing are not recorded in `touched`.
      if (error instanceof MirrorError && error.code === "mirror_schema") this.requestCompare();
      throw error instanceof Fenced ? await this.#endFenced(error) : error;
    } finally {
      signal.removeEventListener("abort", close);
    }
  }

  async #pass(signal: AbortSignal): Promise<JobReport> {
    const { clock, isStopping } = this.#context;
    const endMs = clock.monotonicMs() + PASS_MS;
    if (this.#isSchemaDue) this.#link.close();
    this.#isSchemaDue = false;
    const counts: Record<string, number> = {};
    await this.admit();
    let seen = await this.#look(signal);
    if (seen.hasStrays) counts["strays"] = await this.#takeStrays(signal);
    const ways = this.#inTurn(seen);
    let more = await this.#round(ways, seen, { signal, counts });
    for (let rounds = 1; more && rounds < ROUNDS_MAX && clock.monotonicMs() < endMs && !isStopping(); rounds++) {
      seen = await this.#look(signal);
      more = await this.#round(ways, seen, { signal, counts });
    }
    // Also for a shop with continuous work: its rows do not include its state.
    if (clock.monotonicMs() - this.#sentenceMs >= HEARD_MS || seen.heardS * 1_000 >= HEARD_MS) {
      const { self, link } = this.#options;
      await this.#transact(async (tx) => {
        // A trigger may be dropped, or disabled for a bulk load, while the connection is open.
        await verifySchema((sql, params) => tx.query(sql, params), link);
        return { turn: await savePosition(tx, self.shop, this.#standing()) };
      });
    }
    await this.#noteTurn(signal);
    return { outcome: more ? "more" : Object.keys(counts).length > 0 ? "done" : "idle", counts };
  }

  async #look(signal: AbortSignal): Promise<Seen> {
    const seen = (await lookAtPosition(this.#link, this.#options.self.shop)) ?? (await this.#begin());
    // Where PostgreSQL was away at the start, orders may have been taken since.
    await this.#watchOther(seen, () => lookAtPosition(this.#link, this.#options.self.shop), null);
    this.#refuseOthers(seen);
    await this.#noteClaim(seen, signal);
    // A trigger may be dropped while the connection is open.
    if (seen.triggers !== this.#triggers)
      await verifySchema((sql, params) => this.#link.look(sql, params), this.#options.link);
    this.#triggers = seen.triggers;
    this.#heardAtS = seen.heardAtS;
    if (seen.walk !== "copy") this.#mirrored = seen.ordersSeq;
    const isBehind = seen.turn < this.#turn;
    if (isBehind || (!this.#isRestored && this.#isOtherServer())) {
      // Stored before anything is written to PostgreSQL: its turn would soon reach the known one and hide the restore.
      const { store, clock } = this.#context;
      await commit(this.#context, signal, () => {
        const at = isoTime(clock.nowMs());
        saveMirrorState(store, "went_back", at);
        noteRestored(store, at, { isBehind });
      });
      this.#isRestored = true;
    }
    return seen;
  }

  /**
   * The directions in the order of this pass. It alternates between passes, even where passes end after one transaction
   * (which increments the turn) or one direction always fails.
   */
  #inTurn(seen: Seen): readonly MirrorPart[] {
    const { parts } = this.#options;
    return (seen.turn + this.#failures) % 2 === 0 ? parts : parts.toReversed();
  }

  /** One transaction in each direction that has work. Returns whether more rows are waiting. */
  async #round(
    ways: readonly MirrorPart[],
    seen: Seen,
    { signal, counts }: { signal: AbortSignal; counts: Record<string, number> },
  ): Promise<boolean> {
    let more = false;
    for (const way of ways) {
      if (!way.hasWork(this.#context.store, seen, this.#isRestored)) continue;
      const result = await way.turn(this.#session(), seen, signal);
      addCounts(counts, result.counts);
      more ||= result.more;
    }
    return more;
  }

  #standing() {
    this.#sentenceMs = this.#context.clock.monotonicMs();
    return { sentence: this.#options.sentence(), silentAfterS: this.#options.silentAfterS };
  }

  /** The first pass of a shop: creates its position. The shop must be registered in PostgreSQL. */
  async #begin(): Promise<Seen> {
    const { self, link } = this.#options;
    const { ordersSeq, eventsSeq, epoch, walk, walkAfter } = firstPosition({ head: loadHead(this.#context.store) });
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
        const { writer, host, version, account } = this.#options.self;
        // A restored PostgreSQL may have lost this number; without it the former machine would work again.
        const { takeoverNo } = this.#claim;
        await savePosition(tx, shop, { writer, writerNo, takeoverNo, host, version, account, ...this.#standing() });
      }
      return await work(tx, position);
    });
    this.#claim.writerNo = writerNo;
    // A restored PostgreSQL that this transaction was the first to reach is found at the next look.
    if (this.#isRestored || result.turn > this.#turn) this.#turn = result.turn;
    if (result.isRestored === true) this.#isRestored = false;
    return result;
  }

  /** @throws MirrorError `mirror_database`, `mirror_fenced` */
  #refuseOthers(position: Position) {
    const { self, fenced } = this.#options;
    if (fenced !== undefined) throw fenced;
    refuseOtherDatabase(position, self);
    const verdict = judgeWriter(position, this.#claim);
    if (verdict.kind !== "fenced") return verdict;
    throw new Fenced({ shop: self.shop, host: position.host, isTakenOver: verdict.isTakenOver });
  }

  /** Whether this is another cluster or another timeline: PostgreSQL was restored, or a standby was promoted. */
  #isOtherServer(): boolean {
    const known = loadMirrorState(this.#context.store, "server");
    return known !== undefined && this.#server !== undefined && this.#server !== known;
  }

  /** Stores the turn. After a restore of PostgreSQL it decreases as well, but only once the comparison has begun. */
  async #noteTurn(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    if (this.#isRestored) return;
    const server = this.#server ?? loadMirrorState(store, "server") ?? "";
    const isBack = loadMirrorState(store, "went_back") !== undefined;
    const isSoon = this.#turn >= this.#notedTurn && clock.monotonicMs() - this.#notedMs < NOTE_TURN_MS;
    const isSame = server === (loadMirrorState(store, "server") ?? "");
    if (!isBack && isSame && (this.#turn === this.#notedTurn || isSoon)) return;
    await commit(this.#context, signal, () => {
      saveMirrorState(store, "turn", String(this.#turn));
      if (this.#heardAtS !== undefined) saveMirrorState(store, "heard", String(this.#heardAtS));
      if (this.#mirrored !== undefined) saveMirrorState(store, "mirrored", String(this.#mirrored));
      forgetMirrorState(store, "went_back");
      if (server !== "") saveMirrorState(store, "server", server);
    });
    this.#notedTurn = this.#turn;
    this.#notedMs = clock.monotonicMs();
  }
}
