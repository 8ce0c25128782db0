import type { check as en } from "../en/check.ts";

export const check = {
  passed: ({ check, text }) => `ok   ${check}: ${text}`,
  failed: ({ check, text }) => `СБОЙ ${check}: ${text}`,
  lookingThrough: "Проверка базы",
  askingService: "Опрос сервиса",
} satisfies typeof en;
