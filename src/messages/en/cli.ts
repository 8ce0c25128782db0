import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

/** What an approval does; that of the mirror also brings back stock that is higher in PostgreSQL. */
function wouldGo(name: string): string {
  return `would go to zero or away${name === "mirror" ? ", or get the higher stock that PostgreSQL has" : ""}`;
}

export const check = {
  passed: ({ check, text }: { check: string; text: Said }) => `ok   ${check}: ${text}`,
  failed: ({ check, text }: { check: string; text: Said }) => `FAIL ${check}: ${text}`,
  lookingThrough: "Looking through the database",
  askingService: "Asking the service",
  valid: ({ file }: { file: string }) => `${file} is valid`,
  erpObjects: ({ names }: { names: string }) =>
    `Triggers or indexes of the ERP's stand on the bridge's tables, drop them: ${names}.`,
  ownChanged: ({ names }: { names: string }) =>
    `Missing, or changed by another program: ${names}. The daemon makes views, triggers and indexes again; where a table has such a name, rename that table. Give tables of the bridge the columns and the primary key that they had: docs/dictionary.md.`,
  notThereYet: ({ file }: { file: string }) => `${file} does not exist yet and is made at the first start`,
  damaged: ({ file, found }: { file: string; found: string }) => `${file} is damaged (${found}).`,
  restoreBackup: "Restore a backup: erp-bridge restore FILE.",
  notWal: ({ source }: { source: string }) =>
    `${source} is not in WAL mode: programs that write it wait while it is read. Cure, once: PRAGMA journal_mode = WAL`,
  readable: ({ source }: { source: string }) => `${source} can be read`,
  nodeOld: ({ node, months }: { node: string; months: number }) =>
    `Node ${node} came with a package that is ${months} months old: install a newer one, for its security fixes`,
  freeIn: ({ free, folder }: { free: Said; folder: string }) => `${free} free in ${folder}`,
  fewFree: ({ free, folder }: { free: Said; folder: string }) => `only ${free} free in ${folder}`,
  notLooked: ({ folder, why }: { folder: string; why: Said }) => `${folder} cannot be looked at: ${why}`,
  noCopies: ({ folder, lacks }: { folder: string; lacks: Said }) => `${folder} ${lacks}; no copy can be kept there`,
  notFolder: "is not a folder",
  notWritable: "may not be written",
  noImages: ({ folder, lacks }: { folder: string; lacks: Said }) => `${folder} ${lacks}; no image is sent`,
  notReadable: "may not be read",
  sameAccount: ({ file }: { file: string }) =>
    `${file} names the same account: each instance would take the other's orders`,
  sameDatabase: ({ file, value }: { file: string; value: string }) => `${file} names the same database, ${value}`,
  samePort: ({ file, address }: { file: string; address: string }) =>
    `${file} listens on ${address} as well: only one of the two has a status page`,
  sameJournal: ({ file, folder }: { file: string; folder: string }) =>
    `${file} keeps its journal in ${folder} as well; give each instance a folder of its own`,
  sameCopies: ({ file, folder }: { file: string; folder: string }) =>
    `${file} keeps its copies in ${folder} as well; give each instance a folder of its own`,
  nothingShared: ({ names }: { names: readonly string[] }) =>
    `account, database, folders and port are shared with none of: ${names.join(", ")}`,
  pageOff: "switched off: no health, no metrics, no status page",
  addressFree: ({ address }: { address: string }) => `${address} is free`,
  addressTaken: ({ address, problem }: { address: string; problem: string }) =>
    problem === "EADDRINUSE"
      ? `another program listens on ${address}: there will be no status page; orders go on. Set http.listen to another port`
      : `${address} cannot be listened on (${problem}): there will be no status page; orders go on`,
  pageAnswers: ({ address }: { address: string }) => `the running bridge answers on http://${address}/`,
  pageSilent: ({ address, error }: { address: string; error: string }) =>
    `the running bridge cannot listen on ${address} (${error}); orders go on`,
  sound: ({ file }: { file: string }) => `${file} is sound`,
  soundAndRunning: ({ file }: { file: string }) => `${file} is sound; a bridge is running on it`,
  node: ({ node }: { node: string }) => `Node ${node}`,
  nodeAdvisory: ({ node, advisory }: { node: string; advisory: string }) =>
    `Node ${node}; ${advisory} is known against it, in a part that is never used here`,
};

export const command = {
  setMirrorUrl: "Set mirror.url or mirror.url_file in the configuration.",
  configOrInstance: "--config and --instance exclude each other.",
  instanceName: "An instance's name holds letters, digits, . _ and - only.",
  noDatabase: ({ file }: { file: string }) => `There is no database at ${file} yet.`,
  databaseMade: "It is made at the first erp-bridge run or erp-bridge sync.",
  unknownWord: ({ what, word }: { what: Said; word: string }) => `There is no ${what} ${word}.`,
  known: ({ names }: { names: readonly string[] }) => `Known: ${names.join(", ")}`,
  didYouMean: ({ name }: { name: string }) => `Did you mean ${name}?`,
  validNoDatabase: ({ file, database }: { file: string; database: string }) =>
    `${file} is valid; there is no database at ${database} yet, so a running daemon would not take it over`,
  stopped: "Stopped; nothing more was done.",
  outputLost: ({ what, fault }: { what: Said; fault: string }) =>
    `Results could not be written to standard output, or not all of them: ${what} (${fault}). What the command did is not affected.`,
  notAccepted: "it takes nothing more",
  areaOrFeed: "area or feed",
  guardWaits: ({ area, command }: { area: string; command: string }) =>
    `${area}: the guard waits for approval: ${command}`,
  holdStays: ({ area, reason, states, command }: { area: string; reason: string; states: Said; command: string }) =>
    `${area}: "${reason}" stays. To lift it states ${states}; then: ${command}`,
  nothingHeld: ({ area }: { area: string }) => `${area}: nothing was held.`,
  lostSince: ({ area, at, command }: { area: string; at: string; command: string }) =>
    `${area}: another answer of GET /orders was lost at ${at}, after this hold began. Compare the orders since then as well, and give the command again: ${command}`,
  moreForms: ({ area, items, command }: { area: string; items: readonly string[]; command: string }) =>
    `${area}: the service answers unusually in more than one way, and not all of it may have been shown: ${items.join("; ")}. Nothing was changed. If these are all acceptances, or mean nothing, give the command again: ${command}`,
  usualNow: ({ area, items }: { area: string; items: readonly string[] }) =>
    `${area}: usual from now on: ${items.join("; ")}.`,
  givenUp: ({ area, from, to }: { area: string; from: string; to: string }) =>
    `${area}: confirms do not wait any more for the answers of GET /orders that were lost ${from === to ? `at ${from}` : `from ${from} to ${to}`}.`,
  noHold: ({ area, hold }: { area: string; hold: string }) => `${area}: no hold "${hold}" stands.`,
  observationsRead: ({ names }: { names: readonly string[] }) =>
    `observations: not shown any more (${names.join(", ")}).`,
  moreNoticed: ({ names, command }: { names: readonly string[]; command: string }) =>
    `observations: noticed at different times, so that not all may have been shown: ${names.join(", ")}. Nothing was changed. If you have seen all of it, give the command again: ${command}`,
  moreConfirms: ({ names, command }: { names: readonly string[]; command: string }) =>
    `confirms: more than one waits for a decision, so that not all may have been shown: ${names.join(", ")}. Nothing was changed. If you have compared all of them with the site, give the command again: ${command}`,
  confirmsSettled: ({ names }: { names: readonly string[] }) =>
    `confirms: settled (${names.join(", ")}). A batch that the service delivers again is confirmed again.`,
  nothingWaits: ({ name }: { name: string }) => `${name}: nothing waits for approval.`,
  formerDecision: "decision about rows of a former key",
  noFormer: ({ name }: { name: string }) =>
    `${name}: nothing was sent under a former key that the present one does not name.`,
  formerRow: ({ key, record, state }: { key: string; record: string; state: Said }) => `${key}  ${state}  ${record}`,
  formerState: ({ state }: { state: "waiting" | "away" | "gone" | "kept" }) =>
    ({
      waiting: "waits for a person",
      away: "not in the source, goes after delete_after",
      gone: "goes with the next pass",
      kept: "stays on the site",
    })[state],
  formerWays: ({ name }: { name: string }) =>
    `Take those that wait off sale: erp-bridge approve ${name} --former gone. Leave them on the site as they are: erp-bridge approve ${name} --former keep. Under the former key they are distinguished again.`,
  formerKept: ({ name, rows }: { name: string; rows: number }) =>
    `${name}: ${counted(rows, "row")} of a former key stay on the site as they are.`,
  job: "job",
  feed: "feed",
  hold: "hold",
  letGo: ({ name, rows }: { name: string; rows: number }) =>
    `${name}: ${counted(rows, "row")} ${wouldGo(name)}. Let them go? [y/N] `,
  notLetGo: ({ name, waiting, command }: { name: string; waiting: number; command: string }) =>
    `${name}: ${counted(waiting, "row")} ${wouldGo(name)}, and none was let through. If that is right: ${command}`,
  moreThanShown: ({
    name,
    shown,
    waiting,
    command,
  }: {
    name: string;
    shown: number;
    waiting: number;
    command: string;
  }) =>
    `${name}: ${counted(shown, "row")} ${shown === 1 ? "was" : "were"} shown, ${waiting} wait by now, and none was let through. If that is right: ${command}`,
  othersThanShown: ({
    name,
    waiting,
    look,
    command,
  }: {
    name: string;
    waiting: number;
    look: string;
    command: string;
  }) =>
    `${name}: ${counted(waiting, "row")} would go to zero or away, among them rows that began to wait after that number was shown. None was let through. See which they are: ${look}. If that is right, give the command again: ${command}`,
  laterFormer: ({ name, waiting, look, command }: { name: string; waiting: number; look: string; command: string }) =>
    `${name}: ${counted(waiting, "row")} began to wait at different times, so that not all may have been shown. Nothing was decided. See which they are: ${look}. If that is right for all of them, give the command again: ${command}`,
  sentNow: ({ name, rows }: { name: string; rows: number }) =>
    `${name}: ${counted(rows, "row")} may go; the daemon sends them now.`,
  sentNextPass: ({ name, rows }: { name: string; rows: number }) =>
    `${name}: ${counted(rows, "row")} may go at the next pass.`,
  triedNow: ({ area, reasons }: { area: string; reasons: readonly string[] }) =>
    `${area}: goes on (${reasons.join(", ")}); the daemon tries now.`,
  goesOn: ({ area, reasons }: { area: string; reasons: readonly string[] }) =>
    `${area}: goes on (${reasons.join(", ")}).`,
  nothingAccepted: ({ url, id }: { url: string; id: string }) =>
    `What ${url} has accepted (as ${id}) does not count here: from the next start on, every row of the feeds is sent again.`,
  leftUnconfirmed: ({ batches, url }: { batches: number; url: string }) =>
    `${counted(batches, "batch", "batches")} of ${url} not confirmed yet: stored here, and confirmed only there, once this database goes back to it. Nothing of it is sent to the new address unless that serves it too.`,
  confirmedNow: ({ batches }: { batches: number }) =>
    `${counted(batches, "batch", "batches")} that this address served before, not confirmed then: confirmed from the next start on.`,
  changesFrom: ({ position }: { position: string }) =>
    `Changes are asked for from ${position} on, and once from well before.`,
  readAgain: ({ orders }: { orders: number }) =>
    `${counted(orders, "order")} whose status was sent elsewhere meanwhile: read again.`,
  comparedAtStart: "Orders are compared with the service at the next start.",
  reloadForAccount:
    "A daemon that runs asks the former address nothing more, and the new one from: systemctl reload erp-bridge",
};

export const init = {
  fitted: ({ lines }: { lines: string }) =>
    `The service's answers differ from the defaults; the configuration says so:\n\n${lines}\n`,
  askAddress: "Address of the service: ",
  askClientId: "Client ID: ",
  askDatabase: ({ standard }: { standard: string }) => `Database file [${standard}]: `,
  askAlerts: "Where do alerts go? A webhook address, the path of a program, or nothing: ",
  neitherAddressNorProgram: "is neither an address nor a program that is there",
  missing: "is missing",
  nobodyToAsk: ({ wrong }: { wrong: readonly string[] }) =>
    `Nobody can be asked here, and not everything is given: ${wrong.join("; ")}.`,
  giveWhatIsMissing: ({ variable }: { variable: string }) =>
    `Give what is missing, or run erp-bridge init on a terminal. The secret comes from ${variable}, standard input or its file.`,
  secretFileProblem: ({ problem }: { problem: Said }) => `--client-secret-file ${problem}`,
  secretMissing: "the client secret is missing",
  pipedSecret: "the client secret on standard input",
  needed: "is needed",
  tooOften: "That was asked often enough; nothing was written.",
  askSecret: "Client Secret (not shown): ",
  askSecretAgain: ({ file }: { file: string }) => `Client Secret (not shown) [the one in ${file}]: `,
  optionProblem: ({ option, problem }: { option: string; problem: Said }) => `${option} ${problem}`,
  answerProblem: ({ answer, problem }: { answer: string; problem: Said }) => `  "${answer}" ${problem}`,
  secretProblem: ({ problem }: { problem: Said }) => `  the secret ${problem}`,
  sendingTest: "Sending a test message",
  alreadyThere: ({ file }: { file: string }) => `${file} is there already; nothing was changed.`,
  tryIt: ({ flag }: { flag: string }) =>
    `Try it with: erp-bridge check --online${flag}. With --force the old one is kept beside the new one.`,
  credentialsAgain: "Type the credentials again? [Y/n] ",
  addressAgain: "Type the address again? [Y/n] ",
  notReplaced: ({ name }: { name: string }) => `${name} is there already and was not changed.`,
  nameSecretFile:
    "Name it with --client-secret-file and give no other secret, or keep it beside a new one with --force.",
  notWritten: ({ name, code }: { name: string; code: string }) => `${name} could not be written (${code}).`,
  runAsOwner: "Run erp-bridge init as the user who may write there, or choose another place with --config.",
  madeConfig: ({ file }: { file: string }) => `Configuration: ${file}`,
  kept: ({ name }: { name: string }) => `Kept:          ${name}`,
  alertTaken: ({ channel }: { channel: string }) => `ok   alerts: the ${channel} took a test message`,
  alertFailed: ({ channel, error }: { channel: string; error: Said }) => `FAIL alerts: the ${channel}: ${error}`,
  next: ({ next }: { next: string }) => `Next: ${next}`,
  nextWhenRight: ({ next }: { next: string }) => `When that is corrected: ${next}`,
  secretAsItWas: ({ secretFile }: { secretFile: string }) => `Client secret: ${secretFile} (as it was)`,
  secretMade: ({ secretFile }: { secretFile: string }) => `Client secret: ${secretFile} (readable by its owner alone)`,
  databaseMade: ({ database }: { database: string }) => `Database:      ${database} (empty)`,
  databaseThere: ({ database }: { database: string }) => `Database:      ${database} (it was there already)`,
};

/** The progress of a long command. */
export const progress = {
  /** Before a step that blocks the whole process. */
  next: ({ what }: { what: string }) => `${what} …`,
  /** As a line of its own where the output is not a terminal. */
  step: ({ what }: { what: Said }) => `${what}…`,
  working: ({ what, time }: { what: string; time: Said }) => `${what}, ${time} …`,
  far: ({ what, parts }: { what: string; parts: readonly string[] }) => `${what}: ${parts.join(", ")}`,
  done: ({ done, unit }: { done: number; unit: Said }) => `${done} ${unit}`,
  doneOf: ({ done, total, unit }: { done: number; total: number; unit: Said }) => `${done} of ${total} ${unit}`,
  orders: "orders",
  ordersToRead: "orders to read",
  ordersCompared: "orders compared",
  payloadsSeen: "payloads looked at",
  records: "records",
  requests: "requests",
  rows: "rows",
  rowsCompared: "rows compared",
  megabytes: "MB",
  rate: ({ rate }: { rate: string }) => `${rate}/s`,
  left: ({ time }: { time: Said }) => `${time} left`,
};

export const sync = {
  next: ({ command }: { command: string }) => `Next: ${command}`,
  noRow: ({ only }: { only: string }) => `${only}: neither the table nor the service has it.`,
  switchedOff: ({ job }: { job: string }) => `${job} is switched off.`,
  setPath: "Set its path in the configuration.",
  onlyNeedsFeed: "--only KEY needs the name of one feed before it.",
  onlyExample: "For example: erp-bridge sync stocks --only A-1",
  sentWhole: ({ feed }: { feed: string }) => `${feed} is sent whole with every request (imports.${feed}.scope).`,
  sendsTable: ({ feed }: { feed: string }) => `erp-bridge sync ${feed} sends the table.`,
  againNeedsFeeds: "--again needs the names of feeds before it, and neither --only nor --dry-run.",
  againExample: "For example: erp-bridge sync stocks prices --again",
  neverAccepted: "never accepted",
  onSite: ({ sentAt, sent }: { sentAt: string; sent: string }) => `on the site since ${sentAt}: ${sent}`,
  stopping: "Stopping after the request under way; once more to leave at once.",
  asking: "A daemon is running; asking it.",
  notTaken: "The daemon has not taken the request.",
  seeWhy: "erp-bridge status, and the daemon's log, say why.",
  daemonEnded: "The daemon ended before it had done everything that was asked.",
  askAgain: "What it did is stored; ask again.",
  olderNeedsUpdates: "--since and --orders stand with updates alone.",
  sinceExample: "For example: erp-bridge sync updates --since 2026-01-01",
  haveRead: ({ since }: { since: string }) =>
    `Changes since ${since} have been read: what was new or different in them is stored.`,
  stillReading: ({ since }: { since: string }) =>
    `Changes since ${since} are not all read yet: the next passes of updates go on.`,
  noTime: ({ text }: { text: string }) => `--since ${text}: no time, or one that is still to come.`,
  listUnread: ({ file, problem }: { file: string; problem: Said }) => `--orders ${file}: ${problem}`,
  listEmpty: ({ file }: { file: string }) => `--orders ${file}: no order is named in it.`,
  pullFirst: "Nothing was pulled yet: what comes first must be stored and confirmed before older orders are read.",
  pullFirstHow: "Pull first: erp-bridge sync orders",
  numbersUnknown: ({ count, names }: { count: number; names: readonly string[] }) =>
    `${counted(count, "number")} of no stored order (${names.join(", ")}): the service finds orders by their ids only; name those.`,
  nothingToSend: "Nothing would be sent.",
  heldNow: ({ job, reason }: { job: string; reason: string }) =>
    `${job}: held (${reason}), so nothing of it would go now.`,
  guardWouldHold: ({ job, rows }: { job: string; rows: number }) =>
    `${job}: ${counted(rows, "row")} to go to zero or away; the guard would hold that for approve.`,
  daemonHasOther: ({ feed }: { feed: string }) =>
    `The running daemon has another configuration: imports.${feed}.key was changed since.`,
  reloadFirst: "Have the daemon take it over: systemctl reload erp-bridge",
  severalRows: ({ only, feed, names }: { only: string; feed: string; names: readonly string[] }) =>
    `${only} may be any of these rows of ${feed}: ${names.join(", ")}.`,
  nameOneRow: ({ feed, row }: { feed: string; row: string }) =>
    `Name one of them so: erp-bridge sync ${feed} --only ${row}`,
  namelessRow: "cannot be sent: nothing names the row",
  fileNotLooked: "its file was not looked at yet",
  unsendable: ({ reason }: { reason: Said }) => `cannot be sent: ${reason}`,
  answerUnknown: "sent, answer unknown",
  notKnownThere: "not known to be there any more",
  statusUnknown: "sent, answer unknown: the order is read first",
  storedTried: ({ tries }: { tries: number }) => `stored, tried ${counted(tries, "time")}`,
  namedAt: ({ place }: { place: string }) => `It is named in ${place}.`,
  namedNear: ({ place, near }: { place: string; near: string }) => `It is named in ${place}; did you mean "${near}"?`,
  refused: ({ why }: { why: Said }) => `refused: ${why}`,
  gone: "gone",
  new: "new",
  changed: "changed",
  requested: "requested",
  stored: "stored",
  nothing: "nothing",
  again: ({ record }: { record: string }) => `${record} again`,
  held: ({ area, reason }: { area: string; reason: string }) => `${area}: held (${reason})`,
  heldBecause: ({ area, reason, detail }: { area: string; reason: string; detail: Said }) =>
    `${area}: held (${reason}): ${detail}`,
  rowStands: ({ only, state, site }: { only: string; state: string; site: Said }) => `${only}: ${state}; ${site}`,
  heldBack: ({ job, why }: { job: string; why: Said }) => `${job}: ${why}.`,
  endedBecause: ({ job, outcome, why }: { job: string; outcome: string; why: Said }) => `${job}: ${outcome}: ${why}.`,
  failed: "failed",
  stopped: "stopped",
  asked: "a person's request",
};
