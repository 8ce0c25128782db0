import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

const SHARE_LOG =
  "Put both users into one group: chgrp GROUP of the file and its folder, chmod 660 of the file, chmod g+s of the folder, and umask 007 in the programs that write it. While one of them has the file open, it is read in any case. Nothing is sent meanwhile, and nothing is deleted on the site.";

export const feeds = {
  keyIsNull: ({ columns }: { columns: readonly string[] }) => `${columns.join(", ")}: the key is NULL`,
  keyIsBinary: ({ columns }: { columns: readonly string[] }) =>
    `${columns.join(", ")}: the key is binary data or no valid text`,
  keyNotUnique: ({ columns }: { columns: readonly string[] }) => `two rows have this key (${columns.join(", ")})`,
  keysStayDirty: ({ name }: { name: string }) =>
    `${name}: keys that were noted as changed cannot be deleted from feed_dirty; they are read again in every pass.`,
  sourceWell: ({ name, source }: { name: string; source: Said }) => `${name}: ${source} can be read again.`,
  writesUnseen: ({ name, source }: { name: string; source: Said }) =>
    `${name}: ${source} shows values only, not when the ERP writes: erp.write_within.${name} has no effect.`,
  comparesAll: ({ name }: { name: string }) => `${name}: all rows are compared.`,
  changesNoted: ({ name, table }: { name: string; table: string }) =>
    `${name}: changes of ${table} are noted from now on.`,
  notErpTable: ({ name, table }: { name: string; table: string }) =>
    `${name}: ${table} is not a table or view of the ERP.`,
  setErpTable: ({ name }: { name: string }) =>
    `Set imports.${name}.table to one that is. Nothing is sent meanwhile, and nothing is deleted on the site.`,
  noTable: ({ name, table, place }: { name: string; table: string; place: string }) =>
    `${name}: there is no table ${table} in ${place}.`,
  makeTable: ({ name }: { name: string }) =>
    `Make the table again, or set imports.${name}.table. Nothing is sent meanwhile, and nothing is deleted on the site.`,
  table: ({ table }: { table: string }) => `table ${table}`,
  sourceOfFile: ({ source, file }: { source: Said; file: string }) => `${source} of ${file}`,
  rowTooLarge: ({ bytes, max }: { bytes: number; max: number }) =>
    `the row has ${bytes} bytes in the columns that are sent; a row of more than ${max} is not read`,
  recordTooLarge: ({ max }: { max: number }) => `the record is longer than ${max} characters`,
  recordTooDeep: ({ depthMax }: { depthMax: number }) => `the record is nested deeper than ${depthMax} levels`,
  notSendableNumber: ({ value }: { value: string }) => `${value} is no number that can be sent`,
  binaryData: "binary data cannot be sent",
  stoppedReading: "Stopped while rows were read.",
  endless: ({ name, source, seconds }: { name: string; source: Said; seconds: number }) =>
    `${name}: ${source} did not end within ${seconds} s and was stopped.`,
  correctQuery: ({ name }: { name: string }) =>
    `Correct imports.${name}: a recursion may run in a circle, or a join may lack its condition or an index. Nothing is sent meanwhile, and nothing is deleted on the site.`,
  guarded: ({ pending, live, name }: { pending: number; live: number; name: string }) =>
    `${pending} of ${counted(live, "row")} would go to zero or away. They wait; other rows go on. If that is right: erp-bridge approve ${name} --rows ${pending}`,
  rowsGuarded: ({ name }: { name: string }) => `${name}: rows that go to zero wait for approval.`,
  sourceEmpty: ({ source }: { source: Said }) =>
    `${source} is empty, and sending it whole would empty the site. Nothing is sent.`,
  formerRows: ({ name, rows }: { name: string; rows: number }) =>
    `${name}: ${counted(rows, "row")} on the site cannot be named by the new key. They wait for a person: erp-bridge approve ${name} --former list`,
  rekeyed: ({ name, columns }: { name: string; columns: readonly string[] }) =>
    `${name}: what was sent is kept by ${columns.join(", ")} now.`,
  sourceGrown: ({ name, source, rowsMax }: { name: string; source: Said; rowsMax: number }) =>
    `${name}: ${source} gives more than ${rowsMax} rows, twice as many as a moment ago.`,
  readAgain: "It is read again in the next pass. Nothing is deleted on the site meanwhile.",
  keyRepeated: ({
    name,
    repeatedMax,
    source,
    keys,
  }: {
    name: string;
    repeatedMax: number;
    source: Said;
    keys: readonly string[];
  }) => `${name}: more than ${repeatedMax} rows of ${source} share their key (${keys.join(", ")}).`,
  setUniqueKey: ({ name }: { name: string }) => `Set imports.${name}.key to columns that together name one row.`,
  notWal: ({ name, file }: { name: string; file: string }) =>
    `${name}: ${file} is not in WAL mode, so programs that write it wait while the bridge reads it. PRAGMA journal_mode = WAL ends that.`,
  wholeRefused: ({ path, words }: { path: string; words: string }) =>
    `POST ${path}: the service refuses the table as a whole (${words}).`,
  nothingSendable: ({ name }: { name: string }) =>
    `${name}: not one record of the whole table can be sent, so nothing is.`,
  countedShort: ({ name, size, said }: { name: string; size: number; said: string }) =>
    `${name}: the service has counted fewer than ${size} records as taken (${said}).`,
  formAdopted: ({ name }: { name: string }) =>
    `${name}: the service's new form of answer counts as an acceptance from now on.`,
  shortDoubted: ({ name }: { name: string }) =>
    `${name}: the service counts the records that it takes, and had counted fewer than were sent; what it has accepted since then is sent again.`,
  acceptancesDoubted: ({ name }: { name: string }) =>
    `${name}: the service was out of order although its answers looked like acceptances; what it has accepted since then is sent again.`,
  chunkLearned: ({ name, chunk }: { name: string; chunk: number }) =>
    `${name}: the service takes no more than ${chunk} of these records a request.`,
  notOrdinaryFile: "it is not a regular file",
  sourceLocked: ({ name, source }: { name: string; source: Said }) =>
    `${name}: another program holds the lock of ${source}.`,
  keepTransactionsShort: "The bridge tries again by itself; keep transactions of the ERP short.",
  readingSource: ({ source }: { source: Said }) => `Reading ${source}`,
  writerInterrupted: "the program that wrote it was interrupted in the middle of a change",
  /** `why` is a sentence. */
  sourceRefused: ({ name, source, why }: { name: string; source: Said; why: Said }) => `${name}: ${source}: ${why}`,
  sourceUnreadable: ({ name, source, why }: { name: string; source: Said; why: Said }) =>
    `${name}: ${source} cannot be read: ${why}.`,
  letWriterOpen:
    "A program that may write it must open it once, as the one that wrote it does when it starts. Nothing is sent meanwhile, and nothing is deleted on the site.",
  logWouldKeepOut: ({ rights }: { rights: Said }) =>
    `it is in WAL mode, no program has it open, and users who may write the file could not write the log that SQLite would make beside it (${rights})`,
  logKeepsOut: ({ file, rights }: { file: string; rights: Said }) =>
    `users who may write the file cannot write ${file}-wal or ${file}-shm, which belong to the user of erp-bridge (${rights})`,
  shareLog: SHARE_LOG,
  giveLogBack: ({ file }: { file: string }) =>
    `As root: chown -h --reference=${file} ${file}-wal ${file}-shm; never remove these. Then let the programs that write the file open it again. ${SHARE_LOG}`,
  correctFeed: ({ name }: { name: string }) =>
    `Correct imports.${name}. Nothing is sent meanwhile, and nothing is deleted on the site.`,
  grantReading: ({ name }: { name: string }) =>
    `Check imports.${name}.file. The user of erp-bridge needs the right to read the file, and its folder too where it is in WAL mode. Nothing is sent meanwhile, and nothing is deleted on the site.`,
  sourceDiskAway:
    "Its disk, or the machine that shares it, is out of reach. Nothing is sent meanwhile, and nothing is deleted on the site.",
  stoppedAtImages: "Stopped while looking at images.",
  folderUnanswered: ({ folder }: { folder: string }) => `The folder of the images ${folder} does not answer.`,
  folderDiskAway:
    "Its disk, or the machine that shares it, is out of reach. Nothing is sent meanwhile, and no image is refused.",
  isEmpty: "is empty",
  notImageName: "is neither an address nor the name of a file",
  onlyAddresses: "is no http(s) address, and only addresses are sent (imports.images.send: url)",
  onlyFiles: ({ send }: { send: string }) =>
    `is an address, which is never fetched; only files are sent (imports.images.send: ${send})`,
  notAddressNorFile: "is neither an http(s) address nor a file of the folder",
  notFileName: "is no name that a file can have",
  nameTooLong: "is longer than a file's name can be",
  outsideFolder: "lies outside the folder",
  upwards: "holds a step upwards (..)",
  namesFolder: "names a folder, not a file",
  fileTooLarge: ({ size, bytesMax }: { size: number; bytesMax: number }) =>
    `the file has ${size} bytes, more than bytes_max allows (${bytesMax})`,
  fileEmpty: "the file is empty",
  imagesFolder: ({ folder, why }: { folder: string; why: Said }) => `The folder of the images ${folder} ${why}.`,
  query: ({ name }: { name: string }) => `imports.${name}.query`,
  isNull: "is NULL",
  binaryNumber: "is no number (binary data)",
  notNumber: ({ value }: { value: string }) => `is no number (${value})`,
  firstUse: "first use",
  rulesChanged: "the configuration was changed",
  changesNotNoted: "changes were not noted before",
  theDatabase: "the database",
  columnsMissing: ({ name, source, columns }: { name: string; source: Said; columns: readonly string[] }) =>
    `${name}: ${source} has no column${columns.length > 1 ? "s" : ""} ${columns.join(", ")}.`,
  addColumns: ({ name, columns }: { name: string; columns: readonly string[] }) =>
    `Add the column${columns.length > 1 ? "s" : ""} ${columns.join(", ")}, or set imports.${name}.record, key and available to columns that there are.`,
  allRefused: ({ path, words }: { path: string; words: string }) =>
    `POST ${path}: every record that is tried is refused (${words}), so none is blamed.`,
  neverAccepted: ({ path, words, name }: { path: string; words: string; name: string }) =>
    `POST ${path}: every record that is tried is refused (${words}), so none is blamed; if the record is wrong, correct imports.${name}.`,
  answered: ({ path, what }: { path: string; what: Said }) => `POST ${path} was answered with ${what}.`,
  tableOpen: "what a request of the whole table has left on the site is unknown",
  outageAccepted: "the service's answers of an outage were taken for acceptances",
  shortAccepted: "answers that counted fewer records than were sent were taken for acceptances",
  noOpenSource: "no source is open",
  noSelect: "it is no SELECT",
  fileProblem: ({ problem }: { problem: Said }) => `the file ${problem}`,
  fileOfType: ({ type }: { type: string }) => `the file is ${type}, which types does not name`,
  fileIsText: "the file is text, not an image",
  fileIsPdf: "the file is a PDF, not an image",
  fileIsArchive: "the file is an archive, not an image",
  fileIsUnknown: "the file is no image that is known by its first bytes",
  fileNotRead: "A file of this request was not read.",
  notThere: "is not there",
  mayNotBeRead: "may not be read (permissions)",
  linkToNowhere: "is a link that leads nowhere",
  linkToOutside: "is a link that leads out of the folder",
  diskFails: "cannot be read (the disk fails)",
  isFolder: "is a folder",
  notOrdinary: "is not a regular file",
  beingWritten: "is being written",
  unreadable: ({ code }: { code: string }) => `cannot be read (${code})`,
  makeFolder: "Make it or mount it, or set imports.images.folder. Nothing is sent meanwhile, and no image is refused.",
};
