/*
 * SQLite reads the value of a parameter while it plans a statement: that of LIMIT, and those that a column is compared with where rows are
 * put in order or an index is partial. It then compiles the statement anew each time one is bound, which costs more than most statements
 * themselves. Of an expression it reads no value.
 */

const QUOTED = /'[^']*'|"[^"]*"/;
const COMPARED = /(?<=[=<>]\s*|\bIS\s+|\bIS\s+NOT\s+)(\?|@\w+)/;
const LIMIT = /(?<=\bLIMIT\s+)(\?|@\w+)/;
const PARTS = new RegExp([QUOTED, COMPARED, LIMIT].map(({ source }) => source).join("|"), "gi");

/** The same statement, which is planned without the values of its parameters and compiled once. */
export function plannedOnce(sql: string): string {
  return sql.replace(PARTS, (part, compared?: string, limit?: string) => {
    if (compared !== undefined) return `+${compared}`;
    return limit === undefined ? part : `${limit} + 0`;
  });
}
