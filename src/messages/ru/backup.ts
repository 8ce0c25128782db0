import type { backup as en } from "../en/backup.ts";

export const backup = {
  writingJournal: ({ folder }) => `Запись журнала в ${folder}`,
  copyingTo: ({ target }) => `Копирование базы в ${target}`,
  makingCopy: ({ folder }) => `Создание копии в ${folder}`,
  copiedUnverified: ({ names }) =>
    `Скопированы, но не проверены, потому что нужное для этого есть только у ERP: ${names.join(", ")}.`,
  copyMade: ({ size }) => `Сделана проверенная копия базы (${size}).`,
  foreignCopies: ({ folder, names }) => `Копии базы другого магазина в ${folder} не тронуты: ${names.join(", ")}.`,
  freeSpace: "Освободите место, уменьшите backup.keep или укажите в backup.dir другой диск.",
  journalNotTidied: "Не удалось убрать старое из журнала.",
  virtualTable: ({ table }) => `${table}: виртуальная таблица, остаётся та, что в копии.`,
  notMadeAgain: ({ type, name }) => `Не удалось создать заново: ${type} ${name}.`,
  fileExists: ({ file }) => `${file}: файл уже есть, а копия никогда ничего не перезаписывает.`,
  otherName: "Выберите другое имя.",
  noResult: "Копирование завершилось без результата.",
  copyDamaged: ({ found }) => `Копия отброшена, потому что она повреждена: ${found}.`,
  likelyDamaged: "Вероятно, повреждена сама база: выполните erp-bridge check и восстановите более раннюю копию.",
  copyBrokenOff: "Копирование прервано; от него ничего не осталось.",
  helperEnded: ({ why }) => `Процесс копирования завершился раньше времени (${why}).`,
  unreadable: "не читается",
  isEmpty: "база пуста",
  isGone: "базы нет",
  isUnreadable: ({ why }) => `база не читается (${why})`,
  notCopy: ({ file }) => `${file}: это не копия базы erp-bridge.`,
  nameCopy: "Укажите файл, созданный командой erp-bridge backup или службой (backup.dir).",
  damaged: ({ file, found }) => `${file}: файл повреждён (${found}); ничего не изменено.`,
  otherCopy: "Восстановите другую копию.",
  newerReplaced: ({ file }) =>
    `Файлом ${file} пользовалась более новая erp-bridge, поэтому эта ничего не может из него перенести; ничего не изменено.`,
  installNewer:
    "Лучше снова установить ту версию. Иначе сохраните файл и его -wal под другими именами и восстановите ещё раз: тогда не хватит всего, что получено после копии, кроме того, что есть в журнале.",
  otherAccount: ({ file }) => `Копия принадлежит другой учётной записи, чем ${file}; ничего не изменено.`,
  nameOwnCopy: "Укажите копию этой базы; если её нужно заменить базой другой учётной записи, сначала уберите её.",
  replacedDamaged: ({ found }) => `Заменённая база повреждена (${found}).`,
  noNote:
    "Рядом с ней нет её собственного файла .progress: ничто не показывает, что она сама не была более ранней копией.",
  logSpoilt: "Она или её -wal были усечены или перезаписаны.",
  noteAhead: "По её файлу .progress сохранено было больше, чем в ней есть.",
  historyAhead: ({ orders }) => `В её истории есть заказы, которых в ней самой нет: ${orders}.`,
  numbersAhead: ({ count }) => `По её номерам сохранено было больше: событий ${count}.`,
  batchesAhead: ({ orders }) => `По её пачкам сохранено было больше: заказов ${orders}.`,
  journalUnwritable: ({ folder, words }) =>
    `Журнал в ${folder} не записывается (${words}): пачки сохраняются, но не подтверждаются, пока запись невозможна.`,
  fixJournal: "Исправьте диск каталога backup.journal или задайте backup.journal: null.",
  rowsNeedErp: ({ table }) => `${table}: нужное для записи есть только у ERP, остаются строки копии.`,
  notAskedFor: ({ free, folder }) =>
    `В ${folder} свободно только ${free}: новые заказы не запрашиваются, пока нет места.`,
  roomSoon: "Освободите место; программа продолжит сама.",
  roomAgain: "Место на диске снова есть; заказы запрашиваются.",
  lowSpace: ({ free, folder }) => `В ${folder} свободно только ${free}.`,
  noRoom: ({ needed, free, folder }) => `Для копии нужно ${needed}, а в ${folder} свободно ${free}.`,
  noRoomOnDisk: ({ needed, free, folder }) =>
    `Для копии нужно ${needed}, а в ${folder}, на диске самой базы, свободно ${free}.`,
} satisfies typeof en;
