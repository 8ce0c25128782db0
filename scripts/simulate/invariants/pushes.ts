/*
 * What the site is given follows, for each key, the order in which the table had it; and ends with what it has now.
 */
import { importKey } from "../../../src/sandbox/imports.ts";
import type { LedgerEntry } from "../../../src/sandbox/ledger.ts";
import type { Effect } from "../../../src/sandbox/messages.ts";
import { KEYS, OFF_SALE } from "../erp.ts";
import { feedsOf, levelIn } from "../forms.ts";
import type { Lies } from "../hostile/lies.ts";
import type { Scene } from "../scene.ts";
import type { FeedName } from "../schedule.ts";
import { keyOfRow, nameOfRow } from "../spellings.ts";

export type ImportEffect = Extract<Effect, { kind: "import" }>;

const BLAMED = "SELECT reference FROM quarantine WHERE kind = ? AND state = 'held' AND reference IS NOT NULL";
const IS_QUARANTINED = "SELECT 1 FROM quarantine WHERE kind = ? AND reference = ? AND state = 'held'";

/** A row that no text can name is held by what it is. */
const COUNT_UNNAMED = `SELECT count(*) FROM quarantine
  WHERE kind = ? AND reference IS NULL AND state = 'held' AND reason LIKE '%no valid text%'`;

/** Under another configuration the key stands in the second column. */
const IS_WAITING = `SELECT 1 FROM feed_outbox WHERE feed_id = @feed AND @key IN (k0, k1)
  UNION ALL SELECT 1 FROM feed_dirty WHERE feed_id = @feed AND @key IN (CAST(k0 AS TEXT), CAST(k1 AS TEXT))`;
/** Each request of a table that is sent whole carries every row: what was acknowledged goes again with whatever waits. */
const IS_TABLE_WAITING = `SELECT 1 FROM feed_outbox WHERE feed_id = @feed AND state <> 'refused'
  UNION ALL SELECT 1 FROM feed_dirty WHERE feed_id = @feed`;
/** So long a row may wait without a word. */
const UNTOLD_MS = 11 * 60_000;
const UNTOLD_PASSES = 5;
const IS_TOLD = `SELECT 1 FROM holds WHERE area IN (@feed, 'imports')
  UNION ALL SELECT 1 FROM flows WHERE flow = @feed AND failing_since IS NOT NULL
  UNION ALL SELECT 1 FROM feed_outbox o JOIN feeds f USING (feed_id) WHERE f.name = @feed AND o.last_error IS NOT NULL`;
const FEED_IDS: Record<FeedName, number> = { stocks: 1, prices: 2, catalog: 3 };
const FEEDS: readonly FeedName[] = ["stocks", "prices", "catalog"];

export class PushInvariants {
  readonly #scene: Scene;
  /** Rows of which the bridge was told last, as the service usually tells it, that they were not taken. */
  readonly #leftOut = new Set<string>();
  /** After how many passes in a row, and since when, one of them waits and nothing says so. */
  readonly #untold = new Map<string, { passes: number; sinceMs: number }>();
  /** Where in a key's history the site stands. */
  readonly #place = new Map<string, number>();
  /** Rows in quarantine that were looked at. */
  readonly #blamed = new Set<string>();
  /** What the site held after each acceptance, by the service's clock. */
  readonly #shown: { atMs: number; feed: FeedName; records: ReadonlyMap<string, string> }[] = [];
  /** Rows that were not taken because the service did not have their articles, and that said so. */
  readonly #unknown = new Set<string>();
  /** Rows that the service has lost without a sign of it. */
  readonly #excused = new Set<string>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  onEntry({ effect }: LedgerEntry): void {
    if (effect?.kind !== "import") return;
    const feed = effect.feed as FeedName;
    const { service, forms } = this.#scene;
    // An article takes its stock and prices with it.
    for (const changed of feed === "catalog" && forms.leavesSite ? FEEDS : [feed])
      this.#shown.push({ atMs: service.now(), feed: changed, records: new Map(service.imported(changed)) });
    for (const { key } of effect.rejected)
      if (!this.#isInCatalog(keyOf(key))) this.#unknown.add(`${feed} ${keyOf(key)}`);
    for (const { record } of effect.accepted) {
      const values = JSON.parse(record) as Record<string, unknown>;
      this.#leftOut.delete(this.#nameOf(feed, String(values["sku"])));
      this.#checkValue(feed, values);
    }
  }

  /** The level in a record of stocks. */
  levelOf(record: string): unknown {
    return this.#valueIn("stocks", JSON.parse(record) as Record<string, unknown>);
  }

  /** The bridge was told what became of these records. */
  onTold({ feed, rejected }: Pick<ImportEffect, "feed" | "rejected">): void {
    for (const { key } of rejected) this.noteLeftOut(this.#nameOf(feed as FeedName, keyOf(key)));
  }

  #nameOf(feed: FeedName, sku: string): string {
    return `${feed} ${this.#scene.erp.articleOf(feed, sku)}`;
  }

  noteLeftOut(name: string): void {
    this.#leftOut.add(name);
  }

  /** After a pass: what the service has said that it did not take does not count as sent. */
  checkLeftOut(feed: FeedName): void {
    const { auditor, erp, fail, forms, time } = this.#scene;
    if (erp.isLocking) return;
    const isRowWaiting = (key: string) => auditor.prepare(IS_WAITING).get({ feed: FEED_IDS[feed], key }) !== undefined;
    const isWhole = feed === "stocks" && forms.whole;
    if (isWhole && auditor.prepare(IS_TABLE_WAITING).get({ feed: FEED_IDS[feed] }) !== undefined) return;
    for (const key of KEYS.filter((each) => this.#leftOut.has(`${feed} ${each}`))) {
      const rows = [...erp.histories(feed, key).keys()];
      const isWaiting = [key, ...rows, ...rows.map((row) => keyOfRow(row).sku)].some(isRowWaiting);
      const [difference] = this.#differencesAt(feed, key, true);
      const isTold = difference === undefined || auditor.prepare(IS_TOLD).get({ feed }) !== undefined;
      const before = isTold ? undefined : this.#untold.get(`${feed} ${key}`);
      const { passes, sinceMs } = before ?? { passes: 0, sinceMs: time.elapsedMs };
      this.#untold.set(`${feed} ${key}`, { passes: passes + 1, sinceMs });
      if (difference === undefined) continue;
      if (!isWaiting) fail(9, `${difference}: it counts as sent, and the service has said that it was not taken`);
      const forMs = time.elapsedMs - sinceMs;
      if (forMs > UNTOLD_MS && passes > UNTOLD_PASSES)
        fail(10, `${difference}: it waits for ${forMs / 60_000} minutes, and nothing says so`);
    }
  }

  /** The service, and what it has said, are as they were before; or counts as accepted for all that is known. */
  forgetLeftOut(name?: string): void {
    if (name === undefined) this.#leftOut.clear();
    else this.#leftOut.delete(name);
  }

  shownAt(atMs: number): Map<FeedName, ReadonlyMap<string, string>> {
    const shown = new Map<FeedName, ReadonlyMap<string, string>>([
      ["stocks", new Map()],
      ["prices", new Map()],
      ["catalog", new Map()],
    ]);
    for (const each of this.#shown) if (each.atMs <= atMs) shown.set(each.feed, each.records);
    return shown;
  }

  /** Nothing shows that the site lacks the row, until it is accepted. */
  excuse(name: string): void {
    this.#excused.add(name);
  }

  forgive(name: string): void {
    this.#excused.delete(name);
  }

  excuseSince(atMs: number): void {
    for (const each of this.#shown)
      if (each.atMs > atMs) for (const key of each.records.keys()) this.excuse(this.#nameOf(each.feed, keyOf(key)));
  }

  #valueIn(feed: FeedName, record: Record<string, unknown>): unknown {
    if (feed === "catalog") return record["active"] === false ? OFF_SALE : Number(record["name"]);
    return feed === "stocks" ? levelIn(record, this.#scene.forms) : record["price"];
  }

  #checkValue(feed: FeedName, record: Record<string, unknown>): void {
    const [key, value] = [String(record["sku"]), this.#valueIn(feed, record)];
    const histories = this.#scene.erp.historiesOf(feed, key, record["warehouse"]);
    // Of several rows that name an article each goes on from where it stood.
    for (const [row, history] of histories) {
      const name = `${feed} ${key} ${row}`;
      const from = this.#place.get(name) ?? 0;
      const place = history.findIndex((each, index) => index >= from && each === value);
      if (place === -1) continue;
      this.#place.set(name, place);
      return;
    }
    const all = [...histories.values()];
    const isKnown = all.some((history) => history.includes(value as number));
    const was = isKnown ? "an older value after a newer one" : "a value that it never had";
    this.#scene.fail(
      9,
      `${feed}: the site was given ${was} for ${key}: ${String(value)} of ${all.map((each) => JSON.stringify(each)).join(" and ")}`,
    );
  }

  /** After rows were refused: each that is blamed now is one of which the service has said something that may last. */
  checkBlamed(feed: string, { lies, hadRejects }: { lies: Lies; hadRejects: boolean }): void {
    const { auditor, erp, fail } = this.#scene;
    if ((feed !== "stocks" && feed !== "prices" && feed !== "catalog") || hadRejects) return;
    const held = auditor.prepare(BLAMED).pluck().all(feed) as string[];
    const named = lies.lasting();
    for (const key of held) {
      const name = `${feed} ${key}`;
      if (this.#blamed.has(name)) continue;
      this.#blamed.add(name);
      const { exists, value } = erp.current(feed, key);
      const isNamed = erp.articlesOf(feed, key).some((article) => named.has(`${feed} ${article}`));
      if (named.has(name) || isNamed || this.wasUnknown(feed, key) || (exists && isUnsendable(feed, value))) continue;
      fail(16, `${name} is in quarantine for what the service said of all`);
    }
  }

  /** What is not on the site as it should be, as sentences; nothing where all is well. */
  differences(): string[] {
    const { forms } = this.#scene;
    return feedsOf(forms).flatMap((feed) => [
      ...KEYS.flatMap((key) => this.#differencesAt(feed, key)),
      ...this.#cutDifferences(feed),
    ]);
  }

  #cutDifferences(feed: FeedName): string[] {
    const { erp, auditor } = this.#scene;
    const held = auditor.prepare(COUNT_UNNAMED).pluck().get(feed) as number;
    const cut = erp.countCut(feed);
    return held < cut
      ? [`${feed}: ${cut} keys have half a surrogate pair, and ${held} rows are in quarantine for it`]
      : [];
  }

  /** @param isOfAll of articles as well that the service does not have */
  #differencesAt(feed: FeedName, key: string, isOfAll = false): string[] {
    const { erp, service, forms } = this.#scene;
    const rows = erp.rowsOf(feed, key);
    const found = [...service.imported(feed)].find(([text]) => erp.articleOf(feed, keyOf(text)) === key);
    const record = found === undefined ? undefined : (JSON.parse(found[1]) as Record<string, unknown>);
    const shown = record === undefined ? undefined : this.#valueIn(feed, record);
    const keepsGone = feed === "prices" || forms.shared === "ignore";
    const off = feed === "catalog" ? OFF_SALE : 0;
    if (rows.length === 0 && (keepsGone || shown === undefined || shown === off)) return [];
    const unsendable = rows.filter(({ value }) => isUnsendable(feed, value));
    const unnamed = unsendable.filter((row) => !this.#isQuarantined(feed, row.key));
    // The site keeps what such a row was given before.
    const isSpelled = feed === "stocks" && forms.ignores !== "nothing";
    if (unsendable.length > 0 && (!isSpelled || unnamed.length > 0))
      return unnamed.map((row) => `${feed} ${row.key}: ${String(row.value)} here, and not in quarantine`);
    if (this.#excused.has(`${feed} ${key}`) || !(isOfAll || feed === "catalog" || this.#isInCatalog(key))) return [];
    if (isSpelled) return this.#spelledDifferences(key, rows, record);
    // Of several rows that name an article either may have been sent last.
    if (rows.some(({ value }) => (value === null ? (shown ?? null) === null : shown === Number(value)))) return [];
    const here = rows.length === 0 ? "gone" : rows.map(({ value }) => String(value)).join(" and ");
    return [`${feed} ${key}: ${here} here, ${String(shown)} on the site`];
  }

  /**
   * Of several rows that are one article on the site any may have been sent last, but for one that is deleted while another is for sale.
   * @param record the site's
   */
  #spelledDifferences(
    key: string,
    rows: readonly { key: string; value: unknown }[],
    record: Record<string, unknown> | undefined,
  ): string[] {
    const shown = record === undefined ? undefined : this.#valueIn("stocks", record);
    const name =
      record === undefined
        ? undefined
        : nameOfRow({ sku: String(record["sku"]), warehouse: String(record["warehouse"]) });
    const row = rows.find((each) => each.key === name);
    const sendable = rows.filter(({ value }) => !isUnsendable("stocks", value));
    const isForSale = sendable.some(({ value }) => Number(value) > 0);
    const isRight =
      row === undefined
        ? !isForSale && (shown === 0 || (shown === undefined && sendable.length === 0))
        : isUnsendable("stocks", row.value) || shown === Number(row.value);
    if (isRight) return [];
    const here = rows.map((each) => `${each.key}: ${String(each.value)}`).join(" and ");
    return [`stocks ${key}: ${here === "" ? "gone" : here} here, ${String(shown)} of ${name} on the site`];
  }

  /** Whether the service has the article, if it has a catalog. */
  #isInCatalog(article: string): boolean {
    const { service, forms } = this.#scene;
    if (forms.catalog === "none") return true;
    const record = service.imported("catalog").get(importKey(article));
    if (record === undefined || !forms.leavesSite) return record !== undefined;
    return this.#valueIn("catalog", JSON.parse(record) as Record<string, unknown>) !== OFF_SALE;
  }

  /** Whether the row was ever left out because the service did not have its article. */
  wasUnknown(feed: FeedName, key: string): boolean {
    const { erp } = this.#scene;
    return [key, ...erp.articlesOf(feed, key)].some((article) => this.#unknown.has(`${feed} ${article}`));
  }

  #isQuarantined(feed: FeedName, key: string): boolean {
    return this.#scene.auditor.prepare(IS_QUARANTINED).get(feed, key) !== undefined;
  }
}

/** The article of a record on the site. */
export function keyOf(importKey: string): string {
  return String((JSON.parse(importKey) as unknown[])[0]);
}

/** Values that no record can carry: such a row is named to a person, and the site keeps what it was given before. */
export function isUnsendable(feed: FeedName, value: unknown): boolean {
  if (feed === "catalog") return false;
  // Only a quantity must be a number: a price may be taken away.
  if (value === null) return feed === "stocks";
  return typeof value === "string" ? !/^\d+(\.\d+)?$/.test(value) : !Number.isFinite(value);
}
