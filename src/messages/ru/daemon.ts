import type { daemon as en } from "../en/daemon.ts";

export const daemon = {
  notReloaded: ({ error }) => `Настройки не приняты, остаются прежние: ${error}`,
} satisfies typeof en;
