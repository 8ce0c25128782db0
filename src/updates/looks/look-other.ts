/*
 * Where times are served in two forms (`learn-form.ts`), only the service can say in which of them it compares `since`: a form that it does not
 * understand may be answered with an empty list. Changes are followed in one of them; every few minutes one page is asked for in the other
 * one. What it brings is stored. Where it shows a later change than the first form does, the two change places, and the search goes on.
 * No position moves here.
 */
import type { ServedTimestamp } from "../../answers/timestamp.ts";
import { describeForm, OFFSET_MAX_NS, type TimestampForm } from "../../answers/timestamp-form.ts";
import { m } from "../../messages/messages.ts";
import { commit } from "../../pass/commit.ts";
import { stopsPass } from "../../pass/holds.ts";
import type { JobContext } from "../../pass/job.ts";
import { loadWatermark, UPDATES_STREAM } from "../../pass/position-rows.ts";
import { asError } from "../../platform/errors.ts";
import { loadCut } from "../cuts/cut-rows.ts";
import { type FollowRules, instantOf, isLater, planFirstAsk } from "../pages/follow.ts";
import { beginPass, type Pass } from "../pages/follow-pass.ts";
import type { ReadPages } from "../pages/read-pages.ts";
import type { StorePass } from "../pages/store-pass.ts";
import type { OtherForm } from "../times/learn-form.ts";
import { loadLearned, saveLearned } from "../times/learned-rows.ts";

/** Less than the overlap. */
const LOOK_EVERY_MS = 5 * 60_000;
/** A form that the service refuses, or that fails. */
const LOOK_AGAIN_MS = 3_600_000;
/** Fewer changes than this do not fill a page. */
const FULL_MIN = 10;

export class LookOther {
  readonly #context: JobContext;
  readonly #follow: FollowRules;
  readonly #pages: ReadPages;
  readonly #stored: StorePass;
  /** Monotonic. */
  #dueMs = Number.NEGATIVE_INFINITY;
  #asked: string | undefined;

  constructor(context: JobContext, follow: FollowRules, { pages, stored }: { pages: ReadPages; stored: StorePass }) {
    this.#context = context;
    this.#follow = follow;
    this.#pages = pages;
    this.#stored = stored;
  }

  /** @param main the pass that has just followed changes in the first form; `isRefused`: the service refused its `since` */
  async look(main: Pass, { isRefused = false } = {}): Promise<void> {
    const { store, clock, log } = this.#context;
    const { other } = loadLearned(store);
    if (other === undefined || this.#follow.since !== "iso" || !this.#isDue(other) || loadCut(store) !== undefined)
      return;
    this.#dueMs = clock.monotonicMs() + LOOK_EVERY_MS;
    try {
      await this.#ask(main, other, isRefused);
    } catch (error) {
      if (stopsPass(error)) throw error;
      // The other form is answered, or this pass fails by itself: that counts.
      this.#dueMs = clock.monotonicMs() + LOOK_AGAIN_MS;
      log.debug({ form: describeForm(other.form) }, asError(error).message);
    }
  }

  #isDue({ form }: OtherForm): boolean {
    const asked = JSON.stringify(form);
    const isDue = asked !== this.#asked || this.#context.clock.monotonicMs() >= this.#dueMs;
    this.#asked = asked;
    return isDue;
  }

  async #ask(main: Pass, other: OtherForm, isRefused: boolean): Promise<void> {
    const { store } = this.#context;
    const watermark = loadWatermark(store, UPDATES_STREAM);
    const from = other.from ?? watermark;
    const fromNs = instantOf(from, this.#follow.timezone);
    // A token of the service's own has no form.
    if (watermark === undefined || fromNs === undefined) return;
    const { pass, page, asked } = await this.#readPage(main, { from, form: other.form });
    await this.#stored.store(pass, { isWhole: false });
    const shown = { timestamps: page.timestamps, highNs: pass.high?.ns };
    const known = [main.high?.ns, instantOf(watermark, this.#follow.timezone)];
    let isMore = showsMore(shown, { askedNs: asked.ns, known });
    if (isMore && !isRefused) {
      // It may have been made since the pass.
      const again = await this.#readPage(main, { from: watermark, form: main.learned.form });
      await this.#stored.store(again.pass, { isWhole: false });
      isMore = showsMore(shown, { askedNs: asked.ns, known: [...known, again.pass.high?.ns] });
    }
    const isFull = page.timestamps.length >= Math.max(FULL_MIN, main.learned.pageMax);
    const reached = isFull && pass.high !== undefined && isLater(watermark, pass.high.text, this.#follow);
    await this.#settle(main, { other, isMore, from: reached ? pass.high?.text : watermark });
  }

  async #readPage(
    { counts, signal }: Pass,
    { from, form }: { from: string | undefined; form: TimestampForm | undefined },
  ) {
    const { store, client } = this.#context;
    const rules = this.#follow;
    const watermark = loadWatermark(store, UPDATES_STREAM);
    const begin = { counts, signal, rules, watermark, rest: undefined, isWide: true, isFirst: false };
    const pass = beginPass(this.#context, rules, begin);
    const asked = planFirstAsk({ watermark: from, serviceNow: client.serviceNow, form }, rules);
    const { page } = await this.#pages.readPage(pass, asked.since);
    return { pass, page, asked };
  }

  async #settle(
    { at, signal }: Pass,
    { other, isMore, from }: { other: OtherForm; isMore: boolean; from: string | undefined },
  ): Promise<void> {
    const { store, log } = this.#context;
    if (!isMore && from === other.from) return;
    await commit(this.#context, signal, () => {
      const learned = loadLearned(store);
      const { form } = learned;
      const isSwapped = isMore && form !== undefined;
      const next = isSwapped ? { form: other.form, ordersForm: other.form, other: { form, from, at } } : {};
      saveLearned(store, { ...learned, other: { ...other, from }, ...next });
    });
    if (isMore) log.warn({ since: from }, m.updates.otherForm({ form: describeForm(other.form) }));
  }
}

/**
 * Whether an answer to another form shows a later change than the first form did. One that holds what lies far before the `since` that was
 * asked shows nothing: the service does not understand it.
 * @param known.known the latest that the first form has shown, and the position
 */
export function showsMore(
  { timestamps, highNs }: { timestamps: readonly (ServedTimestamp | undefined)[]; highNs: bigint | undefined },
  { askedNs, known }: { askedNs: bigint; known: readonly (bigint | undefined)[] },
): boolean {
  if (highNs === undefined || known.some((ns) => ns !== undefined && ns >= highNs)) return false;
  return timestamps.every((each) => each === undefined || each.instantNs >= askedNs - OFFSET_MAX_NS);
}
