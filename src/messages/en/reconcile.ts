import { counted } from "../counted.ts";

export const reconcile = {
  checked: ({ checked, differ, more }: { checked: number; differ: number; more: readonly string[] }) =>
    `reconcile: ${[`${counted(checked, "order")} checked`, counted(differ, "differs", "differ"), ...more].join(", ")}.`,
  unknown: ({ n }: { n: number }) => `${n} unknown to the service`,
  returned: ({ n }: { n: number }) => `${n} returned`,
  unread: ({ n }: { n: number }) => `${n} could not be read`,
  payloads: ({ looked, damaged }: { looked: number; damaged: number }) =>
    `${counted(looked, "stored payload")} looked at, ${damaged} damaged`,
  healed: ({ n }: { n: number }) => `${n} healed`,
  damagedFound: ({ count }: { count: number }) =>
    `${counted(count, "damaged payload")} found; the orders are read again. Check the disk.`,
  payloadDiffers: "the stored payload is not what was stored (its hash does not match)",
};
