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
};
