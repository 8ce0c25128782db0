import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

export const database = {
  /** The operation during which a fault occurred. */
  puttingInPlace: "Putting the restored database in place",
  opening: "Opening the database",
  takingLock: "Taking the instance lock",
  lookingAtLock: "Looking at the instance lock",
  reading: "Reading the database",
  writingBeside: "Writing beside the database",
  writing: "Writing to the database",
  lookingAt: "Looking at the database",
  creating: "Creating the database",
  migrating: "Migrating the database",
  settingAside: "Setting a foreign journal aside",
  readingStatus: "Reading the status",
  copyingBefore: ({ folder }: { folder: string }) => `Copying the database into ${folder} before migrating it`,
  applying: ({ tag }: { tag: string }) => `Applying migration ${tag}`,
  copying: ({ file }: { file: string }) => `Copying ${file}`,
  folderRights: ({ place, mode, owner, self }: { place: string; mode: string; owner: string; self: Said }) =>
    `folder ${place}: mode ${mode}, owner ${owner}; ${self}`,
  fileRights: ({ place, mode, owner, self }: { place: string; mode: string; owner: string; self: Said }) =>
    `file ${place}: mode ${mode}, owner ${owner}; ${self}`,
  unknownRights: ({ place, self }: { place: string; self: Said }) => `folder ${place} cannot be looked at; ${self}`,
  runsAs: ({ user }: { user: string }) => `this program runs as ${user}`,
  failed: ({ doing, text }: { doing: Said; text: string }) => `${doing}: ${text}.`,
  ownMadeAgain: ({ names }: { names: readonly string[] }) =>
    `Triggers, indexes or views of the bridge were gone or differed, as after a table was made anew (${names.join(", ")}). They were made again, and what the ERP has still to take was worked out anew.`,
  ownChanged: ({ names, words }: { names: string; words: string }) =>
    `Tables or views of the bridge are missing or were changed by another program (${names}): ${words}.`,
  giveBack: "What is missing and what to do: erp-bridge check.",
  swallowingTrigger: ({ objects }: { objects: string }) =>
    `A trigger of the ERP's leaves out rows of the bridge's (RAISE(IGNORE)): ${objects}. Nothing is stored or confirmed while it is there.`,
  quoteText: ({ statements }: { statements: string }) =>
    `Drop it, or make it again with its text in single quotes: the bridge's SQLite takes a word in double quotes for a column. ${statements}`,
  dropIt: ({ statements }: { statements: string }) => `Drop it: ${statements}`,
  erpObjects: ({ objects, words }: { objects: string; words: string }) =>
    `What the ERP has put on the bridge's tables stands in the way (${objects}): ${words}.`,
  pathEndsBlank: ({ path }: { path: string }) => `The database path "${path}" ends in white space.`,
  fixPath: "Correct database.path.",
  folderMissing: ({ folder }: { folder: string }) => `The folder of the database, ${folder}, does not exist.`,
  makeFolder: "Make the folder, owned by the user of erp-bridge, or correct database.path.",
  symbolicLink: ({ file }: { file: string }) => `${file} is a symbolic link.`,
  setTarget: "Set database.path to the file it points to: two names make two locks.",
  findMaker: "Find out who made it, and move it away.",
  notRegular: ({ file }: { file: string }) => `${file} is not a regular file.`,
  hardLinks: ({ file, names }: { file: string; names: number }) => `${file} has ${names} names (hard links).`,
  leaveOneName: "Leave it one name: two names make two locks.",
  networkDisk: ({ file, type, point }: { file: string; type: string; point: string }) =>
    `${file} lies on a network file system (${type} at ${point}), where SQLite's locks do not hold.`,
  useOwnDisk: "Put the database on a disk of this machine.",
  giveRights: "Give the user of erp-bridge the right to it; SQLite also writes beside the file (-wal, -shm).",
  foreignFile: ({ file, names }: { file: string; names: readonly string[] }) =>
    `${file} was not made by erp-bridge and already holds ${names.join(", ")}.`,
  ownFileOrRename: "Set database.path to a file of its own, or rename these tables and views.",
  bringBack: "Restart erp-bridge; use erp-bridge restore to bring back a backup.",
  replaced: ({ file }: { file: string }) => `${file} was replaced or removed while the bridge was running.`,
  foreignJournal: ({ file }: { file: string }) =>
    `${file}-journal lies beside the database and is not of it: no other program can open the database, and SQLite would play that file back over newer data.`,
  moveJournal: "Move that file to another folder while the daemon runs, or restart erp-bridge: a start sets it aside.",
  lockNoFile: ({ file }: { file: string }) => `${file} is no file of its own but a link, a folder or a pipe.`,
  removeIt: "Find out who made it, and remove it: erp-bridge makes the file anew.",
  stopOther: "Stop it first (systemctl stop erp-bridge), or use a command that runs beside it.",
  reinstall: "Install erp-bridge again.",
  migrationDated: ({ tag, before }: { tag: string; before: string }) => `${tag} is dated before ${before}`,
  migrationsUnreadable: ({ folder, why }: { folder: string; why: string }) =>
    `The migrations in ${folder} cannot be read: ${why}.`,
  newerBridge: "The database was last used by a newer erp-bridge; nothing was changed.",
  installNewer: "Install that version again, or restore the backup made before its migration (…before-….db).",
  nothingChanged: ({ what }: { what: Said }) => `${what}; nothing was changed.`,
  installItsVersion: "Install the erp-bridge that this database was made with, or report a damaged package.",
  unknownMigration: ({ at }: { at: string }) =>
    `The database has had a migration (of ${at}) that this program does not know`,
  migrationWithout: ({ tag, other }: { tag: string; other: string }) =>
    `The database has had migration ${tag} without ${other}`,
  otherMigration: ({ tag }: { tag: string }) => `Migration ${tag} is not the one that the database has had`,
  foreignDatabase: ({ file }: { file: string }) => `${file} belongs to another program.`,
  ownFile: "Set database.path to a file of its own.",
  copyDamaged: ({ file, found }: { file: string; found: string }) =>
    `The copy made before migrating ${file} is damaged: ${found}.`,
  likelyDamaged: "The database itself is likely damaged: run erp-bridge check, restore a backup.",
  erpComplaints: ({ found }: { found: string }) =>
    `SQLite complains of objects of the ERP's: ${found}. That hinders nothing here; the ERP's own program, whose functions and collations may be others, shows with PRAGMA integrity_check whether they are sound.`,
  migrationFailed: ({ tag, why }: { tag: string; why: string }) => `Migration ${tag} failed and was undone: ${why}.`,
  migrationEndsTransaction: ({ tag }: { tag: string }) => `Migration ${tag} ends the transaction it runs in.`,
  foreignKeysBroken: ({ broken }: { broken: number }) =>
    `The migrations break ${counted(broken, "foreign key")} and were undone.`,
  pragmaRefused: ({ file, pragma, value, actual }: { file: string; pragma: string; value: string; actual: string }) =>
    `${file} does not take ${pragma} = ${value} (it is ${actual}).`,
  closeOthers: "Close other programs that use the database and try again.",
  notDatabase: ({ file }: { file: string }) => `${file} is not an SQLite database, or its first page is damaged.`,
  restoreIfRight: ({ copy }: { copy: string }) =>
    `Check database.path; if it is right, restore a backup: erp-bridge restore ${copy}`,
  logRemovedOpen: ({ file }: { file: string }) =>
    `The write-ahead log of ${file} was removed, and another program still has the database open.`,
  closeHolders:
    "Close the programs that have it open (lsof names them): they save what they have. Never remove -wal or -shm.",
  waitForDaemon: "Try again in a moment: a running daemon saves what it has and begins anew.",
  notOurs: ({ file }: { file: string }) => `${file} is not a database of erp-bridge yet.`,
  olderBridge: ({ file }: { file: string }) => `${file} was made by an older erp-bridge.`,
  makeWithInit: "Make it with erp-bridge init.",
  startOnce: "Start the daemon of this version once: it brings it up to date.",
  formerVersion: ({ file }: { file: string }) => `${file} is in use by an erp-bridge of a former version.`,
  restartDaemon: "Restart the daemon (systemctl restart erp-bridge): it brings the database up to date.",
  missing: ({ file }: { file: string }) => `The database ${file} does not exist.`,
  logWouldKeepOut: ({ file, rights }: { file: string; rights: Said }) =>
    `${file} is in WAL mode, no program has it open, and users who may write it could not write the log that SQLite would make beside it (${rights}).`,
  runAsWriter: "Run the command as the user of the daemon or as root, or while the daemon runs.",
  logKeepsOut: ({ file, rights }: { file: string; rights: Said }) =>
    `Users who may write ${file} cannot write ${file}-wal or ${file}-shm, which belong to the user of this command (${rights}).`,
  giveLogBack: ({ file }: { file: string }) =>
    `As root: chown -h --reference=${file} ${file}-wal ${file}-shm; never remove these.`,
  initOrFix: "Make it with erp-bridge init, or correct database.path.",
  older: ({ file }: { file: string }) =>
    `${file} is older than what was confirmed to the service: an earlier copy was brought in, or rows were deleted, while the bridge was running.`,
  restartVerifies: "Restart erp-bridge: it verifies the database first.",
  overwritten: ({ file }: { file: string }) =>
    `${file} was overwritten by another program while the bridge was running.`,
  restartBringBack:
    "Restart erp-bridge: it verifies the database first. Bring a copy back with erp-bridge restore alone.",
  logTruncated: ({ file }: { file: string }) => `${file}-wal was truncated by another program; it was begun anew.`,
  logSpoilt: ({ file }: { file: string }) =>
    `${file}-wal was truncated or overwritten by another program; what only it held may be lost.`,
  restartNeverTouch:
    "Restart erp-bridge: it verifies the database first. Never touch -wal and -shm, also not with logrotate.",
  closeAndRestart:
    "Close other programs that have the database open, and restart erp-bridge. Never touch -wal and -shm.",
  restoreInterrupted: ({ file }: { file: string }) =>
    `A restore of ${file} was interrupted while it put the files in place.`,
  finishRestore: "Start the daemon, or run erp-bridge restore again: either finishes it, and nothing is lost.",
  filesTaken: ({ file }: { file: string }) => `The files of ${file} were taken from under the running bridge.`,
  heldSaved: ({ copy }: { copy: string }) =>
    `What it held was saved. Move that file away if it is not wanted; otherwise: erp-bridge restore ${copy}`,
  notWritable: ({ file, rights }: { file: string; rights: Said }) =>
    `${file} or its folder may not be written (${rights}).`,
  notReadable: ({ file, rights }: { file: string; rights: Said }) =>
    `${file} or its folder may not be read (${rights}).`,
  earlierOne: "an earlier one",
  inUse: ({ file }: { file: string }) => `Another erp-bridge works on ${file}.`,
  inUseBy: ({ file, command, pid, since }: { file: string; command: string; pid: number; since: string }) =>
    `Another erp-bridge works on ${file}: ${command}, process ${pid}, since ${since}.`,
  logRemoved: ({ file }: { file: string }) =>
    `The write-ahead log of ${file} was removed while the bridge was running.`,
  logReplaced: ({ file }: { file: string }) =>
    `The write-ahead log of ${file} was replaced while the bridge was running.`,
  gaveUp: "SQLite gave the transaction up in its middle.",
};
