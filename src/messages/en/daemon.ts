import type { Said } from "../message.ts";

export const daemon = {
  notReloaded: ({ error }: { error: Said }) => `The configuration was not taken over, the old one stays: ${error}`,
  running: "erp-bridge is running.",
  stopping: "Stopping: passes under way are finished first.",
  stopped: "Stopped.",
  accountTaken: ({ clientId, baseUrl }: { clientId: string; baseUrl: string }) =>
    `Another erp-bridge of this machine works for ${clientId} at ${baseUrl}.`,
  ownAccounts: "Each would take the other's orders: stop one of them, or give each an account of its own.",
  reloaded: "The configuration was read again and is in force.",
  filesBack: "The database's files are back; the daemon begins anew.",
  verifiesAnew: "The daemon begins anew and verifies the database.",
  fileRemoved: ({ file }: { file: string }) =>
    `${file} was removed while the daemon was running; the daemon begins anew.`,
  databaseGone: ({ path }: { path: string }) => `The database ${path} is gone from its folder.`,
  bringBack: "Bring its folder back, or a copy with erp-bridge restore.",
  filesGone: "The database's files are gone from their folder; waiting for them.",
  heldSaved: ({ copy }: { copy: string }) =>
    `What the daemon held is saved. Bring it back with: erp-bridge restore ${copy}`,
  upgraded: "The database was brought up to date; a copy of it as it was is kept.",
  hangs: ({ job }: { job: string }) => `${job} hangs: it has not got on for too long. The watchdog ends the program.`,
  worksAgain: ({ job }: { job: string }) => `${job}: works again.`,
  passDone: ({ job, counts }: { job: string; counts: Said }) => `${job}: ${counts}.`,
  passFailed: ({ job, why }: { job: string; why: Said }) => `${job}: ${why}.`,
  passFailedHeld: ({ job, why, area, reason }: { job: string; why: Said; area: string; reason: string }) =>
    `${job}: ${why}; ${area} held (${reason}).`,
  heldSince: ({ area, since, reason, next }: { area: string; since: string; reason: string; next: Said }) =>
    `${area} held since ${since} (${reason}); ${next}: erp-bridge resume ${area}`,
  heldSinceBecause: ({
    area,
    since,
    reason,
    why,
    next,
  }: {
    area: string;
    since: string;
    reason: string;
    why: Said;
    next: Said;
  }) => `${area} held since ${since} (${reason}): ${why}; ${next}: erp-bridge resume ${area}`,
  goesOnAfter: "goes on after",
  nextTry: ({ at }: { at: string }) => `next try ${at}, or at once`,
  stoppedInPass: "Stopped in the middle of a pass.",
  otherAccount: ({ path, id, url }: { path: string; id: string; url: string }) =>
    `The database ${path} belongs to another account (${id} at ${url}).`,
  ownDatabase:
    "Use a database of its own for each account; if it is the same shop under a new address: erp-bridge resume account",
  reloadForAccount:
    "It was given to that account while this daemon works for the former one: systemctl reload erp-bridge",
  journalAside: ({ path, aside }: { path: string; aside: string }) =>
    `A file ${path}-journal that is not of the database lay beside it; it is called ${aside} now.`,
  newCredentials: "The credentials were changed: the service is asked again at once.",
  newMapping: "The mapping of orders was changed; stored orders are corrected by: erp-bridge remap",
  notSwitchedOn: ({ name }: { name: string }) => `${name} is not switched on.`,
  setPath: ({ name }: { name: string }) => `Set the path of ${name} in the configuration.`,
  nightlyComparison: "the nightly comparison",
  damaged: ({ file, found }: { file: string; found: string }) => `${file} is damaged (${found}).`,
  restoreNewest: ({ copy }: { copy: string }) =>
    `Restore the newest copy; what came since is brought over from the damaged file and from backup.journal: erp-bridge restore ${copy}`,
  noTables: ({ tables }: { tables: readonly string[] }) => `no table ${tables.join(", ")}`,
  mayLackSent: "the database may lack what was sent",
  missing: ({ file }: { file: string }) => `The database ${file} is gone, and there was one before.`,
  madeByOther: ({ file }: { file: string }) =>
    `There was a database before, and ${file} is not it: another program has made this file, as the first one does that opens a database that is gone.`,
  bringCopy: ({ copy }: { copy: string }) =>
    `Correct database.path. If it is right, erp-bridge restore ${copy} brings back a copy, and erp-bridge init --force begins anew without its orders.`,
  copyName: "FILE",
  historyStays: "Old history stays, because the service does not confirm this machine's time.",
  formerMapping: "The running daemon still reads orders with the former mapping.",
  reloadFirst: "Let it read the configuration again first: systemctl reload erp-bridge; then run remap.",
  notPrepared: ({ name }: { name: string }) => `${name}: could not be prepared.`,
  accountMoved: "the account has another address or client id",
};
