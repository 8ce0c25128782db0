import { counted } from "../counted.ts";
import type { Said } from "../message.ts";

export const health = {
  channelWorks: ({ name }: { name: string }) => `${name}: can be reached again.`,
  channelFails: ({ name, error }: { name: string; error: Said }) => `${name}: ${error} The flows go on.`,
  changesAtOnce: ({ count }: { count: number }) => `${counted(count, "change")} at once:`,
  testAlert: "This is a test: alerts of erp-bridge arrive here.",
  timesPutRight: "Times that this machine's clock had written while it was wrong were put right.",
  clockAgrees: "This machine's clock agrees with the service's again.",
  clockFar: "This machine's clock is far from the service's; times in the log and the status are wrong.",
  hadTriggers: "triggers of the ERP's were on the bridge's tables",
  noObjects: "No triggers or indexes of the ERP's stand on the bridge's tables any more.",
  objects: ({ names }: { names: string }) =>
    `Triggers or indexes of the ERP's stand on the bridge's tables, drop them: ${names}.`,
};
