import type * as en from "../en/backup.ts";

export const backup = {
  writingJournal: ({ folder }) => `Запись журнала в ${folder}`,
  copyingTo: ({ target }) => `Копирование базы в ${target}`,
  makingCopy: ({ folder }) => `Создание копии в ${folder}`,
  copiedUnverified: ({ names }) =>
    `Скопированы, но не проверены, потому что нужное для этого есть только у ERP: ${names.join(", ")}.`,
  copyMade: ({ size }) => `Сделана проверенная копия базы (${size}).`,
  foreignCopies: ({ folder, names }) => `Копии базы другого магазина в ${folder} не тронуты: ${names.join(", ")}.`,
  misnamedCopies: ({ folder, newest }) =>
    `Больше всего в ${folder} содержит копия ${newest}, а в имени другой время позднее: часы шли неверно. Для восстановления нужна первая.`,
  freeSpace: "Освободите место, уменьшите backup.keep или укажите в backup.dir другой диск.",
  journalNotTidied: "Не удалось убрать старое из журнала.",
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
  copiesDiskGone: ({ folder }) =>
    `Диска каталога ${folder} нет: каталог оказался бы на диске базы, и копия там не создаётся.`,
  fixCopiesDisk: "Исправьте диск каталога backup.dir или укажите там другой каталог.",
  diskGone: "его диска нет; каталог оказался бы на диске базы",
  otherJournal: "там другой каталог, не тот, где лежал журнал: в нём нет его journal.id",
  fixJournal: "Исправьте диск каталога backup.journal, укажите там другой каталог или задайте backup.journal: null.",
  rowsNeedErp: ({ table }) => `${table}: нужное для записи есть только у ERP, остаются строки копии.`,
  notAskedFor: ({ free, folder }) =>
    `В ${folder} свободно только ${free}: новые заказы не запрашиваются, пока нет места.`,
  roomSoon: "Освободите место; программа продолжит сама.",
  roomAgain: "Место на диске снова есть; заказы запрашиваются.",
  lowSpace: ({ free, folder }) => `В ${folder} свободно только ${free}.`,
  noRoom: ({ needed, free, folder }) => `Для копии нужно ${needed}, а в ${folder} свободно ${free}.`,
  noRoomOnDisk: ({ needed, free, folder }) =>
    `Для копии нужно ${needed}, а в ${folder}, на диске самой базы, свободно ${free}.`,
} satisfies typeof en.backup;

export const restore = {
  nobodyToAsk: "restore заменяет базу, а спросить здесь некого.",
  sayYes: "Подтвердите параметром --yes.",
  goOn: "Продолжить? [y/N] ",
  nothingChanged: "Ничего не изменено.",
  unknownTime: "неизвестное время",
  replacesGone: ({ database, why }) =>
    `${database}: ${why}; полученное после копии вернуть нельзя, разве что из журнала.`,
  notReadInFull: "полностью не читается",
  hasOrders: ({ orders }) => `заказов в ней ${orders}`,
  atUnknownTime: "в неизвестное время",
  replacedDamaged: ({ database, damage }) => `${database} повреждена (${damage}): части данных в ней может не быть.`,
  carriesOver: "Недостающее в копии переносится из неё, таблицы ERP — такими, какие они в ней.",
  carriesLack: "Она ведёт начало не от той базы, с которой снята копия: переносится только недостающее в копии.",
  replacedIs: ({ replaced }) => `Заменённая база сохранена как ${replaced}.`,
  broughtOver: ({ carried }) => `Перенесено из неё: ${carried}.`,
  tornFiles: ({ torn }) =>
    `Журнальных файлов, оборванных на незаконченной записи: ${torn}; такая пачка не подтверждалась.`,
  complete: "Ничего не потеряно. Запустите службу: systemctl start erp-bridge",
  reopen: "Программы, у которых база была открыта, например ERP, должны открыть её заново.",
  verifying: ({ file }) => `Проверка ${file}`,
  noFile: ({ file }) => `Файла ${file} нет.`,
  copiesLie: "Копии лежат в backup.dir.",
  notFile: ({ file }) => `${file} не файл.`,
  isDatabase: ({ file }) => `${file} — это сама база.`,
  inUse: ({ file }) => `${file}: файл занят другим экземпляром erp-bridge.`,
  noRoom: ({ needed, free, database }) => `Для восстановления нужно ${needed}, а рядом с ${database} свободно ${free}.`,
  otherAccount: ({ id, url }) => `Копия принадлежит другой учётной записи (${id}, ${url}); ничего не изменено.`,
  useItsConfiguration: "Используйте настройки той учётной записи или укажите другую копию.",
  carrying: "Перенос недостающего в копии",
  verifyingResult: "Проверка результата",
  readingJournal: "Чтение журнала",
  entriesDamaged: ({ entries, orders }) =>
    `Повреждённых записей журнала, пачки которых могли быть подтверждены: ${entries}. Заказов, чьи номера там ещё видны и которые будут прочитаны у сервиса: ${orders}; остальных не хватает.`,
  journalDamaged: ({ file, at, size, orders }) =>
    `${file}: запись от ${at} повреждена (${size}); её пачка могла быть подтверждена. Заказов, которые из-за этого читаются у сервиса: ${orders}.`,
  journalForeign: ({ files }) => `Журнал другого магазина не тронут: ${files.join(", ")}.`,
  newerCopy: ({ file }) =>
    `В ${file} есть больше, чем в этой копии, что бы ни говорили имена и время: чтобы вернуть и это, восстановите её.`,
  journalOther: ({ folder }) =>
    `Журнал этой базы лежал не в том ${folder}, который там сейчас (в нём нет его journal.id): если его диск можно вернуть, верните его и восстановите ещё раз.`,
  journalUnseen: "Каталога, где лежал журнал, не было, и прочитать его не удалось.",
  restoredAt: ({ at, from }) => `Восстановлено ${at} из копии: ${from}.`,
  replaced: ({ why }) => `Заменённая база: ${why}.`,
  replacedForeign: "Заменённая база ведёт начало не от той, с которой снята копия.",
  replacedPartly: "Заменённую базу удалось прочитать лишь частично.",
  ordersMissing: ({ from, at }) =>
    `Заказы, выданные и подтверждённые между ${from} и ${at}, которых теперь нет в базе, больше не выдаются; из них вернутся только те, что изменятся.`,
  journalBrought: ({ batches, orders }) => `Журнал вернул пачек: ${batches}, заказов в них: ${orders}.`,
  ordersUnread: ({ count }) => `Там не прочитано заказов: ${count}; они читаются из сервиса.`,
  tablesUnread: ({ tables }) => `Перенесено не полностью: ${tables.join(", ")}.`,
  feedUnrestored: ({ feed, tables }) =>
    `${feed}: то, что читает выгрузка, перенести не удалось, данные могут быть такими же старыми, как копия (${tables.join(", ")}). Ничего не отправляется, пока их не сверят с ERP и не исправят; затем: erp-bridge resume ${feed} --hold unrestored`,
  openBefore: ({ text }) => `Осталось с прошлого раза: ${text}`,
  erpTablesOld:
    "Таблицы ERP могут быть такими же старыми, как копия. Сверьте заказы того времени на сайте с базой, дайте ERP записать свои таблицы, выполните erp-bridge sync reconcile, затем: erp-bridge resume orders --hold restored",
  resultDamaged: ({ found }) => `Восстановленная база оказалась повреждена (${found}); ничего не изменено.`,
  checkMachine: "Проверьте диск и память этой машины.",
  opener: ({ name, pid }) => `${name} (процесс ${pid})`,
  open: ({ database, openers }) => `${database}: база открыта в ${openers.join(", ")}; ничего не изменено.`,
  stopIt: "Остановите её, выполните восстановление и запустите снова: она должна открыть базу заново.",
  writtenMeanwhile: ({ database }) => `Тем временем другая программа записала в ${database}; ничего не изменено.`,
  stopErp: "Остановите запись из ERP на время восстановления и повторите.",
  copyMade: ({ file, size }) => `${file}: проверенная копия (${size}).`,
  notVerified: ({ names }) =>
    `Скопированы, но не проверены, потому что нужное для этого есть только у ERP: ${names.join(", ")}.`,
  databaseName: ({ target }) => `${target}: это имя принадлежит самой базе.`,
  otherName: "Выберите другое имя.",
  verifyingCopy: "Проверка копии",
  copyShows: ({ at, orders, last }) => `Копия показывает: ${at}; заказов: ${orders}, последний получен: ${last}.`,
  never: "никогда",
  replacedKept: ({ database, orders, at }) =>
    `${database}: ${orders}, последняя запись ${at}; база сохраняется под другим именем.`,
  restored: ({ database, at }) => `База ${database} восстановлена из копии: ${at}.`,
  fromJournal: ({ batches, orders }) => `Из журнала: пачек ${batches}, новых заказов в них ${orders}.`,
  journalPartly: ({ batches, orders, unread }) =>
    `Из журнала: пачек ${batches}, новых заказов в них ${orders}; пока не читаются: ${unread}.`,
  gap: ({ gap }) => `! ${gap}`,
  copying: "Копирование",
  gapAndSteps: ({ gap, steps }) => `${gap} ${steps}`,
  older: ({ file }) =>
    `${file} старше того, что уже подтверждено сервису: на место базы положили прежнюю копию, удалили её -wal или строки из неё.`,
  logSpoilt: ({ file }) =>
    `${file} или её -wal обрезали или перезаписали во время работы службы: последних изменений может не хватать, в том числе сделанных ERP.`,
  newerElsewhere: ({ file, place }) =>
    `${file} старше того, что от этой базы есть в ${place}: её папку или всю машину вернули в прежнее состояние.`,
  unnoted: ({ file }) =>
    `${file}: возможно, это прежняя копия: файла ${file}.progress нет, и ничто не подтверждает, что все заказы на месте.`,
  confirmedSince:
    "Подтверждённые с тех пор заказы, которых теперь нет в базе, больше не выдаются; из них вернутся только те, что изменятся.",
  newestComesBack: ({ copy }) =>
    `То, что есть в последней копии и в backup.journal, вернёт при остановленной службе команда erp-bridge restore ${copy}.`,
  compareNewest:
    "Сверьте последние заказы на сайте с базой, дайте ERP записать свои таблицы, выполните erp-bridge sync reconcile, затем: erp-bridge resume orders --hold restored",
  wasRestored: "восстановлена резервная копия",
} satisfies typeof en.restore;
