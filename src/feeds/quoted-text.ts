/*
 * Text in double quotes in views: `SELECT "main" AS warehouse`. SQLite takes a word in double quotes for text where no column has that name,
 * unless it is built without that, as the one here is; the ERP's may read such a view. Read are copies of the views, for the one connection
 * alone, in which exactly those words that SQLite refuses stand in single quotes. Where one word is a column in one place and
 * text in another, SQLite's own errors show which place it means.
 */
import type Database from "better-sqlite3";
import { SQL_TOKENS } from "../config/source-text.ts";
import { quoteName, refusedWord } from "../database/quote-name.ts";

/** Each costs some statements for every time that its word occurs. */
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
  /** A word that stands nowhere, to be put in its place. */
  mark: string;
}

/**
 * What `read` gives, which only prepares statements.
 * @throws what it throws, where that is anything else, or stands in no view
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

/** All of them: a view that stands in the schema reads others that stand there, and no copies. */
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

/** The place at which the word is refused first: of those up to which nothing else is refused, the one that SQLite comes to last. */
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
