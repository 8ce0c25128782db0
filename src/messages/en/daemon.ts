import type { Said } from "../message.ts";

export const daemon = {
  notReloaded: ({ error }: { error: Said }) => `The configuration was not taken over, the old one stays: ${error}`,
};
