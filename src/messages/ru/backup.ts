import type { backup as en } from "../en/backup.ts";

export const backup = {
  writingJournal: ({ folder }) => `Запись журнала в ${folder}`,
  copyingTo: ({ target }) => `Копирование базы в ${target}`,
  makingCopy: ({ folder }) => `Создание копии в ${folder}`,
} satisfies typeof en;
