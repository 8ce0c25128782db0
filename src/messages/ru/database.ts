import type { database as en } from "../en/database.ts";
import { plural } from "../numbers.ts";

export const database = {
  puttingInPlace: "Установка восстановленной базы на место",
  opening: "Открытие базы",
  takingLock: "Захват блокировки экземпляра",
  lookingAtLock: "Проверка блокировки экземпляра",
  reading: "Чтение базы",
  writingBeside: "Запись рядом с базой",
  writing: "Запись в базу",
  lookingAt: "Проверка базы",
  creating: "Создание базы",
  migrating: "Перевод базы на новую версию",
  settingAside: "Переименование чужого журнала",
  readingStatus: "Чтение состояния",
  copyingBefore: ({ folder }) => `Копирование базы в ${folder} перед переводом на новую версию`,
  applying: ({ tag }) => `Применение миграции ${tag}`,
  copying: ({ file }) => `Копирование ${file}`,
  folderRights: ({ place, mode, owner, self }) => `каталог ${place}: права ${mode}, владелец ${owner}; ${self}`,
  fileRights: ({ place, mode, owner, self }) => `файл ${place}: права ${mode}, владелец ${owner}; ${self}`,
  unknownRights: ({ place, self }) => `каталог ${place} посмотреть не удалось; ${self}`,
  runsAs: ({ user }) => `программа работает от ${user}`,
  failed: ({ doing, text }) => `${doing}: ${text}.`,
  ownMadeAgain: ({ names }) =>
    `Триггеры, индексы или представления программы пропали или изменились, как бывает после пересоздания таблицы (${names.join(", ")}). Они созданы снова, и что ERP ещё предстоит забрать, определено заново.`,
  ownChanged: ({ names, words }) =>
    `Таблицы или представления программы пропали или изменены другой программой (${names}): ${words}.`,
  giveBack: "Чего не хватает и что делать: erp-bridge check.",
  swallowingTrigger: ({ objects }) =>
    `Триггер ERP отбрасывает строки в таблицах программы (RAISE(IGNORE)): ${objects}. Пока он есть, ничего не сохраняется и не подтверждается.`,
  quoteText: ({ statements }) =>
    `Удалите или создайте заново с текстом в одинарных кавычках: слово в двойных кавычках SQLite программы считает именем столбца. ${statements}`,
  dropIt: ({ statements }) => `Удалите: ${statements}`,
  erpObjects: ({ objects, words }) => `Мешает то, что ERP поставила на таблицы программы (${objects}): ${words}.`,
  pathEndsBlank: ({ path }) => `Путь к базе «${path}» заканчивается пробелом.`,
  fixPath: "Исправьте database.path.",
  folderMissing: ({ folder }) => `Каталога базы ${folder} нет.`,
  makeFolder: "Создайте каталог, принадлежащий пользователю erp-bridge, или исправьте database.path.",
  symbolicLink: ({ file }) => `${file}: это символическая ссылка.`,
  setTarget: "Укажите в database.path файл, на который она ведёт: два имени — две блокировки.",
  findMaker: "Выясните, кто это создал, и уберите.",
  notRegular: ({ file }) => `${file}: это не обычный файл.`,
  hardLinks: ({ file, names }) =>
    `${file}: у файла ${names} ${plural("ru", names, { one: "имя", few: "имени", many: "имён" })} (жёсткие ссылки).`,
  leaveOneName: "Оставьте одно имя: два имени — две блокировки.",
  networkDisk: ({ file, type, point }) =>
    `${file}: файл на сетевой файловой системе (${type}, ${point}), где блокировки SQLite не действуют.`,
  useOwnDisk: "Поместите базу на диск этой машины.",
  giveRights: "Дайте это право пользователю erp-bridge; SQLite пишет и рядом с файлом (-wal, -shm).",
  foreignFile: ({ file, names }) => `${file}: файл создан не erp-bridge и уже содержит ${names.join(", ")}.`,
  ownFileOrRename: "Укажите в database.path отдельный файл или переименуйте эти таблицы и представления.",
  bringBack: "Перезапустите erp-bridge; копию возвращает erp-bridge restore.",
  replaced: ({ file }) => `${file}: файл заменён или удалён во время работы программы.`,
  foreignJournal: ({ file }) =>
    `${file}-journal лежит рядом с базой и не относится к ней: другие программы не могут открыть базу, а SQLite записал бы этот файл поверх более новых данных.`,
  moveJournal:
    "Перенесите этот файл в другую папку, пока служба работает, или перезапустите erp-bridge: при запуске файл будет переименован.",
  lockNoFile: ({ file }) => `${file}: не отдельный файл, а ссылка, каталог или канал.`,
  removeIt: "Выясните, кто это создал, и удалите: erp-bridge создаст файл заново.",
  stopOther:
    "Сначала остановите его (systemctl stop erp-bridge) или используйте команду, которая работает рядом с ним.",
  reinstall: "Установите erp-bridge заново.",
  migrationDated: ({ tag, before }) => `${tag} датирована раньше, чем ${before}`,
  migrationsUnreadable: ({ folder, why }) => `Миграции в ${folder} не читаются: ${why}.`,
  newerBridge: "С базой работала более новая версия erp-bridge; ничего не изменено.",
  installNewer: "Установите ту версию снова или восстановите копию, сделанную перед её миграцией (…before-….db).",
  nothingChanged: ({ what }) => `${what}; ничего не изменено.`,
  installItsVersion: "Установите ту версию erp-bridge, которой создана база, или сообщите о повреждённом пакете.",
  unknownMigration: ({ at }) => `В базе есть миграция (${at}), неизвестная этой программе`,
  migrationWithout: ({ tag, other }) => `В базе есть миграция ${tag} без ${other}`,
  otherMigration: ({ tag }) => `Миграция ${tag} не та, что была применена к базе`,
  foreignDatabase: ({ file }) => `${file}: база принадлежит другой программе.`,
  ownFile: "Укажите в database.path отдельный файл.",
  copyDamaged: ({ file, found }) => `Копия, сделанная перед переводом ${file}, повреждена: ${found}.`,
  likelyDamaged: "Вероятно, повреждена сама база: выполните erp-bridge check, восстановите копию.",
  erpComplaints: ({ found }) =>
    `SQLite находит ошибки в объектах ERP: ${found}. Работе программы это не мешает; исправны ли они, покажет PRAGMA integrity_check в самой ERP: её функции и правила сравнения могут быть другими.`,
  migrationFailed: ({ tag, why }) => `Миграция ${tag} не удалась и отменена: ${why}.`,
  migrationEndsTransaction: ({ tag }) => `Миграция ${tag} завершает транзакцию, в которой выполняется.`,
  foreignKeysBroken: ({ broken }) => `Миграции нарушают внешние ключи (${broken}) и отменены.`,
  pragmaRefused: ({ file, pragma, value, actual }) => `${file}: не принимает ${pragma} = ${value} (сейчас ${actual}).`,
  closeOthers: "Закройте другие программы, работающие с базой, и повторите.",
  notDatabase: ({ file }) => `${file}: это не база SQLite или повреждена её первая страница.`,
  restoreIfRight: ({ copy }) =>
    `Проверьте database.path; если он верен, восстановите резервную копию: erp-bridge restore ${copy}`,
  logRemovedOpen: ({ file }) => `Журнал базы ${file} удалён, а база ещё открыта в другой программе.`,
  closeHolders:
    "Закройте программы, в которых она открыта (их назовёт lsof): они сохранят то, что у них есть. Никогда не удаляйте -wal и -shm.",
  waitForDaemon: "Повторите чуть позже: работающая служба сохраняет данные и запускается заново.",
  notOurs: ({ file }) => `${file}: это ещё не база erp-bridge.`,
  olderBridge: ({ file }) => `${file}: база создана более старой версией erp-bridge.`,
  makeWithInit: "Создайте её командой erp-bridge init.",
  startOnce: "Запустите один раз службу этой версии: она приведёт базу к новой версии.",
  formerVersion: ({ file }) => `${file}: базу использует erp-bridge прежней версии.`,
  restartDaemon: "Перезапустите службу (systemctl restart erp-bridge): она приведёт базу к новой версии.",
  missing: ({ file }) => `Базы ${file} нет.`,
  logWouldKeepOut: ({ file, rights }) =>
    `${file} в режиме WAL, ни одна программа её не открыла, и журнал, который SQLite создаст рядом, будет недоступен для записи тем, кто вправе писать в базу (${rights}).`,
  runAsWriter: "Выполните команду от пользователя службы или от root либо пока служба работает.",
  logKeepsOut: ({ file, rights }) =>
    `Те, кто вправе писать в ${file}, не могут писать в ${file}-wal или ${file}-shm: они принадлежат пользователю этой команды (${rights}).`,
  giveLogBack: ({ file }) => `От root: chown -h --reference=${file} ${file}-wal ${file}-shm; удалять их нельзя.`,
  initOrFix: "Создайте её командой erp-bridge init или исправьте database.path.",
  older: ({ file }) =>
    `${file} старше того, что уже подтверждено сервису: во время работы программы в базу загрузили прежнюю копию или удалили из неё строки.`,
  restartVerifies: "Перезапустите erp-bridge: сначала программа проверит базу.",
  overwritten: ({ file }) => `${file}: другая программа перезаписала базу во время работы программы.`,
  restartBringBack:
    "Перезапустите erp-bridge: сначала проверяется база. Возвращайте копию только командой erp-bridge restore.",
  logTruncated: ({ file }) => `${file}-wal обрезан другой программой; журнал начат заново.`,
  logSpoilt: ({ file }) =>
    `${file}-wal обрезан или перезаписан другой программой; то, что было только в нём, может быть потеряно.`,
  restartNeverTouch:
    "Перезапустите erp-bridge: сначала проверяется база. Никогда не трогайте -wal и -shm, в том числе через logrotate.",
  closeAndRestart:
    "Закройте другие программы, в которых открыта база, и перезапустите erp-bridge. Не трогайте -wal и -shm.",
  restoreInterrupted: ({ file }) => `Восстановление ${file} прервано во время замены файлов.`,
  finishRestore:
    "Запустите службу или снова erp-bridge restore: любое из двух завершит замену, и ничего не потеряется.",
  filesTaken: ({ file }) => `Файлы базы ${file} были убраны во время работы программы.`,
  heldSaved: ({ copy }) => `Данные сохранены. Если они не нужны, уберите этот файл, иначе: erp-bridge restore ${copy}`,
  notWritable: ({ file, rights }) => `${file}: нет права записи в файл или каталог (${rights}).`,
  notReadable: ({ file, rights }) => `${file}: нет права чтения файла или каталога (${rights}).`,
  earlierOne: "более ранней",
  inUse: ({ file }) => `С базой ${file} уже работает другой erp-bridge.`,
  inUseBy: ({ file, command, pid, since }) =>
    `С базой ${file} уже работает другой erp-bridge: ${command}, процесс ${pid}, с ${since}.`,
  logRemoved: ({ file }) => `Журнал базы ${file} удалён во время работы программы.`,
  logReplaced: ({ file }) => `Журнал базы ${file} заменён во время работы программы.`,
  gaveUp: "SQLite прервала транзакцию посередине.",
} satisfies typeof en;
