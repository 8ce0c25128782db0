/*
 * Views with text in double quotes: `SELECT "main" AS warehouse`. SQLite treats a word in double quotes as text where no
 * column has that name, unless built without this feature, as it is here; the ERP's SQLite may accept such a view. So
 * temporary copies of the views are read, private to the connection, with single quotes around exactly the words that
 * SQLite rejects. Where a word is a column in one place and text in another, SQLite's errors show which place it means.
 */
import type Database from "better-sqlite3";
import { SQL_TOKENS } from "../../config/source-text.ts";
import { quoteName, refusedWord } from "../../database/quote-name.ts";

/** Each place costs some statements for every occurrence of its word. */
const PLACES_MAX = 100;

interface View {
  name: string;
  tokens: string[];
}

/** One word in double quotes. */
interface Place {
  view: View;
  index: number;
  token: string;
  /** A unique word that temporarily replaces it. */
  mark: string;
}

/**
 * Returns the result of `read`, which must only prepare statements.
 * @throws other errors of `read`, and those for words that are in no view
 */
export function readQuotedText<T>(db: Database.Database, read: () => T): T {
  let views: View[] | undefined;
  for (let places = 0; ; places++) {
    try {
      return read();
    } catch (error) {
      const word = refusedWord(error);
      if (word === undefined || places === PLACES_MAX) throw error;
      views ??= listViews(db);
      const place = findPlace(db, views, { word, read });
      if (place === undefined) throw error;
      write(db, place, `'${word.replaceAll("'", "''")}'`);
    }
  }
}

/** Copies all views: a view in the main schema would read other originals, not copies. */
function listViews(db: Database.Database): View[] {
  const rows = db
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM main.sqlite_schema WHERE type = 'view'")
    .all();
  const views = rows
    .filter(({ sql }) => /^CREATE VIEW\s/.test(sql))
    .map(({ name, sql }) => ({ name, tokens: [...sql.matchAll(SQL_TOKENS)].map(([token]) => token) }));
  for (const view of views) copy(db, view);
  return views;
}

/** The place at which the word is first rejected: of those that SQLite reaches before any other error, the last. */
function findPlace(
  db: Database.Database,
  views: readonly View[],
  { word, read }: { word: string; read: () => unknown },
): Place | undefined {
  const token = `"${word.replaceAll('"', '""')}"`;
  const places = views
    .flatMap((view) => view.tokens.flatMap((each, index) => (each === token ? [{ view, index, token }] : [])))
    .map((place, number) => ({ ...place, mark: `erp_bridge_${number}` }));
  if (places.length > PLACES_MAX) return undefined;
  const put = (place: Place) => write(db, place, quoteName(place.mark));
  const takeBack = (place: Place) => write(db, place, place.token);
  const refused = () => {
    try {
      read();
      return undefined;
    } catch (error) {
      return refusedWord(error);
    }
  };
  let open = places.filter((place) => {
    put(place);
    const isReached = refused() === place.mark;
    takeBack(place);
    return isReached;
  });
  open.forEach(put);
  while (open.length > 1) {
    const first = refused();
    const rest = open.filter(({ mark }) => mark !== first);
    if (rest.length === open.length) break;
    for (const place of open) if (place.mark === first) takeBack(place);
    open = rest;
  }
  open.forEach(takeBack);
  return open.length === 1 ? open[0] : undefined;
}

function write(db: Database.Database, { view, index }: Place, token: string): void {
  view.tokens[index] = token;
  db.exec(`DROP VIEW temp.${quoteName(view.name)}`);
  copy(db, view);
}

function copy(db: Database.Database, { tokens }: View): void {
  db.exec(tokens.join("").replace("CREATE VIEW", "CREATE TEMP VIEW"));
}
