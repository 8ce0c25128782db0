import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

export const health = {
  channelWorks: ({ name }: { name: string }) => `${name}: can be reached again.`,
  channelFails: ({ name, error }: { name: string; error: Said }) => `${name}: ${error} The flows go on.`,
  changesAtOnce: ({ count }: { count: number }) => `${counted(count, "change")} at once:`,
  alertsMissed: ({ since }: { since: string }) => `Alerts arrive here again; since ${since} they could not be sent.`,
  testAlert: "This is a test: alerts of erp-bridge arrive here.",
  timesPutRight: "Times that this machine's clock had written while it was wrong were corrected.",
  clockAgrees: "This machine's clock agrees with the service's again.",
  clockFar: "This machine's clock is far from the service's; times in the log and the status are wrong.",
  hadTriggers: "triggers of the ERP's were on the bridge's tables",
  noObjects: "No triggers or indexes of the ERP's stand on the bridge's tables any more.",
  objects: ({ names }: { names: string }) =>
    `Triggers or indexes of the ERP's stand on the bridge's tables, drop them: ${names}.`,
};

export const status = {
  hold: ({ area, reason, detail }: { area: string; reason: string; detail: Said }) =>
    `hold: ${area} (${reason}): ${detail}`,
  byStatusOnly: ({ names }: { names: readonly string[] }) => `${names.join(", ")}: accepted by status code only.`,
  erpTookAll: "The ERP has taken every order.",
  erpWaiting: ({ n, minutes }: { n: number; minutes: number }) =>
    `${counted(n, "order")} not yet taken by the ERP, the oldest for ${minutes} min.`,
  erpBlocked: ({ n }: { n: number }) => `${n} blocked by the ERP.`,
  switchedOff: "Switched off.",
  held: ({ reasons }: { reasons: string }) => `Held (${reasons}).`,
  failingSince: ({ at }: { at: string }) => `Failing since ${at}.`,
  neverSucceeded: "Has not succeeded yet.",
  hours: ({ n }: { n: number }) => `${n} h`,
  succeeded: ({ ago }: { ago: Said }) => `Succeeded ${ago} ago.`,
  waiting: ({ n }: { n: number }) => `${n} waiting.`,
  refused: ({ n }: { n: number }) => `${n} refused, tried again.`,
  quarantined: ({ n }: { n: number }) => `${n} in quarantine.`,
  onSite: ({ ago }: { ago: Said }) => `On the site as of ${ago} ago.`,
  erpSilent: ({ n }: { n: number }) => `The ERP has not written its table for ${n} h.`,
};
