import type { Said } from "../message.ts";

export const check = {
  passed: ({ check, text }: { check: string; text: Said }) => `ok   ${check}: ${text}`,
  failed: ({ check, text }: { check: string; text: Said }) => `FAIL ${check}: ${text}`,
  lookingThrough: "Looking through the database",
  askingService: "Asking the service",
};
