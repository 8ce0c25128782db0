import { counted } from "../counted.ts";
import type { Said } from "../message.ts";

export const backup = {
  writingJournal: ({ folder }: { folder: string }) => `Writing the journal in ${folder}`,
  copyingTo: ({ target }: { target: string }) => `Copying the database to ${target}`,
  makingCopy: ({ folder }: { folder: string }) => `Making a copy in ${folder}`,
  copiedUnverified: ({ names }: { names: readonly string[] }) =>
    `Copied, but not verified, because only the ERP has what they need: ${names.join(", ")}.`,
  copyMade: ({ size }: { size: Said }) => `A verified copy of the database was made (${size}).`,
  foreignCopies: ({ folder, names }: { folder: string; names: readonly string[] }) =>
    `Copies of another shop's database in ${folder} are left alone: ${names.join(", ")}.`,
  freeSpace: "Free some space, lower backup.keep, or set backup.dir to another disk.",
  journalNotTidied: "The journal could not be tidied up.",
  virtualTable: ({ table }: { table: string }) => `${table} is a virtual table: the copy's stays.`,
  notMadeAgain: ({ type, name }: { type: string; name: string }) => `The ${type} ${name} could not be made again.`,
  fileExists: ({ file }: { file: string }) => `${file} exists already, and a backup never writes over anything.`,
  otherName: "Choose another name.",
  noResult: "The copy ended without a result.",
  copyDamaged: ({ found }: { found: string }) => `The copy was thrown away because it is damaged: ${found}.`,
  likelyDamaged: "The database itself is likely damaged: run erp-bridge check, and restore an older backup.",
  copyBrokenOff: "The copy was broken off; nothing is left of it.",
  helperEnded: ({ why }: { why: string }) => `The process that copies ended early (${why}).`,
  unreadable: "it cannot be read",
  isEmpty: "is empty",
  isGone: "is gone",
  isUnreadable: ({ why }: { why: string }) => `cannot be read (${why})`,
  notCopy: ({ file }: { file: string }) => `${file} is not a copy of a database of erp-bridge.`,
  nameCopy: "Name a file that erp-bridge backup or the daemon has made (backup.dir).",
  damaged: ({ file, found }: { file: string; found: string }) => `${file} is damaged (${found}); nothing was changed.`,
  otherCopy: "Restore another copy.",
  newerReplaced: ({ file }: { file: string }) =>
    `${file} was last used by a newer erp-bridge, so this one can bring nothing over from it; nothing was changed.`,
  installNewer:
    "Best install that version again. Otherwise keep the file and its -wal under other names and restore once more: what was received since the copy is then missing, except from a journal.",
  otherAccount: ({ file }: { file: string }) =>
    `The copy belongs to another account than ${file}; nothing was changed.`,
  nameOwnCopy:
    "Name a copy of this database, or move the database away first if it is to be replaced by another account's.",
  replacedDamaged: ({ found }: { found: string }) => `The database that it replaces is damaged (${found}).`,
  noNote: "It has no .progress of its own beside it: nothing shows that it was not an earlier copy itself.",
  logSpoilt: "It or its -wal was truncated or overwritten.",
  noteAhead: "Its .progress says that more was stored than is there.",
  historyAhead: ({ orders }: { orders: number }) =>
    `Its history names ${counted(orders, "order")} that it does not hold.`,
  numbersAhead: ({ count }: { count: number }) => `Its numbers say that more was stored: ${counted(count, "event")}.`,
  batchesAhead: ({ orders }: { orders: number }) =>
    `Its batches say that more was stored: ${counted(orders, "order")}.`,
  journalUnwritable: ({ folder, words }: { folder: string; words: string }) =>
    `The journal in ${folder} cannot be written (${words}): batches are stored, but not confirmed until it can be.`,
  fixJournal: "Put the disk of backup.journal right, or set backup.journal to null.",
  rowsNeedErp: ({ table }: { table: string }) => `${table} needs what only the ERP has: the copy's rows stay.`,
  notAskedFor: ({ free, folder }: { free: Said; folder: string }) =>
    `Only ${free} are free in ${folder}: no further orders are asked for until there is room.`,
  roomSoon: "Free some space; the bridge goes on by itself.",
  roomAgain: "There is room on the disk again; orders are asked for.",
  lowSpace: ({ free, folder }: { free: Said; folder: string }) => `Only ${free} are free in ${folder}.`,
  noRoom: ({ needed, free, folder }: { needed: Said; free: Said; folder: string }) =>
    `A copy needs ${needed}, and ${free} are free in ${folder}.`,
  noRoomOnDisk: ({ needed, free, folder }: { needed: Said; free: Said; folder: string }) =>
    `A copy needs ${needed}, and ${free} are free in ${folder}, the database's own disk.`,
};
