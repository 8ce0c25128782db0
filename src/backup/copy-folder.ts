/*
 * The folder of the scheduled copies: what is in it, whether there is room, and what goes. Of another shop's copies nothing
 * is touched.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { findCopies, type NamedCopy } from "../database/copy-names.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { removeName } from "../platform/fresh-file.ts";
import { isForeign, type Owner } from "../platform/owner.ts";
import { type ApartFrom, isApart } from "./apart.ts";
import { configBeside, copyOfPartial } from "./copy-database.ts";
import { readOwnerOfCopy } from "./copy-owner.ts";
import { readDiskSpace } from "./disk-space.ts";
import type { DiskSpace } from "./space-rule.ts";

/**
 * Makes the folder where it is not there, and removes what interrupted copies left in it. Returns whether it lies on another disk than the
 * database.
 * @throws BridgeError `disk_failed` where it has to and does not
 */
export function prepareFolder(folder: string, stem: string, place: ApartFrom): boolean {
  const isElsewhere = isApart(folder, place.database);
  if (place.mustBeApart && !isElsewhere)
    throw new BridgeError("disk_failed", m.backup.copiesDiskGone({ folder }), { hint: m.backup.fixCopiesDisk });
  mkdirSync(folder, { recursive: true, mode: 0o750 });
  for (const partial of readdirSync(folder)) {
    const name = copyOfPartial(partial);
    if (name === undefined || findCopies(stem, [name]).length === 0) continue;
    removeName(path.join(folder, partial));
    if (!existsSync(path.join(folder, name))) removeName(configBeside(path.join(folder, name)));
  }
  return isElsewhere;
}

/** This shop's copies, oldest first: another shop's database may bear the same name and be copied into the same folder. */
export function listCopies(folder: string, stem: string, owner: Owner): { copies: NamedCopy[]; foreign: string[] } {
  const copies = findCopies(stem, readdirSync(folder));
  const foreign = copies.map(({ name }) => name).filter((name) => isForeign(ownerOf(path.join(folder, name)), owner));
  return { copies: copies.filter(({ name }) => !foreign.includes(name)), foreign };
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

/** A copy never changes. */
const owners = new Map<string, Owner>();

function ownerOf(file: string): Owner {
  const owner = owners.get(file) ?? readOwnerOfCopy(file);
  owners.set(file, owner);
  return owner;
}
