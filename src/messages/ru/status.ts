import type { status as en } from "../en/status.ts";

export const status = {
  hold: ({ area, reason, detail }) => `остановлено: ${area} (${reason}): ${detail}`,
  byStatusOnly: ({ names }) => `${names.join(", ")}: приём виден только по коду ответа.`,
} satisfies typeof en;
