/*
 * Compares a whole table, whose changes triggers note, with what was acknowledged: at first use, by night, and under
 * other rules. Reads in steps without the write lock; what differs is read once more under it and absorbed. What changes
 * meanwhile is noted by the triggers, and after a crash everything is compared anew.
 */
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
import { hasAnyKeys, hasKnownKeys } from "./acknowledged-rows.ts";
import { absentKeys, type FoundKey, keysToTakeUp } from "./diff.ts";
import { type FeedRules, keyTexts } from "./feed.ts";
import {
  type KeyValues,
  loadSourcePage,
  loadSourceRows,
  loadUnnamedRows,
  type PageEnd,
  type SourcePage,
} from "./feed-source.ts";
import { KeySet } from "./key-set.ts";

/** Of a page in which more rows differ the whole is read again; single rows are found by their keys. */
const SINGLE_ROWS_MAX = KEYS_PER_COMMIT / 10;

/** A page's rows that stand for their key as far as is known, and the keys of all others. */
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
  // Nothing is looked up then, so that twice as many rows take as long.
  const rowsMax = isFirst ? 2 * KEYS_PER_COMMIT : KEYS_PER_COMMIT;
  const read = (after: PageEnd | undefined) => splitPage(rules, loadSourcePage(store, rules, after, rowsMax), present);
  const takeUp = async (keys: readonly KeyValues[]) => {
    if (keys.length > 0) await absorbKeys(context, rules, pass, { keys, unnamed });
  };
  const takeUpPage = async (after: PageEnd | undefined) => {
    let page = NO_PAGE;
    const load = () => {
      page = read(after);
      return page.found;
    };
    const rowsOf = (key: readonly string[]) => loadSourceRows(store, rules, key);
    await absorb(context, rules, pass, { load, rowsOf, isFirst });
    return page;
  };
  // At first use everything goes, and there is nothing that could be missing.
  const isFilled = hasKnownKeys(store, rules);
  files?.listNone();
  for (let after: PageEnd | undefined; ; ) {
    let page = isFilled || files !== undefined ? read(after) : await takeUpPage(after);
    const { end } = page;
    if (end === undefined) break;
    await files?.lookAt(page.rows, signal);
    files?.list(page.rows);
    if (isFilled) {
      const changed = keysToTakeUp(store, rules, page.found);
      if (changed.length > SINGLE_ROWS_MAX) page = await takeUpPage(after);
      else page.others.push(...changed.map(({ values }) => values));
    } else if (files !== undefined) page = await takeUpPage(after);
    await takeUp(page.others);
    for (const { key } of page.found) present.add(key);
    count(pass, "compared", page.rows.length);
    after = page.end ?? end;
    await clock.sleep(0, signal);
  }
  if (isFilled) {
    for (const absent of absentKeys(store, rules, { present, isFull: true })) {
      await takeUp(keysToTakeUp(store, rules, absent).map(({ key }) => key));
      await clock.sleep(0, signal);
    }
  }
  const rows = loadUnnamedRows(store, rules, UNNAMED_MAX);
  await settleUnnamed(context, rules, pass, { rows, unnamed });
  await files?.forgetOthers(signal);
}

/** A key that came before stands for two rows, and neither may be sent: it is looked up. */
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
