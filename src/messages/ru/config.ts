import type { config as en } from "../en/config.ts";

export const config = {
  more: ({ count }) => `и ещё ${count}`,
} satisfies typeof en;
