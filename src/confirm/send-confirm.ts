/*
 * Sends the confirm of one batch and interprets the answer. Writes only accepted parts and forms of answers; after a
 * crash the remaining ids are confirmed again.
 */

import { elementsInSlices, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import { atOnce } from "../answers/slices.ts";
import type { BatchRow } from "../batches/batch-rows.ts";
import type { PullPass } from "../batches/pull-pass.ts";
import { m } from "../messages/messages.ts";
import { type AnswerForms, unknownForm } from "../pass/answer-forms.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { confirmBatch, turnOfConfirm } from "../service/orders.ts";
import { type Acceptance, readAcceptance, UNREADABLE_WORDS } from "../service/outcome/acceptance.ts";
import { type AnswerCounts, type CountedOtherwise, readCounts } from "../service/outcome/answer-counts.ts";
import type { AnswerForm } from "../service/outcome/known-forms.ts";
import { ServiceError } from "../service/service-error.ts";
import {
  type ConfirmForm,
  classifyConfirmFailure,
  confirmNames,
  confirmNamesOrders,
  renderConfirm,
} from "./confirm-form.ts";
import type { ConfirmWaits, Division, UnknownBecause } from "./confirm-waits.ts";
import { ConfirmedOrders } from "./confirmed-orders.ts";
import { loadRefusedAlone, saveUnconfirmedIds } from "./division-rows.ts";
import { loadOthersOf } from "./due-rows.ts";
import { FAILURES_OF_ONE_MAX, saveCoveredIds } from "./outcome-rows.ts";

/** Limit of parts per pass; the rest of the batch waits for the next one. */
const PARTS_PER_PASS = 500;
const TOO_LARGE = 413;
/** Limit of requests by which a pass divides a refused confirm. */
const DIVIDED_MAX = 200;
/** After so many orders that are refused alone, and none accepted, the service refuses all. */
const ALONE_MAX = 3;

/** `isSaid`: the service itself refused the confirm and did not act on it. */
export type Outcome =
  | { verdict: "confirmed"; usual?: AnswerForm; counts?: AnswerCounts; excess?: CountedOtherwise | undefined }
  | { verdict: "refused" | "retry"; failure: BridgeError; isSaid: boolean; because?: UnknownBecause };

/** What one request confirms of a batch. */
interface Part {
  row: BatchRow;
  /** The ids after it. */
  rest?: string;
}

/** What became of a batch: `row` names what was confirmed, or else what is left of it. */
interface Sent {
  row: BatchRow;
  outcome: Outcome;
  wasTried: boolean;
  /** Of a divided batch that is not confirmed: the part that is. */
  accepted?: BatchRow;
}

export class SendConfirm {
  readonly #context: JobContext;
  readonly #form: ConfirmForm;
  readonly #account: string;
  readonly #forms: AnswerForms;
  readonly #waits: ConfirmWaits;
  readonly #others: ConfirmedOrders;
  /** In this pass the service refuses every single order of a confirm. */
  #vainIn: PullPass | undefined;

  constructor(
    context: JobContext,
    form: ConfirmForm,
    { account, forms, waits }: { account: string; forms: AnswerForms; waits: ConfirmWaits },
  ) {
    this.#account = account;
    this.#context = context;
    this.#form = form;
    this.#forms = forms;
    this.#waits = waits;
    this.#others = new ConfirmedOrders(context);
  }

  /**
   * Sends the confirm, in parts where it names more orders than the service accepts at once, or where it refuses some of
   * them. An accepted part is committed before the next one is sent: `order_ids` holds what is still to be confirmed.
   * Returns the batch and the outcome of the last part; undefined where parts are left for the next pass.
   * @param sent.isAgain it was refused before and is served again, as at each poll: it is not divided
   */
  async sendParts(
    { row, wasTried, isAgain }: { row: BatchRow; wasTried: boolean; isAgain: boolean },
    pass: PullPass,
  ): Promise<Sent | undefined> {
    const named = await this.#withoutOwed(row, pass.signal);
    const mayDivide = !isAgain && this.#vainIn !== pass && this.isDivisible(row);
    const begun = mayDivide ? this.#divisionOf(named) : undefined;
    if (begun !== undefined) return await this.#divide(named, { row: named, wasTried }, begun, pass);
    let [left, isRepeat, isWhole] = [named, wasTried, true];
    while (pass.parts < PARTS_PER_PASS) {
      const part = this.#partOf(left);
      const outcome = await this.#send(part.row, isRepeat, pass.signal);
      const size = idsServed(part.row);
      const large = tooLargeOf(outcome);
      if (large !== undefined) {
        if (size === 1) this.#waits.idsMax = undefined;
        else if (this.isDivisible(row)) {
          this.#setIdsMax(Math.ceil(size / 2));
          continue;
        }
        return { row: left, outcome: { verdict: "retry", failure: large, isSaid: true }, wasTried: isRepeat };
      }
      if (mayDivide && idsServed(left) > 1 && isOfOrders(outcome, row, pass))
        return await this.#divide(named, { row: left, outcome, wasTried: isRepeat }, beginDivision(part), pass);
      isWhole &&= part.rest === undefined;
      if (part.rest === undefined || outcome.verdict !== "confirmed") {
        if (outcome.verdict !== "confirmed") return { row: left, outcome, wasTried: isRepeat };
        const { counts: _ofPart, ...confirmed } = outcome;
        return { row: named, outcome: isWhole ? outcome : confirmed, wasTried: isRepeat };
      }
      pass.confirmsFailed = 0;
      pass.parts += 1;
      const isLater = pass.parts >= PARTS_PER_PASS || this.#context.isStopping();
      await this.#savePart(part.row, { rest: part.rest, begun: !isLater }, pass.signal);
      if (isLater) break;
      left = { ...left, orderIds: part.rest };
      isRepeat = row.state === "confirmed";
    }
    return undefined;
  }

  /**
   * Confirms what it can of a refused confirm, in halves, so that the orders which the service refuses are left alone. One bad
   * order would otherwise keep all others unconfirmed, and a service that serves the oldest ones only would deliver nothing new.
   * A division that is broken off goes on in the next pass: a service may take few requests in each.
   * @param sent.outcome of the part that was refused; undefined where the division was begun by an earlier pass
   */
  async #divide(
    named: BatchRow,
    { row, outcome: first, wasTried }: Omit<Sent, "outcome"> & { outcome?: Outcome },
    { waiting, alone }: Division,
    pass: PullPass,
  ): Promise<Sent | undefined> {
    const [left, accepted] = [new Set(literalsOf(row.orderIds)), new Set<string>()];
    const ended = (outcome: Outcome): Sent => {
      this.#waits.saveDivision(row.id, { waiting, alone });
      return {
        row: outcome.verdict === "confirmed" ? named : { ...row, orderIds: listOf(left) },
        outcome,
        wasTried,
        ...(accepted.size > 0 && { accepted: { ...row, orderIds: listOf(accepted) } }),
      };
    };
    // What an earlier pass was told counts towards "the service refuses all" only while it has accepted none of the batch.
    const before = first === undefined && idsServed(row) < row.orderCount ? alone.length : 0;
    let [last, requests] = [first, 0];
    // A division that goes on ends with an order that is refused now.
    const next = () => waiting[0] ?? (last === undefined ? alone.filter((id) => left.has(id)).slice(0, 1) : []);
    for (let some = next(); some.length > 0; some = next()) {
      if (requests >= DIVIDED_MAX || this.#context.isStopping()) {
        this.#waits.saveDivision(row.id, { waiting, alone });
        await this.#saveLeft(row, { rest: listOf(left), begun: wasTried }, pass.signal);
        return undefined;
      }
      if (last !== undefined && accepted.size === 0 && alone.length - before >= ALONE_MAX) {
        this.#vainIn = pass;
        waiting.length = 0;
        break;
      }
      requests += 1;
      const part = { ...row, orderIds: listOf(some) };
      const outcome = await this.#send(part, wasTried, pass.signal);
      const isRefused = isOfOrders(outcome, row, pass) || tooLargeOf(outcome) !== undefined;
      if (outcome.verdict !== "confirmed" && !isRefused) return ended(outcome);
      waiting.shift();
      if (outcome.verdict === "confirmed") {
        for (const id of some) {
          left.delete(id);
          accepted.add(id);
        }
        pass.confirmsFailed = 0;
        await this.#savePart(part, { rest: listOf(left), begun: true }, pass.signal);
      } else if (some.length > 1) waiting.unshift(...halvesOf(some));
      else {
        last = outcome;
        alone.push(...some);
      }
    }
    return ended(left.size > 0 && last !== undefined ? last : { verdict: "confirmed" });
  }

  /** What is left of a division that was broken off. */
  #divisionOf({ id, orderIds }: BatchRow): Division | undefined {
    const { waiting = [], alone = [] } = this.#waits.divisionOf(id) ?? {};
    const ids = new Set(literalsOf(orderIds));
    const named = (some: readonly string[]) => some.filter((each) => ids.has(each));
    const left = waiting.map(named).filter((some) => some.length > 0);
    return left.length === 0 ? undefined : { waiting: left, alone: named(alone) };
  }

  /** The batch without orders that were refused alone before: their own confirms are sent again. */
  async #withoutOwed(row: BatchRow, signal: AbortSignal): Promise<BatchRow> {
    if (row.state !== "stored" || !this.isDivisible(row)) return row;
    const owed = new Set(loadRefusedAlone(this.#context.store, row, this.#account));
    if (owed.size === 0) return row;
    const ids = literalsOf(row.orderIds);
    const others = ids.filter((id) => !owed.has(id));
    if (others.length === 0 || others.length === ids.length) return row;
    const rest = listOf(others);
    await this.#saveLeft(row, { rest, begun: row.confirmAttempts > 0 }, signal);
    return { ...row, orderIds: rest };
  }

  async #saveLeft({ id }: BatchRow, left: { rest: string; begun: boolean }, signal: AbortSignal): Promise<void> {
    await commit(this.#context, signal, () => {
      saveUnconfirmedIds(this.#context.store, id, left);
      this.#waits.save();
    });
  }

  async #savePart(row: BatchRow, part: { rest: string; begun: boolean }, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const by = { account: this.#account, at: isoTime(clock.nowMs()) };
    await commit(this.#context, signal, () => {
      if (row.state !== "confirmed") saveUnconfirmedIds(store, row.id, part);
      saveCoveredIds(store, row.orderIds ?? "[]", by);
      this.#waits.save();
    });
  }

  /** Whether the confirm names orders only, so that it can be sent in parts. */
  isDivisible({ batchId }: BatchRow): boolean {
    return confirmNamesOrders(this.#form, batchId);
  }

  /** The next part, within the service's limit. */
  #partOf(row: BatchRow): Part {
    const size = this.#waits.idsMax;
    if (size === undefined || !this.isDivisible(row) || idsServed(row) <= size) return { row };
    const [part, rest] = divideIds(row.orderIds ?? "[]", size);
    return { row: { ...row, orderIds: part }, rest };
  }

  #setIdsMax(size: number): void {
    this.#waits.idsMax = size;
    this.#context.log.info({ ids: size }, m.orders.confirmDivided({ size }));
  }

  async #send(row: BatchRow, wasTried: boolean, signal: AbortSignal): Promise<Outcome> {
    const { client, store } = this.#context;
    let body: string;
    try {
      body = renderConfirm(this.#form, { batchId: row.batchId, orderIds: row.orderIds ?? "[]" });
    } catch (error) {
      // The batch lacks what the form needs, and a retry would not change that.
      return { verdict: "refused", failure: asError(error), isSaid: false };
    }
    const turn = await turnOfConfirm(client, signal);
    // The order matters, because the service drops what is confirmed:
    // 1. The orders and this attempt are committed (`ConfirmBatches.confirm`).
    // 2. The database file is flushed, so that they survive a power cut and a lost WAL.
    // 3. The confirm is sent.
    store.secure();
    try {
      const answer = await confirmBatch(client, body, signal, turn);
      const acceptance = readAcceptance(answer);
      if (acceptance.kind === "accepted") {
        const { root } = acceptance;
        const named = root === undefined ? 0 : await this.#others.readUnknown(answer, root, signal);
        return await this.#judge({ row, wasTried, named }, answer.body, acceptance, signal);
      }
      if (acceptance.kind === "error") {
        return {
          verdict: "refused",
          failure: new BridgeError("request_refused", m.orders.confirmRefused({ words: acceptance.words })),
          isSaid: true,
        };
      }
      return {
        verdict: "retry",
        failure: new BridgeError(
          "answer_unreadable",
          m.orders.confirmAnsweredWith({ what: UNREADABLE_WORDS[acceptance.kind] }),
        ),
        isSaid: false,
      };
    } catch (error) {
      const failure = asError(error);
      if (failure.code === "stopped") throw failure;
      // Other errors are our own: the confirm cannot be sent, and a retry would not change that.
      const verdict = failure instanceof ServiceError ? classifyConfirmFailure(failure, wasTried) : "refused";
      return verdict === "confirmed" ? { verdict } : { verdict, failure, isSaid: isOwnRefusal(failure) };
    }
  }

  async #judge(
    sent: { row: BatchRow; wasTried: boolean; named: number },
    body: Buffer,
    acceptance: Acceptance & { kind: "accepted" },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { short, ...taught } = this.#findShort(sent, readCounts(body, acceptance.root));
    if (short !== undefined) return short;
    const judged = this.#forms.judge(body, acceptance);
    const { form } = judged;
    if (!judged.isUnusual) return { verdict: "confirmed", usual: form, ...taught };
    if (await commit(this.#context, signal, () => this.#forms.saveUnusual(form).isUsual))
      return { verdict: "confirmed" };
    const failure = new BridgeError("answer_unknown", unknownForm("POST", "/orders/confirm", judged));
    return { verdict: "retry", failure, isSaid: false, because: { form } };
  }

  /**
   * Finds a count below the size of the batch that equalled the size of earlier ones. A repeat may count only what is
   * new, so nothing is learned from its counts, nor from those of a name that several batches share or of a batch with
   * orders beside its list.
   */
  #findShort(
    { row, wasTried, named }: { row: BatchRow; wasTried: boolean; named: number },
    counts: AnswerCounts,
  ): { short?: Outcome; counts?: AnswerCounts; excess?: CountedOtherwise | undefined } {
    if (row.state !== "stored" || (wasTried && !this.#waits.isShort(row.id))) return {};
    if (!this.#waits.mayBeUnknown(row)) return {};
    const size = idsServed(row);
    const short = this.#forms.findShort(counts, { size, isPart: true, needs: "two sizes" });
    if (short === undefined) {
      if (wasTried) return {};
      const others = row.batchId === null ? [] : loadOthersOf(this.#context.store, row, this.#account);
      const excess = this.#findExcess({ rows: [row, ...others], named }, counts);
      return others.length + this.#waits.ordersBesideOf(row.id) > 0 ? { excess } : { counts, excess };
    }
    const words = m.orders.confirmCounted({ size, name: short.name, count: short.count });
    const failure = new BridgeError("answer_unknown", words);
    return { short: { verdict: "retry", failure, isSaid: false, because: { count: short.name } } };
  }

  /**
   * A count above the batch's size: a confirm of one batch then confirmed records that were not delivered. Those that the
   * answer names are read by their ids. The confirm of a name that several batches share covers them all.
   */
  #findExcess(
    { rows, named }: { rows: readonly BatchRow[]; named: number },
    counts: AnswerCounts,
  ): CountedOtherwise | undefined {
    if (!confirmNames(this.#form)) return undefined;
    const came = rows.map((each) => Math.max(each.orderCount, idsServed(each)) + this.#waits.ordersBesideOf(each.id));
    return this.#forms.findExcess(counts, Math.max(sumOf(came), named));
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

/** Whether the service refused this confirm only, did not act on it, and did not ask all requests to wait. */
function isOwnRefusal(failure: BridgeError): boolean {
  if (!(failure instanceof ServiceError) || failure.status === undefined || failure.effect !== "none") return false;
  return failure.code !== "rate_limited" && failure.retryAfterMs === undefined;
}

export function idsServed({ orderIds }: BatchRow): number {
  return (JSON.parse(orderIds ?? "[]") as unknown[]).length;
}

/** 413 for a confirm that cannot be divided further. */
function tooLargeOf(outcome: Outcome): ServiceError | undefined {
  const failure = outcome.verdict === "confirmed" ? undefined : outcome.failure;
  if (!(failure instanceof ServiceError) || failure.status !== TOO_LARGE) return undefined;
  const { area, method, path, effect, isWebPage } = failure;
  const details = { area, method, path, effect, isWebPage, status: TOO_LARGE, cause: failure };
  return new ServiceError("request_refused", m.orders.confirmTooLarge, details);
}

/**
 * Whether the service refuses the orders that the confirm names, or fails again and again because of them while it answers
 * other requests.
 */
function isOfOrders(outcome: Outcome, { confirmAttempts }: BatchRow, { isAnswered }: PullPass): boolean {
  if (outcome.verdict === "confirmed") return false;
  const { failure, isSaid } = outcome;
  const isWebPage = failure instanceof ServiceError && failure.isWebPage;
  if (outcome.verdict === "refused") return isSaid && !isWebPage;
  const isFault = failure instanceof ServiceError && failure.status !== undefined && FAULTS.has(failure.status);
  return isFault && isAnswered && confirmAttempts >= FAILURES_OF_ONE_MAX;
}

/** Not 503, with which a service asks for patience. */
const FAULTS: ReadonlySet<number> = new Set([500, 502, 504]);

/** The elements of a JSON list, each as its original literal. */
function literalsOf(list: string | null): string[] {
  const bytes = Buffer.from(list ?? "[]");
  return atOnce(elementsInSlices(bytes, scanJson(bytes))).map((element) => textOf(bytes, element));
}

function listOf(literals: Iterable<string>): string {
  return `[${[...literals].join(",")}]`;
}

function beginDivision({ row, rest }: Part): Division {
  const ids = literalsOf(row.orderIds);
  return {
    waiting: [...halvesOf(ids), ...partsOf(literalsOf(rest ?? null), ids.length)],
    alone: ids.length === 1 ? ids : [],
  };
}

function halvesOf(ids: readonly string[]): string[][] {
  return ids.length > 1 ? partsOf(ids, Math.ceil(ids.length / 2)) : [];
}

function partsOf(ids: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(ids.length / size) }, (_, at) => ids.slice(at * size, (at + 1) * size));
}

/** Splits a JSON list after `size` ids; each keeps its original literal. */
function divideIds(orderIds: string, size: number): [string, string] {
  const ids = literalsOf(orderIds);
  return [listOf(ids.slice(0, size)), listOf(ids.slice(size))];
}
