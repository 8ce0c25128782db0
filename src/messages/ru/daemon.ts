import type { daemon as en } from "../en/daemon.ts";

export const daemon = {
  notReloaded: ({ error }) => `Настройки не приняты, остаются прежние: ${error}`,
  running: "erp-bridge работает.",
  stopping: "Остановка: сначала завершаются начатые проходы.",
  stopped: "Остановлено.",
  accountTaken: ({ clientId, baseUrl }) => `Другой erp-bridge на этой машине работает с ${clientId} на ${baseUrl}.`,
  ownAccounts: "Они забирали бы заказы друг у друга: остановите один из них или дайте каждому свою учётную запись.",
  reloaded: "Настройки прочитаны заново и действуют.",
  filesBack: "Файлы базы снова на месте; служба начинает заново.",
  verifiesAnew: "Служба запускается заново и проверяет базу.",
  fileRemoved: ({ file }) => `${file}: файл удалён во время работы службы; служба запускается заново.`,
  databaseGone: ({ path }) => `База ${path} исчезла из своей папки.`,
  bringBack: "Верните её папку или копию командой erp-bridge restore.",
  filesGone: "Файлы базы исчезли из своей папки; ждём их возвращения.",
  heldSaved: ({ copy }) => `Всё, что было у службы, сохранено. Вернуть: erp-bridge restore ${copy}`,
  upgraded: "База приведена к новой версии; копия прежней сохранена.",
  hangs: ({ job }) => `${job} зависло: слишком долго нет продвижения. Сторож завершит программу.`,
  worksAgain: ({ job }) => `${job}: снова работает.`,
  passDone: ({ job, counts }) => `${job}: ${counts}.`,
  passFailed: ({ job, why }) => `${job}: ${why}.`,
  passFailedHeld: ({ job, why, area, reason }) => `${job}: ${why}; ${area}: остановлено (${reason}).`,
  heldSince: ({ area, since, reason, next }) =>
    `${area}: остановлено с ${since} (${reason}); ${next}: erp-bridge resume ${area}`,
  heldSinceBecause: ({ area, since, reason, why, next }) =>
    `${area}: остановлено с ${since} (${reason}): ${why}; ${next}: erp-bridge resume ${area}`,
  goesOnAfter: "продолжится после",
  nextTry: ({ at }) => `следующая попытка ${at}, или сразу`,
  stoppedInPass: "Остановлено посреди прохода.",
} satisfies typeof en;
