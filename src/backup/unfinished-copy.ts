/*
 * The names of copies that are being made tell who makes them: `COPY.DATABASE-PROCESS.RANDOM.partial`. Another shop's
 * bridge may be making a copy in the same folder, and a command a second one of the same name.
 */
import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { beforeRandom, freshName } from "../platform/fresh-file.ts";

const PARTIAL = "partial";
/** Enough to tell the databases of one folder from each other. */
const DATABASE_DIGITS = 12;
const MAKER = /^(.+)\.([0-9a-f]{12})-(\d{1,10})$/s;
/** Former versions used neither a maker nor, before that, a random part. */
const FORMER = /^(.+)\.partial(?:-(?:wal|shm|journal))?$/s;
/** The longest name of a file, less what SQLite adds to that of a copy. */
const NAME_BYTES_MAX = 255 - "-journal".length;
/** Longer than any copy takes between two writes: one that is verified for an hour without an answer is given up. */
const GIVEN_UP_MS = 24 * 60 * 60_000;

/** A file of a copy that is being made, or was when its process ended. */
export interface Unfinished {
  file: string;
  /** The copy's final name. */
  target: string;
  /** Whether nobody makes it any more. */
  isOver: boolean;
}

/**
 * A name that is as long as the file system allows does not tell who makes the copy.
 * @param database the id of the copied database; undefined where it is not known
 */
export function unfinishedName(target: string, database: string | undefined): string {
  if (database === undefined) return freshName(target, PARTIAL);
  const made = `${target}.${digitsOf(database)}-${process.pid}`;
  const isTooLong = Buffer.byteLength(path.basename(freshName(made, PARTIAL))) > NAME_BYTES_MAX;
  return freshName(isTooLong ? target : made, PARTIAL);
}

/**
 * The unfinished copies in a folder. Those of this database are over where their process has ended; all others, which
 * may be made on another machine, where nothing was written to them for a day.
 */
export function listUnfinished(folder: string, database: string | undefined): Unfinished[] {
  return readdirSync(folder).flatMap((name) => {
    const named = beforeRandom(name, PARTIAL) ?? FORMER.exec(name)?.[1];
    if (named === undefined) return [];
    const [, target = named, digits, pid] = MAKER.exec(named) ?? [];
    const isOwn = database !== undefined && digits === digitsOf(database);
    const file = path.join(folder, name);
    const isOver = (isOwn && hasEnded(Number(pid))) || isGivenUp(file);
    return [{ file, target: path.join(folder, target), isOver }];
  });
}

function digitsOf(database: string): string {
  return createHash("sha256").update(database).digest("hex").slice(0, DATABASE_DIGITS);
}

/** This process looks before it begins a copy, so that one with its number is an earlier process's. */
function hasEnded(pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH"; // else another user's
  }
}

/** By the times of the machine, as the file has them. */
function isGivenUp(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > GIVEN_UP_MS;
}
