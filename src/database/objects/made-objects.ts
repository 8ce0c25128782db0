/*
 * The objects that migrations create, parsed from their text, which is cheaper than running them. SQLite stores the
 * CREATE statement as it was written, so these texts equal those in `sqlite_schema`.
 */

import type Database from "better-sqlite3";

export interface MadeObject {
  type: "table" | "trigger" | "index" | "view";
  /** In lower case, as is `table`. */
  name: string;
  /** The table of a trigger or index; for a table or view, its own name. */
  table: string;
  /** As in `sqlite_schema`. */
  sql: string;
}

interface Change extends MadeObject {
  verb: "CREATE" | "DROP";
}

const LEADING_COMMENTS = /^(?:\s*--.*\n)*\s*/;
const CHANGE =
  /^(CREATE|DROP)\s+(UNIQUE\s+)?(TABLE|TRIGGER|INDEX|VIEW)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?=["'`[]?(\w+))/i;
const ON_TABLE = /\bON\s+"?(\w+)/i;

/** Marks a statement for databases in UTF-16: SQL has no condition for that. */
const ONLY_UTF16 = /^-- Only in UTF-16\./m;

export type Encoding = "UTF-8" | "UTF-16";

export function encodingOf(db: Database.Database): Encoding {
  return db.pragma("encoding", { simple: true }) === "UTF-8" ? "UTF-8" : "UTF-16";
}

export function isFor(encoding: Encoding, statement: string): boolean {
  return encoding === "UTF-16" || !ONLY_UTF16.test(statement);
}

function changeIn(statement: string): Change[] {
  const text = statement.replace(LEADING_COMMENTS, "").trimEnd();
  const [head = "", verb = "", unique = "", kind = "", named = ""] = CHANGE.exec(text) ?? [];
  if (verb === "") return [];
  const made = text.slice(head.length, text.endsWith(";") ? -1 : undefined).trimEnd();
  const name = named.toLowerCase();
  const type = kind.toLowerCase() as MadeObject["type"];
  const isOnTable = type === "trigger" || type === "index";
  return [
    {
      verb: verb.toUpperCase() as Change["verb"],
      type,
      name,
      table: isOnTable ? (ON_TABLE.exec(made)?.[1] ?? "").toLowerCase() : name,
      sql: `CREATE ${unique === "" ? "" : "UNIQUE "}${kind.toUpperCase()} ${made}`,
    },
  ];
}

/** All names that the statements create, including those dropped later, in lower case. */
export function namesMadeBy(statements: readonly string[]): string[] {
  return statements.flatMap(changeIn).flatMap(({ verb, name }) => (verb === "CREATE" ? [name] : []));
}

/** The objects that exist after the statements, by name, in the order of their creation: one view may read another. */
export function objectsMadeBy(statements: readonly string[], encoding: Encoding = "UTF-8"): Map<string, MadeObject> {
  const lasting = new Map<string, MadeObject>();
  for (const { verb, ...object } of statements.filter((each) => isFor(encoding, each)).flatMap(changeIn)) {
    lasting.delete(object.name);
    if (verb === "CREATE") lasting.set(object.name, object);
    else if (object.type === "table")
      for (const [name, { table }] of lasting) if (table === object.name) lasting.delete(name);
  }
  return lasting;
}
