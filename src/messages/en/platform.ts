import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

export const platform = {
  linesDropped: ({ count }: { count: number }) =>
    `${counted(count, "line")} of the log ${count === 1 ? "was" : "were"} not written: the terminal or the program that reads it took nothing.`,
  tooManyLinks: ({ place, linksMax }: { place: string; linksMax: number }) =>
    `${place} leads through more than ${linksMax} symbolic links.`,
  severalOwners: ({ folder, names }: { folder: string; names: string }) =>
    `Several users decide where ${folder} lies: ${names}.`,
  runAsUser: "Run the command as the user of erp-bridge: runuser -u USER -- erp-bridge …",
  cannotBecome: ({ user, folder, code }: { user: string; folder: string; code: string }) =>
    `Root cannot become ${user}, who owns ${folder} (${code}).`,
  /** A step that failed because of the machine. */
  fault: ({ doing, what, where }: { doing: Said; what: Said; where: string }) => `${doing}: ${what} (${where}).`,
  usingDatabase: "Using the database",
  internal: ({ message }: { message: string }) => `An internal error: ${message}`,
  noWorkingFolder: "The working folder was removed, so a relative path means nothing here.",
  changeFolder: "Change to a folder that is there (cd), or give absolute paths.",
  reportIt: "Please report it with the debug log (log.level: debug).",
  outOfReach: "Its disk, or the machine that shares it, is out of reach. The bridge tries again by itself.",
  silent: ({ place }: { place: string }) => `${place} does not answer.`,
  /** The same inside a longer sentence. */
  doesNotAnswer: ({ place }: { place: string }) => `${place} does not answer`,
  helperEnded: ({ why }: { why: string }) => `The process that looks at files ended early (${why}).`,
  stoppedLooking: "Stopped while a file was looked at.",
  stoppedReading: ({ place }: { place: string }) => `Stopped while ${place} was read.`,
  diskFull: "the disk is full",
  diskOfFull: ({ folder }: { folder: string }) => `the disk of ${folder} is full`,
  freeSpace: "Free some space; the bridge goes on by itself.",
  tooManyFiles: "this program may open no more files",
  raiseLimit: "Raise the limit of open files: LimitNOFILE= of the unit, or ulimit -n.",
  diskError: "the disk reported an error",
  diskReadOnly: "the file system is read-only",
  makeWritable:
    "Look at the kernel log (dmesg) and the disk's health, then mount it for writing again; under systemd, ReadWritePaths= must name the folder.",
  lookAtDisk: "Look at the kernel log (dmesg) and the disk's health.",
  lockHeld: "another program holds the write lock of the database",
  lockPasses: "The bridge tries again by itself; keep transactions of the ERP short.",
  noDatabase: "the file is not an SQLite database, or its first page is damaged",
  restoreIfRight: "Check database.path; if it is right, restore a backup: erp-bridge restore FILE.",
  damaged: "the database is damaged",
  restoreCopy: "Restore a backup: erp-bridge restore FILE.",
  otherKind: "a folder, a link or a pipe has the name of a file of the bridge's",
  moveAway: "Find out who made it, and move it away: erp-bridge makes the file anew.",
  nameTooLong: "the name, with what erp-bridge adds to it, is longer than the file system allows",
  shortenName: "Give it a shorter name.",
  fileMissing: "a file or its folder is not there",
  folderMissing: ({ folder }: { folder: string }) => `the folder ${folder} is not there`,
  makeFolder: "Make the folder, or name another one.",
  noAccess: "the file or its folder does not let this program in",
  noAccessTo: ({ rights }: { rights: Said }) => `the file or its folder does not let this program in (${rights})`,
  giveRights: "Give the user of erp-bridge the right to read and write the folder and the files in it.",
  notStarted: ({ code }: { code: string }) => `It could not be started (${code}).`,
  outOfTime: "It did not end in time and was stopped.",
  stoppedRunning: "Stopped while it was running.",
  endedWith: ({ code }: { code: number }) => `It ended with ${code}.`,
  endedBy: ({ signal }: { signal: string }) => `It ended with ${signal}.`,
};
