/*
 * SQLite's planner reads the values of some parameters: that of LIMIT, and those compared with a column where the
 * statement sorts or an index is partial. It then recompiles the statement each time such a parameter is bound, which
 * costs more than most statements themselves. It does not read the value of an expression.
 */

const QUOTED = /'[^']*'|"[^"]*"/;
const COMPARED = /(?<=[=<>]\s*|\bIS\s+|\bIS\s+NOT\s+)(\?|@\w+)/;
const LIMIT = /(?<=\bLIMIT\s+)(\?|@\w+)/;
const PARTS = new RegExp([QUOTED, COMPARED, LIMIT].map(({ source }) => source).join("|"), "gi");

/** Makes such parameters expressions, so that the statement is compiled once. */
export function plannedOnce(sql: string): string {
  return sql.replace(PARTS, (part, compared?: string, limit?: string) => {
    if (compared !== undefined) return `+${compared}`;
    return limit === undefined ? part : `${limit} + 0`;
  });
}
