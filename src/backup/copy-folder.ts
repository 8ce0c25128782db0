/*
 * The folder of the scheduled backups: listing, free space and removal. Another shop's copies are never touched.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { findCopies, type RankedCopy } from "../database/file/copy-names.ts";
import { compareReach, type Progress } from "../database/log/progress.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { removeName } from "../platform/fresh-file.ts";
import { isForeign, type Owner } from "../platform/owner.ts";
import { type ApartFrom, isApart } from "./apart.ts";
import { configBeside } from "./copy-database.ts";
import { readOwnerOfCopy, readProgress } from "./copy-owner.ts";
import { type DiskSpace, readDiskSpace } from "./space-rule.ts";
import { listUnfinished } from "./unfinished-copy.ts";

/**
 * Creates the folder where it is missing, and removes what interrupted copies left in it. Returns whether it is on
 * another disk than the database.
 * @param own the database's id
 * @throws BridgeError `disk_failed` where it must be on another disk and is not
 */
export function prepareFolder(folder: string, stem: string, place: ApartFrom, own: string | undefined): boolean {
  const isElsewhere = isApart(folder, place.database);
  if (place.mustBeApart && !isElsewhere)
    throw new BridgeError("disk_failed", m.backup.copiesDiskGone({ folder }), { hint: m.backup.fixCopiesDisk });
  mkdirSync(folder, { recursive: true, mode: 0o750 });
  removeLeft(folder, stem, own);
  return isElsewhere;
}

/** Leaves alone what another shop's bridge may still be making. */
function removeLeft(folder: string, stem: string, own: string | undefined): void {
  const found = listUnfinished(folder, own).filter(
    ({ target }) => findCopies(stem, [path.basename(target)]).length > 0,
  );
  const made = new Set(found.filter(({ isOver }) => !isOver).map(({ target }) => target));
  for (const { file, target, isOver } of found) {
    if (!isOver) continue;
    removeName(file);
    if (!made.has(target) && !existsSync(target)) removeName(configBeside(target));
  }
}

/**
 * This shop's copies, ordered by content, and names of foreign copies: another shop's database may have the same name
 * and be backed up to the same folder.
 */
export function listCopies(folder: string, stem: string, owner: Owner): { copies: RankedCopy[]; foreign: string[] } {
  const looked = findCopies(stem, readdirSync(folder)).map((copy) => ({
    ...copy,
    ...lookAt(path.join(folder, copy.name)),
  }));
  const [foreign, own] = [true, false].map((is) => looked.filter((copy) => isForeign(copy.owner, owner) === is));
  const ranked = (own ?? []).map(({ name, madeMs, progress, owner: { timeline } }) => {
    const isOfThis = owner.database === undefined || progress?.database === owner.database;
    return { name, madeMs, timeline, reach: isOfThis ? progress : undefined };
  });
  ranked.sort((a, b) => {
    const isRead = Number(a.reach !== undefined) - Number(b.reach !== undefined);
    return isRead || compareReach(a.reach ?? {}, b.reach ?? {}) || a.madeMs - b.madeMs;
  });
  const copies = ranked.map(({ reach, ...copy }) => (reach === undefined ? copy : { ...copy, isRead: true as const }));
  return { copies, foreign: (foreign ?? []).map(({ name }) => name) };
}

export function readRoom(folder: string, database: string): { space: DiskSpace; isSameDisk: boolean } {
  return { space: readDiskSpace(folder), isSameDisk: statSync(folder).dev === statSync(database).dev };
}

export function removeCopies(folder: string, names: readonly string[]): void {
  for (const name of names) {
    rmSync(path.join(folder, name), { force: true });
    removeName(configBeside(path.join(folder, name)));
  }
}

interface Looked {
  owner: ReturnType<typeof readOwnerOfCopy>;
  progress: Progress | undefined;
}

/** A copy never changes, so what was read is cached; one that could not be read is tried again. */
const read = new Map<string, Looked>();

function lookAt(file: string): Looked {
  const looked = read.get(file) ?? { owner: readOwnerOfCopy(file), progress: readProgress(file) };
  if (looked.progress !== undefined) read.set(file, looked);
  return looked;
}
