/*
 * Keeps a feed's hand on where its rows come from: the triggers on a table of this database, the view that shows what
 * is on the site, and the hold that says what is wrong with the source. A table that was dropped, renamed or made again
 * shows in the state of the schema; after a crash everything is looked at anew.
 */
import { asError, type BridgeError } from "../domain/errors.ts";
import { type FeedRules, referenceOf, sourceOf } from "../domain/feed.ts";
import { isoTime } from "../domain/ports.ts";
import { loadRefused, markRefusedWaiting } from "../store/feed-outbox.ts";
import {
  areTriggersArmed,
  armTriggers,
  disarmTriggers,
  readSourceKind,
  type SourceKind,
} from "../store/feed-triggers.ts";
import { isSentViewCurrent, saveSentView } from "../store/feed-views.ts";
import { type FeedRow, loadFeed, markCompareOwed, saveFeedRules } from "../store/feeds.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../store/holds.ts";
import { forgetRowHashes } from "../store/row-stage.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";

/** Hashes forgotten in one transaction. */
const HASHES_PER_COMMIT = 5_000;

export class FeedTable {
  readonly #context: JobContext;
  readonly #rules: FeedRules;
  /** The state of the schema that was last looked at; another one may lack the table or the triggers. */
  #schemaVersion: number | undefined;
  #kind: SourceKind = "tracked";

  constructor(context: JobContext, rules: FeedRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /**
   * Notices a source that was dropped, renamed or made again, and rules that were changed.
   * @throws BridgeError `table_missing`
   */
  async arm(signal: AbortSignal): Promise<SourceKind> {
    const { store } = this.#context;
    if (this.#readSchemaVersion() === this.#schemaVersion) return this.#kind;
    const rules = this.#rules;
    const feed = loadFeed(store, rules.name);
    if (feed.template !== rules.signature || feed.address !== rules.address) await this.#takeUpRules(feed, signal);
    this.#kind = readSourceKind(store, rules);
    if (this.#kind === "tracked") {
      const isTracked = areTriggersArmed(store, rules);
      if (!isTracked || !isSentViewCurrent(store, rules)) await this.#rearm(isTracked, signal);
      await this.release(signal);
    } else {
      await commit(this.#context, signal, () => {
        saveSentView(store, rules);
        disarmTriggers(store, rules.name);
      });
    }
    this.#schemaVersion = this.#readSchemaVersion();
    return this.#kind;
  }

  /** The feed waits for a person, and says why. */
  async hold(detail: string, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const { name } = this.#rules;
    const standing = loadHoldsOf(store, name).find(({ reason }) => reason === "table");
    if (standing?.detail === detail) return;
    const since = standing?.since ?? isoTime(clock.nowMs());
    await commit(this.#context, signal, () =>
      saveHold(store, { area: name, reason: "table", since, nextProbeAt: null, detail }),
    );
  }

  /** Holds the feed where the error is about its source. */
  async note(error: unknown, signal: AbortSignal): Promise<void> {
    const failure: BridgeError = asError(error);
    if (failure.code === "table_missing") await this.hold(`${failure.message} ${failure.hint ?? ""}`.trim(), signal);
  }

  async release(signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const rules = this.#rules;
    if (!loadHoldsOf(store, rules.name).some(({ reason }) => reason === "table")) return;
    await commit(this.#context, signal, () => deleteHold(store, rules.name, "table"));
    log.info({ feed: rules.name }, `${rules.name}: ${sourceOf(rules)} is as it should be again.`);
  }

  #readSchemaVersion(): number {
    return (this.#context.store.prepare("PRAGMA schema_version").get() as { schema_version: number }).schema_version;
  }

  /** What held the feed, and what was held against its rows, was said of the old rules. */
  async #takeUpRules(feed: FeedRow, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const rules = this.#rules;
    const because = feed.template === null ? "first use" : "the configuration was changed";
    await commit(this.#context, signal, () => {
      saveFeedRules(store, rules);
      for (const row of loadRefused(store, rules))
        markRefusedWaiting(store, rules, { id: row.id, reference: referenceOf(row.key) });
      deleteHold(store, rules.name, "shape");
      deleteHold(store, rules.name, "refused");
      markCompareOwed(store, rules.name, because);
    });
    log.info({ feed: rules.name, because }, `${rules.name}: all rows are compared.`);
  }

  async #rearm(isTracked: boolean, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const rules = this.#rules;
    await commit(this.#context, signal, () => {
      saveSentView(store, rules);
      if (isTracked) return;
      armTriggers(store, rules);
      markCompareOwed(store, rules.name, "changes were not noted before");
    });
    if (isTracked) return;
    // Hashes of the time when the rows came from elsewhere.
    while ((await commit(this.#context, signal, () => forgetRowHashes(store, rules, HASHES_PER_COMMIT))) > 0) {
      await this.#context.clock.sleep(0, signal);
    }
    log.info(
      { feed: rules.name, table: rules.table },
      `${rules.name}: changes of ${rules.table} are noted from now on.`,
    );
  }
}
