/*
 * Compares a whole table, whose changes triggers record, with the acknowledged rows: at first use, at night, and after a
 * change of the rules. Reads in steps without the write lock; rows that differ are read again under it and absorbed.
 * Changes during the comparison are recorded by the triggers; after a crash the comparison starts again.
 */

import { hasAnyKeys, hasKnownKeys } from "../acknowledged-rows.ts";
import type { FeedRules } from "../feed.ts";
import { keyTexts } from "../feed-record.ts";
import {
  type KeyValues,
  loadSourcePage,
  loadSourceRows,
  loadUnnamedRows,
  type PageEnd,
  type SourcePage,
} from "../source/feed-source.ts";
import {
  absorb,
  absorbKeys,
  count,
  type FeedContext,
  type FeedPass,
  KEYS_PER_COMMIT,
  settleUnnamed,
  UNNAMED_MAX,
} from "./absorb-feed.ts";
import { absentKeys, differingKeys, type FoundKey } from "./diff.ts";
import { KeySet } from "./key-set.ts";

/** Where more rows of a page differ, the whole page is read again; fewer are read by key. */
const SINGLE_ROWS_MAX = KEYS_PER_COMMIT / 10;

/** A page's rows whose keys occurred only once so far, and the keys of all others. */
interface SplitPage extends SourcePage {
  found: (FoundKey & { values: KeyValues })[];
  others: KeyValues[];
}

const NO_PAGE: SplitPage = { rows: [], keys: [], end: undefined, found: [], others: [] };

export async function compareTable(context: FeedContext, rules: FeedRules, pass: FeedPass): Promise<void> {
  const { store, files, clock } = context;
  const { signal } = pass;
  const unnamed: Buffer[] = [];
  const present = new KeySet();
  const isFirst = !hasAnyKeys(store, rules);
  // Without lookups of known keys twice as many rows take the same time.
  const rowsMax = isFirst ? 2 * KEYS_PER_COMMIT : KEYS_PER_COMMIT;
  const read = (after: PageEnd | undefined) => splitPage(rules, loadSourcePage(store, rules, after, rowsMax), present);
  const absorbAll = async (keys: readonly KeyValues[]) => {
    if (keys.length > 0) await absorbKeys(context, rules, pass, { keys, unnamed });
  };
  const absorbPage = async (after: PageEnd | undefined) => {
    let page = NO_PAGE;
    const load = () => {
      page = read(after);
      return page.found;
    };
    const rowsOf = (key: readonly string[]) => loadSourceRows(store, rules, key);
    const { left } = await absorb(context, rules, pass, { load, rowsOf, isFirst });
    page.others.push(...left.map(({ values }) => values));
    return page;
  };
  // At first use all rows are sent, and none can be missing from the source.
  const isFilled = hasKnownKeys(store, rules);
  files?.listNone();
  for (let after: PageEnd | undefined; ; ) {
    let page = isFilled || files !== undefined ? read(after) : await absorbPage(after);
    const { end } = page;
    if (end === undefined) break;
    await files?.lookAt(page.rows, signal);
    files?.list(page.rows);
    if (isFilled) {
      const changed = differingKeys(store, rules, page.found);
      if (changed.length > SINGLE_ROWS_MAX) page = await absorbPage(after);
      else page.others.push(...changed.map(({ values }) => values));
    } else if (files !== undefined) page = await absorbPage(after);
    await absorbAll(page.others);
    for (const { key } of page.found) present.add(key);
    count(pass, "compared", page.rows.length);
    after = page.end ?? end;
    await clock.sleep(0, signal);
  }
  if (isFilled) {
    for (const absent of absentKeys(store, rules, { present, isFull: true })) {
      await absorbAll(differingKeys(store, rules, absent).map(({ key }) => key));
      await clock.sleep(0, signal);
    }
  }
  const rows = loadUnnamedRows(store, rules, UNNAMED_MAX);
  await settleUnnamed(context, rules, pass, { rows, unnamed });
  await files?.forgetOthers(signal);
}

/** A key that occurred before may be of two rows, neither of which may be sent: it is looked up. */
function splitPage(rules: FeedRules, page: SourcePage, present: KeySet): SplitPage {
  const split: SplitPage = { ...page, found: [], others: [] };
  const here = new KeySet();
  page.rows.forEach((row, index) => {
    const values = page.keys[index] ?? [];
    const key = keyTexts(rules, row);
    if (key === undefined || present.has(key) || !here.add(key)) split.others.push(values);
    else split.found.push({ key, rows: [row], values });
  });
  return split;
}
