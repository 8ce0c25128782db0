import type { feeds as en } from "../en/feeds.ts";
import { plural } from "../numbers.ts";

const SHARE_LOG =
  "Объедините обоих пользователей одной группой: chgrp GROUP для файла и его папки, chmod 660 для файла, chmod g+s для папки, umask 007 в пишущих программах. Пока файл открыт одной из них, он читается в любом случае. Пока ничего не отправляется и на сайте ничего не удаляется.";

export const feeds = {
  keyIsNull: ({ columns }) => `${columns.join(", ")}: ключ равен NULL`,
  keyIsBinary: ({ columns }) => `${columns.join(", ")}: ключ — двоичные данные или неверный текст`,
  keyNotUnique: ({ columns }) => `такой ключ у двух строк (${columns.join(", ")})`,
  keysStayDirty: ({ name }) =>
    `${name}: ключи, отмеченные как изменённые, не удаляются из feed_dirty и читаются заново при каждом проходе.`,
  sourceWell: ({ name, source }) => `${name}: ${source}: снова в порядке.`,
  writesUnseen: ({ name, source }) =>
    `${name}: ${source}: видны только значения, а не время записи ERP: erp.write_within.${name} не действует.`,
  comparesAll: ({ name }) => `${name}: сверяются все строки.`,
  changesNoted: ({ name, table }) => `${name}: изменения ${table} теперь отмечаются.`,
  notErpTable: ({ name, table }) => `${name}: ${table} не таблица и не представление ERP.`,
  setErpTable: ({ name }) =>
    `Укажите в imports.${name}.table таблицу или представление ERP. Пока ничего не отправляется и на сайте ничего не удаляется.`,
  noTable: ({ name, table, place }) => `${name}: таблицы ${table} нет в ${place}.`,
  makeTable: ({ name }) =>
    `Создайте таблицу заново или задайте imports.${name}.table. Пока ничего не отправляется и на сайте ничего не удаляется.`,
  table: ({ table }) => `таблица ${table}`,
  sourceOfFile: ({ source, file }) => `${source} из ${file}`,
  rowTooLarge: ({ bytes, max }) =>
    `в отправляемых столбцах строки ${bytes} байт; строка больше ${max} байт не читается`,
  recordTooLarge: ({ max }) => `запись длиннее ${max} символов`,
  recordTooDeep: ({ depthMax }) => `вложенность записи больше ${depthMax} уровней`,
  notSendableNumber: ({ value }) => `${value}: не число, которое можно отправить`,
  binaryData: "двоичные данные отправить нельзя",
  stoppedReading: "Остановлено во время чтения строк.",
  endless: ({ name, source, seconds }) => `${name}: ${source}: не завершилось за ${seconds} с и было остановлено.`,
  correctQuery: ({ name }) =>
    `Исправьте imports.${name}: возможно, рекурсия идёт по кругу или соединению не хватает условия либо индекса. Пока ничего не отправляется и на сайте ничего не удаляется.`,
  guarded: ({ pending, live, name }) =>
    `Обнулились или исчезли бы строки: ${pending} из ${live}. Они ждут, остальные уходят. Если так и должно быть: erp-bridge approve ${name} --rows ${pending}`,
  rowsGuarded: ({ name }) => `${name}: обнуляемые строки ждут разрешения.`,
  sourceEmpty: ({ source }) => `${source}: пусто; отправка целиком очистила бы сайт. Ничего не отправляется.`,
  formerRows: ({ name, rows }) =>
    `${name}: новый ключ не определяет ${rows} ${plural("ru", rows, { one: "строку", few: "строки", many: "строк" })} на сайте. Нужно решение человека: erp-bridge approve ${name} --former list`,
  rekeyed: ({ name, columns }) => `${name}: отправленное теперь учитывается по ${columns.join(", ")}.`,
  sourceGrown: ({ name, source, rowsMax }) =>
    `${name}: ${source}: больше ${rowsMax} строк, вдвое больше, чем только что.`,
  readAgain: "Источник будет прочитан снова при следующем проходе. Пока на сайте ничего не удаляется.",
  keyRepeated: ({ name, repeatedMax, source, keys }) =>
    `${name}: ${source}: больше ${repeatedMax} строк с одинаковым ключом (${keys.join(", ")}).`,
  setUniqueKey: ({ name }) => `Укажите в imports.${name}.key столбцы, которые вместе определяют одну строку.`,
  notWal: ({ name, file }) =>
    `${name}: ${file} не в режиме WAL, поэтому программы, которые в него пишут, ждут, пока файл читается. PRAGMA journal_mode = WAL это исправит.`,
  wholeRefused: ({ path, words }) => `POST ${path}: сервис отклоняет таблицу целиком (${words}).`,
  nothingSendable: ({ name }) => `${name}: нельзя отправить ни одной записи таблицы, поэтому не отправлено ничего.`,
  countedShort: ({ name, size, said }) => `${name}: по счёту сервиса принято меньше записей, чем ${size} (${said}).`,
  formAdopted: ({ name }) => `${name}: новый вид ответа сервиса отныне считается согласием.`,
  shortDoubted: ({ name }) =>
    `${name}: сервис считает принятые записи и раньше насчитал меньше отправленных; всё принятое с тех пор будет отправлено ещё раз.`,
  acceptancesDoubted: ({ name }) =>
    `${name}: ответы сервиса были похожи на согласие, но он не работал; всё принятое с тех пор будет отправлено ещё раз.`,
  chunkLearned: ({ name, chunk }) => `${name}: сервис принимает не больше ${chunk} таких записей за запрос.`,
  notOrdinaryFile: "это не обычный файл",
  sourceLocked: ({ name, source }) => `${name}: ${source}: заблокировано другой программой.`,
  keepTransactionsShort: "Программа повторит сама; транзакции ERP должны быть короткими.",
  readingSource: ({ source }) => `Чтение: ${source}`,
  writerInterrupted: "программа, которая в него писала, была прервана посреди изменения",
  sourceRefused: ({ name, source, why }) => `${name}: ${source}: ${why}`,
  sourceUnreadable: ({ name, source, why }) => `${name}: ${source}: не читается: ${why}.`,
  letWriterOpen:
    "Файл должна один раз открыть программа с правом записи — например, та, что в него писала, при запуске. Пока ничего не отправляется и на сайте ничего не удаляется.",
  logWouldKeepOut: ({ rights }) =>
    `файл в режиме WAL, не открыт ни одной программой, и журнал, который SQLite создаст рядом, будет недоступен для записи пользователям, которые могут писать в файл (${rights})`,
  logKeepsOut: ({ file, rights }) =>
    `${file}-wal или ${file}-shm принадлежит пользователю erp-bridge и недоступен для записи пользователям, которые могут писать в файл (${rights})`,
  shareLog: SHARE_LOG,
  giveLogBack: ({ file }) =>
    `Под root: chown -h --reference=${file} ${file}-wal ${file}-shm; удалять их нельзя. Затем пусть пишущие программы откроют файл заново. ${SHARE_LOG}`,
  correctFeed: ({ name }) => `Исправьте imports.${name}. Пока ничего не отправляется и на сайте ничего не удаляется.`,
  grantReading: ({ name }) =>
    `Проверьте imports.${name}.file. Пользователю erp-bridge нужно право читать файл, а в режиме WAL — и доступ к его каталогу. Пока ничего не отправляется и на сайте ничего не удаляется.`,
  sourceDiskAway:
    "Диск или компьютер, предоставляющий папку, недоступен. Пока ничего не отправляется и на сайте ничего не удаляется.",
  stoppedAtImages: "Остановлено во время осмотра изображений.",
  folderUnanswered: ({ folder }) => `Папка с изображениями ${folder} не отвечает.`,
  folderDiskAway:
    "Диск или компьютер, предоставляющий папку, недоступен. Пока ничего не отправляется, и ни одно изображение не отклонено.",
  isEmpty: "пуст",
  notImageName: "не адрес и не имя файла",
  onlyAddresses: "не адрес http(s), а отправляются только адреса (imports.images.send: url)",
  onlyFiles: ({ send }) =>
    `адрес, а по адресам ничего не загружается; отправляются только файлы (imports.images.send: ${send})`,
  notAddressNorFile: "не адрес http(s) и не файл из папки",
  notFileName: "не имя, которое может быть у файла",
  nameTooLong: "длиннее, чем может быть имя файла",
  outsideFolder: "находится вне папки",
  upwards: "содержит шаг вверх (..)",
  namesFolder: "называет папку, а не файл",
  fileTooLarge: ({ size, bytesMax }) =>
    `в файле ${size} ${plural("ru", size, { one: "байт", few: "байта", many: "байт" })}, больше, чем разрешает bytes_max (${bytesMax})`,
  fileEmpty: "файл пуст",
  imagesFolder: ({ folder, why }) => `Папка с изображениями ${folder}: ${why}.`,
  query: ({ name }) => `imports.${name}.query`,
  isNull: "равно NULL",
  binaryNumber: "не число (двоичные данные)",
  notNumber: ({ value }) => `не число (${value})`,
  firstUse: "первое использование",
  rulesChanged: "настройки изменены",
  changesNotNoted: "изменения раньше не отмечались",
  theDatabase: "базе",
  columnsMissing: ({ name, source, columns }) =>
    `${name}: ${source}: нет ${columns.length > 1 ? "столбцов" : "столбца"} ${columns.join(", ")}.`,
  addColumns: ({ name, columns }) =>
    `Нет ${columns.length > 1 ? "столбцов" : "столбца"} ${columns.join(", ")}: добавьте или укажите в imports.${name}.record, key и available имеющиеся столбцы.`,
  allRefused: ({ path, words }) =>
    `POST ${path}: отклоняется любая запись (${words}), поэтому ни одна не считается ошибочной.`,
  neverAccepted: ({ path, words, name }) =>
    `POST ${path}: отклоняется любая запись (${words}), поэтому ни одна не считается ошибочной; если неверен вид записи, исправьте imports.${name}.`,
  answered: ({ path, what }) => `На POST ${path} пришло: ${what}.`,
  tableOpen: "неизвестно, что осталось на сайте после запроса со всей таблицей",
  outageAccepted: "ответы неисправного сервиса были приняты за согласие",
  shortAccepted: "ответы, в которых насчитано меньше записей, чем отправлено, были приняты за согласие",
  noOpenSource: "источник не открыт",
  noSelect: "это не SELECT",
  fileProblem: ({ problem }) => `файл ${problem}`,
  fileOfType: ({ type }) => `файл имеет тип ${type}, которого нет в types`,
  fileIsText: "файл — текст, а не изображение",
  fileIsPdf: "файл — PDF, а не изображение",
  fileIsArchive: "файл — архив, а не изображение",
  fileIsUnknown: "файл — не изображение, которое узнаётся по первым байтам",
  fileNotRead: "Файл этого запроса не прочитан.",
  notThere: "отсутствует",
  mayNotBeRead: "недоступен для чтения (права)",
  linkToNowhere: "ссылка, которая никуда не ведёт",
  linkToOutside: "ссылка, которая выводит из папки",
  diskFails: "не читается (сбой диска)",
  isFolder: "это папка",
  notOrdinary: "не обычный файл",
  beingWritten: "ещё записывается",
  unreadable: ({ code }) => `не читается (${code})`,
  makeFolder:
    "Создайте или подключите её либо укажите imports.images.folder. Пока ничего не отправляется, и ни одно изображение не отклонено.",
} satisfies typeof en;
