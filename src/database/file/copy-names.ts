/** Names of scheduled copies: `STEM-20261101T024100123Z.db`, so that they sort by time. */

const TIME = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z$/;

/** `20261101T024100123Z` */
export function timeInName(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:.]/g, "");
}

/** Milliseconds since the epoch; undefined where the text is no such time. */
export function readTimeInName(text: string): number | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, ms] = match;
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** The part before the time in names of copies: the database's name without its extension. */
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

/** The scheduled copies among the names in a folder, oldest first. All other files are left alone. */
export function findCopies(stem: string, names: readonly string[]): NamedCopy[] {
  return names
    .flatMap((name) => {
      if (!name.startsWith(`${stem}-`) || !name.endsWith(".db")) return [];
      const madeMs = readTimeInName(name.slice(stem.length + 1, -".db".length));
      return madeMs === undefined ? [] : [{ name, madeMs }];
    })
    .sort((a, b) => a.madeMs - b.madeMs);
}

/** A copy in a list sorted by content, earliest state first: the time in its name depends on a clock that may be wrong. */
export interface RankedCopy extends NamedCopy {
  /** Absent where the content could not be read or is another database: such copies come first, sorted by name. */
  isRead?: true;
  /** The timeline of the database in it. */
  timeline?: string | undefined;
}

/**
 * The copies to delete so that `keep` remain: the earliest, except for the one just made, and for unread ones with a
 * time in the future.
 * @param options.only copies of other timelines stay, and do not count
 */
export function copiesToRemove<Copy extends RankedCopy>(
  copies: readonly Copy[],
  { keep, made, nowMs, only }: { keep: number; made: string; nowMs: number; only?: string | undefined },
): Copy[] {
  const others = copies.filter(
    ({ name, madeMs, isRead, timeline }) =>
      name !== made && (isRead === true || madeMs <= nowMs) && (only === undefined || timeline === only),
  );
  return others.slice(0, Math.max(0, others.length - (keep - 1)));
}

/** The copy with the latest content, where another one has a later time in its name; else undefined. */
export function misnamedNewest(copies: readonly RankedCopy[]): string | undefined {
  const newest = copies.findLast(({ isRead }) => isRead === true);
  return newest !== undefined && copies.some(({ madeMs }) => madeMs > newest.madeMs) ? newest.name : undefined;
}

/** A start makes a copy where the newest is older than this many intervals. */
const LATE_SHARE = 1.1;

/** Whether a start makes a copy: there is none, one was missed, or the newest has a time in the future. */
export function isCopyLate(newestMs: number | undefined, nowMs: number, intervalMs: number): boolean {
  const ageMs = newestMs === undefined ? Number.POSITIVE_INFINITY : nowMs - newestMs;
  return ageMs < 0 || ageMs >= intervalMs * LATE_SHARE;
}

/** Suffixes of the files that SQLite and the bridge keep beside a database. */
const BESIDE = /^(?:-(?:journal|wal|shm|mj.*)|\.(?:lock|progress|id|restore)(?:-(?:journal|wal|shm))?)?$/s;

/** Whether a path is the database, or a name beside it that SQLite or the bridge uses. */
export function isNameOfDatabase(file: string, database: string): boolean {
  return file.startsWith(database) && BESIDE.test(file.slice(database.length));
}
