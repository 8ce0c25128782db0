import { counted } from "../counted.ts";
import type { Said } from "../message.ts";

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
  succeeded: ({ ago }: { ago: Said }) => `Succeeded ${ago} ago.`,
  waiting: ({ n }: { n: number }) => `${n} waiting.`,
  refused: ({ n }: { n: number }) => `${n} refused, tried again.`,
  quarantined: ({ n }: { n: number }) => `${n} in quarantine.`,
  onSite: ({ ago }: { ago: Said }) => `On the site as of ${ago} ago.`,
  erpSilent: ({ n }: { n: number }) => `The ERP has not written its table for ${n} h.`,
};
