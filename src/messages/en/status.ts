import type { Said } from "../message.ts";

export const status = {
  hold: ({ area, reason, detail }: { area: string; reason: string; detail: Said }) =>
    `hold: ${area} (${reason}): ${detail}`,
  byStatusOnly: ({ names }: { names: readonly string[] }) => `${names.join(", ")}: accepted by status code only.`,
};
