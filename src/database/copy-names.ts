/** The names of scheduled copies: `STEM-20261101T024100123Z.db`, so that they sort by time. */

const TIME = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z$/;

/** `20261101T024100123Z` */
export function timeInName(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:.]/g, "");
}

/** Milliseconds; undefined where the text is no such time. */
export function readTimeInName(text: string): number | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, ms] = match;
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** What stands before the time in the names of a database's copies: the database's own name without its ending. */
export function copyStem(databaseName: string): string {
  return databaseName.replace(/\.(db|sqlite3?)$/i, "");
}

export interface NamedCopy {
  name: string;
  madeMs: number;
}

export function copyName(stem: string, ms: number): string {
  return `${stem}-${timeInName(ms)}.db`;
}

/** The scheduled copies among the names of a folder, oldest first. No other file there is the bridge's. */
export function findCopies(stem: string, names: readonly string[]): NamedCopy[] {
  return names
    .flatMap((name) => {
      if (!name.startsWith(`${stem}-`) || !name.endsWith(".db")) return [];
      const madeMs = readTimeInName(name.slice(stem.length + 1, -".db".length));
      return madeMs === undefined ? [] : [{ name, madeMs }];
    })
    .sort((a, b) => a.madeMs - b.madeMs);
}

/** A copy of the present database, in the order of what the copies hold, the earliest first; the name is the word of a clock. */
export interface RankedCopy extends NamedCopy {
  /** Absent where what it holds could not be read, or is another database: these come first, by name. */
  isRead?: true;
}

/** The copies that make room: the earliest beyond `keep`, but for the one just made and those that seem to be of the future. */
export function copiesToRemove<Copy extends RankedCopy>(
  copies: readonly Copy[],
  { keep, made, nowMs }: { keep: number; made: string; nowMs: number },
): Copy[] {
  const others = copies.filter(({ name, madeMs, isRead }) => name !== made && (isRead === true || madeMs <= nowMs));
  return others.slice(0, Math.max(0, others.length - (keep - 1)));
}

/** The copy that holds the most, where another one is named as if it did; undefined where the names do not mislead. */
export function misnamedNewest(copies: readonly RankedCopy[]): string | undefined {
  const newest = copies.findLast(({ isRead }) => isRead === true);
  return newest !== undefined && copies.some(({ madeMs }) => madeMs > newest.madeMs) ? newest.name : undefined;
}

/** A start of the program makes up for a copy that is late by so much of its interval. */
const LATE_SHARE = 1.1;

/** Whether a start should begin with a copy: there is none, the last one was slept through, or the newest claims to be of the future. */
export function isCopyLate(newestMs: number | undefined, nowMs: number, intervalMs: number): boolean {
  const ageMs = newestMs === undefined ? Number.POSITIVE_INFINITY : nowMs - newestMs;
  return ageMs < 0 || ageMs >= intervalMs * LATE_SHARE;
}

/** What SQLite and the bridge keep beside a database under its name. */
const BESIDE = /^(?:-(?:journal|wal|shm|mj.*)|\.(?:lock|progress|id|restore)(?:-(?:journal|wal|shm))?)?$/s;

/** Whether a path is the database or a name beside it that SQLite or the bridge would take for its own. */
export function isNameOfDatabase(file: string, database: string): boolean {
  return file.startsWith(database) && BESIDE.test(file.slice(database.length));
}
