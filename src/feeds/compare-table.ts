/*
 * Compares a whole table, whose changes triggers note, with what was acknowledged: at first use, by night, and under
 * other rules. Reads in steps without the write lock; what differs is read once more under it and taken up. What changes
 * meanwhile is noted by the triggers, and after a crash everything is compared anew.
 */
import {
  type Absorbed,
  absorb,
  absorbKeys,
  type FeedContext,
  KEYS_PER_COMMIT,
  settleUnnamed,
  UNNAMED_MAX,
} from "./absorb-feed.ts";
import { absentKeys, type FoundKey, keysToTakeUp } from "./diff.ts";
import { type FeedRules, keyTexts } from "./feed.ts";
import { hasKnownKeys } from "./feed-rows.ts";
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

export async function compareTable(
  context: FeedContext,
  rules: FeedRules,
  signal: AbortSignal,
): Promise<Absorbed & { compared: number }> {
  const { store, files, clock } = context;
  const total = { compared: 0, owed: 0, bad: 0 };
  const unnamed: Buffer[] = [];
  const present = new KeySet();
  const read = (after: PageEnd | undefined) =>
    splitPage(rules, loadSourcePage(store, rules, after, KEYS_PER_COMMIT), present);
  const takeUp = async (keys: readonly KeyValues[]) => {
    if (keys.length > 0) add(total, await absorbKeys(context, rules, { keys, unnamed }, signal));
  };
  const takeUpPage = async (after: PageEnd | undefined) => {
    let page = NO_PAGE;
    const load = () => {
      page = read(after);
      return page.found;
    };
    const rowsOf = (key: readonly string[]) => loadSourceRows(store, rules, key);
    add(total, await absorb(context, rules, { load, rowsOf }, signal));
    return page;
  };
  // At first use everything is owed, and there is nothing that could be missing.
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
    total.compared += page.rows.length;
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
  add(total, await settleUnnamed(context, rules, { rows, unnamed }, signal));
  await files?.forgetOthers(signal);
  return total;
}

/** A key that was met before stands for two rows, and neither may be sent: it is looked up. */
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

function add(total: Absorbed, done: Absorbed): void {
  total.owed += done.owed;
  total.bad += done.bad;
}
