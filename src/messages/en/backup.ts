import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

export const backup = {
  writingJournal: ({ folder }: { folder: string }) => `Writing the journal in ${folder}`,
  copyingTo: ({ target }: { target: string }) => `Copying the database to ${target}`,
  makingCopy: ({ folder }: { folder: string }) => `Making a copy in ${folder}`,
  copiedUnverified: ({ names }: { names: readonly string[] }) =>
    `Copied, but not verified, because only the ERP has what they need: ${names.join(", ")}.`,
  copyMade: ({ size }: { size: Said }) => `A verified copy of the database was made (${size}).`,
  foreignCopies: ({ folder, names }: { folder: string; names: readonly string[] }) =>
    `Copies of another shop's database in ${folder} are left alone: ${names.join(", ")}.`,
  misnamedCopies: ({ folder, newest }: { folder: string; newest: string }) =>
    `The copy in ${folder} that holds the most is ${newest}; another one has a later time in its name, because a clock was wrong. A restore needs the first one.`,
  freeSpace: "Free some space, lower backup.keep, or set backup.dir to another disk.",
  journalNotTidied: "The journal could not be tidied up.",
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
  copiesDiskGone: ({ folder }: { folder: string }) =>
    `The disk of ${folder} is not there: the folder would lie on the disk of the database, and a copy is not made there.`,
  fixCopiesDisk: "Repair the disk of backup.dir, or name another folder there.",
  diskGone: "its disk is not there; the folder would lie on the disk of the database",
  otherJournal: "another folder is there than the one that the journal lay in: it lacks that one's journal.id",
  fixJournal: "Repair the disk of backup.journal, name another folder there, or set backup.journal to null.",
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

export const restore = {
  nobodyToAsk: "restore replaces the database, and nobody can be asked here.",
  sayYes: "Say so with --yes.",
  goOn: "Go on? [y/N] ",
  nothingChanged: "Nothing was changed.",
  unknownTime: "an unknown time",
  replacesGone: ({ database, why }: { database: string; why: Said }) =>
    `${database} ${why}: what was received since the copy is not brought back, except from a journal.`,
  notReadInFull: "cannot be read in full",
  hasOrders: ({ orders }: { orders: number }) => `has ${counted(orders, "order")}`,
  atUnknownTime: "at an unknown time",
  replacedDamaged: ({ database, damage }: { database: string; damage: string }) =>
    `${database} is damaged (${damage}): something of it may be missing.`,
  carriesOver: "What the copy lacks is brought over from it, the ERP's tables as they are there.",
  carriesLack: "It was not made from the one that was copied: only what the copy lacks is brought over from it.",
  replacedIs: ({ replaced }: { replaced: string }) => `The replaced database is ${replaced}.`,
  broughtOver: ({ carried }: { carried: Said }) => `Brought over from it: ${carried}.`,
  tornFiles: ({ torn }: { torn: number }) =>
    `${counted(torn, "journal file")} with an unfinished entry at the end; its batch was never confirmed.`,
  complete: ({ command }: { command: string }) => `Nothing is missing. Start the daemon: ${command}`,
  reopen: "Programs that had the database open, such as the ERP, must open it again.",
  verifying: ({ file }: { file: string }) => `Verifying ${file}`,
  noFile: ({ file }: { file: string }) => `There is no file ${file}.`,
  copiesLie: "Copies lie in backup.dir.",
  notFile: ({ file }: { file: string }) => `${file} is no file.`,
  isDatabase: ({ file }: { file: string }) => `${file} is the database itself.`,
  inUse: ({ file }: { file: string }) => `${file} is in use by another erp-bridge.`,
  noRoom: ({ needed, free, database }: { needed: Said; free: Said; database: string }) =>
    `Restoring needs ${needed}, and ${free} are free beside ${database}.`,
  otherAccount: ({ id, url }: { id: string; url: string }) =>
    `The copy belongs to another account (${id} at ${url}); nothing was changed.`,
  useItsConfiguration:
    "Use the configuration of that account, or name another copy. If this is the account's new id or address, restore with the former one, configure the new one again and type: erp-bridge resume account",
  carrying: "Bringing over what the copy lacks",
  verifyingResult: "Verifying the result",
  readingJournal: "Reading the journal",
  entriesDamaged: ({ entries, orders }: { entries: number; orders: number }) =>
    `${counted(entries, "damaged entry", "damaged entries")} of the journal, whose batches may have been confirmed: ${counted(orders, "order")} still named there will be read from the service, the others are missing.`,
  journalDamaged: ({ file, at, size, orders }: { file: string; at: string; size: Said; orders: number }) =>
    `In ${file} the entry of ${at} is damaged (${size}); its batch may have been confirmed. Orders read from the service because of it: ${orders}.`,
  journalForeign: ({ files }: { files: readonly string[] }) =>
    `Another shop's journal was left alone: ${files.join(", ")}.`,
  newerCopy: ({ file }: { file: string }) =>
    `${file} holds more than this copy, whatever their names and times say: to have that as well, restore it instead.`,
  journalOther: ({ folder }: { folder: string }) =>
    `The journal of this database did not lie in the ${folder} that is there now (its journal.id is missing): where its disk can be brought back, do that and restore once more.`,
  journalUnseen: "The folder that the journal lay in was not there to be read.",
  restoredAt: ({ at, from }: { at: string; from: string }) => `Restored at ${at} from a copy of ${from}.`,
  replaced: ({ why }: { why: Said }) => `The database that it replaces ${why}.`,
  replacedForeign: "The database that it replaces was not made from the one that was copied.",
  replacedPartly: "The database that it replaces could be read only in part.",
  ordersWhole: "No order is missing.",
  ordersMissing: ({ from, at }: { from: string; at: string }) =>
    `Orders that were handed out and confirmed between ${from} and ${at} and are not in the database now will not be handed out again; of these, updates bring back only those that change.`,
  journalBrought: ({ batches, orders }: { batches: number; orders: number }) =>
    `The journal brought back ${counted(batches, "batch", "batches")} with ${counted(orders, "order")}.`,
  ordersUnread: ({ count }: { count: number }) =>
    `${counted(count, "order")} not readable there; what cannot be read is read from the service.`,
  tablesUnread: ({ tables }: { tables: readonly string[] }) =>
    `Not all could be brought over of: ${tables.join(", ")}.`,
  feedUnrestored: ({ feed, tables }: { feed: string; tables: readonly string[] }) =>
    `${feed} reads what could not be brought over and may be as old as the copy (${tables.join(", ")}). Nothing is sent until it is compared with the ERP and corrected, and then: erp-bridge resume ${feed} --hold unrestored`,
  feedOlder: ({ feed }: { feed: string }) =>
    `What ${feed} reads may be older than what the site has. Nothing is sent until the ERP has written its present values there, or they were compared with it, and then: erp-bridge resume ${feed} --hold unrestored`,
  openBefore: ({ text }: { text: Said }) => `Open from before: ${text}`,
  erpTablesOld:
    "Tables of the ERP may be as old as the copy. Compare the orders of that time on the site with the database, have the ERP write its tables, run erp-bridge sync reconcile; then: erp-bridge resume orders --hold restored",
  erpObjectsOld:
    "These are the ERP's: tables may be as old as the copy, or gone with their indexes and triggers. Have the ERP make and write them again; then: erp-bridge resume orders --hold restored",
  resultDamaged: ({ found }: { found: string }) =>
    `The restored database came out damaged (${found}); nothing was changed.`,
  checkMachine: "Look at the disk and at the memory of this machine.",
  opener: ({ name, pid }: { name: string; pid: number }) => `${name} (process ${pid})`,
  open: ({ database, openers }: { database: string; openers: readonly string[] }) =>
    `${database} is open in ${openers.join(", ")}; nothing was changed.`,
  stopIt: "Stop it, restore, and start it again: it must open the database anew.",
  writtenMeanwhile: ({ database }: { database: string }) =>
    `Another program wrote to ${database} meanwhile; nothing was changed.`,
  stopErp: "Stop the ERP's writing while the backup is restored, and try again.",
  copyMade: ({ file, size }: { file: string; size: Said }) => `${file}: a verified copy (${size}).`,
  notVerified: ({ names }: { names: readonly string[] }) =>
    `Copied, but not verified, because only the ERP has what they need: ${names.join(", ")}.`,
  databaseName: ({ target }: { target: string }) => `${target} is a name that belongs to the database itself.`,
  otherName: "Choose another name.",
  erpComplaints: ({ found }: { found: string }) =>
    `SQLite complains of objects of the ERP's in the replaced database: ${found}. Its indexes were made again with the functions and collations of this program, which may not be the ERP's: run REINDEX in the ERP's own program, and make its full-text indexes again there.`,
  verifyingCopy: "Verifying the copy",
  copyShows: ({ at, orders, last }: { at: string; orders: number; last: string }) =>
    `The copy shows ${at}: ${counted(orders, "order")}, the last received ${last}.`,
  never: "never",
  replacedKept: ({ database, orders, at }: { database: string; orders: Said; at: string }) =>
    `${database} ${orders}, last written ${at}; it is kept under another name.`,
  restored: ({ database, at }: { database: string; at: string }) => `${database} was restored from the copy of ${at}.`,
  fromJournal: ({ batches, orders }: { batches: number; orders: number }) =>
    `From the journal: ${counted(batches, "batch", "batches")} with ${counted(orders, "new order")}.`,
  journalNamed: ({ orders }: { orders: number }) =>
    `${counted(orders, "order")} that batches of the journal name beside their lists will be read from the service.`,
  journalPartly: ({ batches, orders, unread }: { batches: number; orders: number; unread: number }) =>
    `From the journal: ${counted(batches, "batch", "batches")} with ${counted(orders, "new order")}, ${unread} that cannot be read yet.`,
  gap: ({ gap }: { gap: Said }) => `! ${gap}`,
  copying: "Copying",
  gapAndSteps: ({ gap, steps }: { gap: Said; steps: Said }) => `${gap} ${steps}`,
  older: ({ file }: { file: string }) =>
    `${file} is older than what was confirmed to the service: an earlier copy was put in its place, its -wal was removed, or rows were deleted.`,
  logSpoilt: ({ file }: { file: string }) =>
    `${file} or its -wal was truncated or overwritten while the daemon was running: the last changes may be missing, those of the ERP too.`,
  newerElsewhere: ({ file, place }: { file: string; place: string }) =>
    `${file} is older than what ${place} holds of it: its folder or the whole machine was set back to an earlier state.`,
  unnoted: ({ file }: { file: string }) =>
    `${file} may be an earlier copy: ${file}.progress was not there, and nothing shows that no order is missing.`,
  confirmedSince:
    "Orders that were confirmed since and are not in the database now will not be handed out again; of these, updates bring back only those that change.",
  newestComesBack: ({ copy }: { copy: string }) =>
    `With the daemon stopped, erp-bridge restore ${copy} brings back what the newest copy and backup.journal hold.`,
  compareNewest:
    "Compare the newest orders on the site with the database, have the ERP write its tables, run erp-bridge sync reconcile; then: erp-bridge resume orders --hold restored",
  wasRestored: "a backup was restored",
};
