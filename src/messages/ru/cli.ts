import type * as en from "../en/cli.ts";
import { plural } from "../numbers.ts";

/** У зеркала разрешение возвращает и остатки, которые в PostgreSQL больше. */
function orRaised(name: string): string {
  return name === "mirror" ? " (или получили бы больший остаток из PostgreSQL)" : "";
}

export const check = {
  passed: ({ check, text }) => `ok   ${check}: ${text}`,
  failed: ({ check, text }) => `СБОЙ ${check}: ${text}`,
  lookingThrough: "Проверка базы",
  askingService: "Опрос сервиса",
  valid: ({ file }) => `${file}: ошибок нет`,
  erpObjects: ({ names }) => `На таблицах программы стоят триггеры или индексы ERP, удалите их: ${names}.`,
  ownChanged: ({ names }) =>
    `Пропало или изменено другой программой: ${names}. Представления, триггеры и индексы служба создаёт снова; если такое имя заняла таблица, переименуйте её. Таблицам программы верните их столбцы и первичный ключ: docs/dictionary.md.`,
  notThereYet: ({ file }) => `${file}: файла ещё нет, он появится при первом запуске`,
  damaged: ({ file, found }) => `${file}: файл повреждён (${found}).`,
  restoreBackup: "Восстановите резервную копию: erp-bridge restore ФАЙЛ.",
  notWal: ({ source }) =>
    `${source}: не в режиме WAL, программы не могут писать в неё, пока идёт чтение. Выполните в ней один раз: PRAGMA journal_mode = WAL`,
  readable: ({ source }) => `${source}: чтение возможно`,
  nodeOld: ({ node, months }) =>
    `Node ${node} взят из пакета, которому ${months} мес.: установите более новый ради исправлений безопасности`,
  freeIn: ({ free, folder }) => `свободно ${free} в ${folder}`,
  fewFree: ({ free, folder }) => `свободно только ${free} в ${folder}`,
  notLooked: ({ folder, why }) => `${folder}: посмотреть не удалось: ${why}`,
  noCopies: ({ folder, lacks }) => `${folder}: ${lacks}; копии там хранить нельзя`,
  notFolder: "не папка",
  notWritable: "недоступна для записи",
  noImages: ({ folder, lacks }) => `${folder}: ${lacks}; изображения не отправляются`,
  notReadable: "недоступна для чтения",
  sameAccount: ({ file }) => `${file}: та же учётная запись, экземпляры забирали бы заказы друг у друга`,
  sameDatabase: ({ file, value }) => `${file}: та же база данных, ${value}`,
  samePort: ({ file, address }) => `${file} тоже слушает ${address}: страница состояния будет только у одного`,
  sameJournal: ({ file, folder }) => `${file} тоже ведёт журнал в ${folder}; дайте каждому экземпляру свою папку`,
  sameCopies: ({ file, folder }) => `${file} тоже хранит копии в ${folder}; дайте каждому экземпляру свою папку`,
  nothingShared: ({ names }) => `учётная запись, база, папки и порт не общие ни с одним из: ${names.join(", ")}`,
  pageOff: "выключено: нет ни /health, ни метрик, ни страницы состояния",
  addressFree: ({ address }) => `${address}: адрес свободен`,
  addressTaken: ({ address, problem }) =>
    problem === "EADDRINUSE"
      ? `${address} занят другой программой: страницы состояния не будет, заказы продолжат идти. Укажите в http.listen другой порт`
      : `${address}: адрес занять нельзя (${problem}), страницы состояния не будет; заказы продолжат идти`,
  pageAnswers: ({ address }) => `работающая программа отвечает на http://${address}/`,
  pageSilent: ({ address, error }) =>
    `работающая программа не может занять ${address} (${error}); заказы продолжают идти`,
  sound: ({ file }) => `${file}: база исправна`,
  soundAndRunning: ({ file }) => `${file}: база исправна; с ней работает программа`,
  node: ({ node }) => `Node ${node}`,
  nodeAdvisory: ({ node, advisory }) => `Node ${node}; в нём известна ${advisory}, но эта часть здесь не используется`,
} satisfies typeof en.check;

export const command = {
  setMirrorUrl: "Укажите mirror.url или mirror.url_file в настройках.",
  configOrInstance: "--config и --instance нельзя указывать вместе.",
  instanceName: "Имя экземпляра состоит только из букв, цифр и знаков . _ -",
  noDatabase: ({ file }) => `Базы ${file} ещё нет.`,
  databaseMade: "Она появится при первом erp-bridge run или erp-bridge sync.",
  unknownWord: ({ what, word }) => `Нет ${what} ${word}.`,
  known: ({ names }) => `Известны: ${names.join(", ")}`,
  didYouMean: ({ name }) => `Возможно, имелось в виду ${name}?`,
  validNoDatabase: ({ file, database }) =>
    `${file}: ошибок нет; базы ${database} ещё нет, поэтому работающая служба эти настройки не примет`,
  stopped: "Остановлено; больше ничего не сделано.",
  outputLost: ({ what, fault }) =>
    `Результаты не удалось записать в стандартный вывод, целиком или частью: ${what} (${fault}). На то, что сделала команда, это не влияет.`,
  notAccepted: "он больше ничего не принимает",
  areaOrFeed: "области или выгрузки",
  guardWaits: ({ area, command }) => `${area}: предохранитель ждёт разрешения: ${command}`,
  holdStays: ({ area, reason, states, command }) =>
    `${area}: «${reason}» не снято. Снять — значит подтвердить, что ${states}; затем: ${command}`,
  nothingHeld: ({ area }) => `${area}: остановок не было.`,
  lostSince: ({ area, at, command }) =>
    `${area}: уже после начала остановки, в ${at}, потерян ещё один ответ на GET /orders. Сверьте заказы и с этого времени, затем повторите команду: ${command}`,
  moreForms: ({ area, items, command }) =>
    `${area}: необычных ответов сервиса больше одного, и показаны могли быть не все: ${items.join("; ")}. Ничего не изменено. Если всё это означает приём или ничего не значит, повторите команду: ${command}`,
  usualNow: ({ area, items }) => `${area}: теперь считается обычным: ${items.join("; ")}.`,
  givenUp: ({ area, from, to }) =>
    `${area}: подтверждения больше не ждут ответов на GET /orders, потерянных ${from === to ? `в ${from}` : `с ${from} по ${to}`}.`,
  noHold: ({ area, hold }) => `${area}: остановки «${hold}» нет.`,
  observationsRead: ({ names }) => `observations: больше не показывается (${names.join(", ")}).`,
  moreNoticed: ({ names, command }) =>
    `observations: замечено в разное время, и показано могло быть не всё: ${names.join(", ")}. Ничего не изменено. Если вы видели всё, повторите команду: ${command}`,
  moreConfirms: ({ names, command }) =>
    `confirms: решения ждёт больше одного подтверждения, и показаны могли быть не все: ${names.join(", ")}. Ничего не изменено. Если вы сверили с сайтом все, повторите команду: ${command}`,
  confirmsSettled: ({ names }) =>
    `confirms: решено (${names.join(", ")}). Пачка, которую сервис выдаст снова, будет подтверждена снова.`,
  nothingWaits: ({ name }) => `${name}: разрешения ничто не ждёт.`,
  formerDecision: "решения о строках прежнего ключа",
  noFormer: ({ name }) => `${name}: под прежним ключом не отправлено ничего, чего не определял бы нынешний.`,
  formerRow: ({ key, record, state }) => `${key}  ${state}  ${record}`,
  formerState: ({ state }) =>
    ({
      waiting: "ждёт решения человека",
      away: "нет в источнике, уйдёт через delete_after",
      gone: "уйдёт при следующем проходе",
      kept: "остаётся на сайте",
    })[state],
  formerWays: ({ name }) =>
    `Снять ожидающие с продажи: erp-bridge approve ${name} --former gone. Оставить их на сайте как есть: erp-bridge approve ${name} --former keep. С прежним ключом они снова различаются.`,
  formerKept: ({ name, rows }) =>
    `${name}: ${rows} ${plural("ru", rows, { one: "строка прежнего ключа остаётся", few: "строки прежнего ключа остаются", many: "строк прежнего ключа остаются" })} на сайте как есть.`,
  job: "задания",
  feed: "выгрузки",
  hold: "остановки",
  letGo: ({ name, rows }) =>
    `${name}: ${plural("ru", rows, { one: "обнулилась или исчезла бы", few: "обнулились или исчезли бы", many: "обнулились или исчезли бы" })} ${rows} ${plural("ru", rows, { one: "строка", few: "строки", many: "строк" })}${orRaised(name)}. Разрешить отправку? [y/N] `,
  notLetGo: ({ name, waiting, command }) =>
    `${name}: обнулились или исчезли бы строки: ${waiting}${orRaised(name)}. Ни одна не отправлена. Если так и должно быть: ${command}`,
  moreThanShown: ({ name, shown, waiting, command }) =>
    `${name}: показано строк: ${shown}, теперь ждут ${waiting}. Ни одна не отправлена. Если так и должно быть: ${command}`,
  othersThanShown: ({ name, waiting, look, command }) =>
    `${name}: обнулились или исчезли бы строки: ${waiting}, и среди них есть такие, что стали ждать уже после того, как это число было показано. Ни одна не отправлена. Какие это строки, покажет ${look}. Если так и должно быть, повторите: ${command}`,
  laterFormer: ({ name, waiting, look, command }) =>
    `${name}: решения ждут строки: ${waiting}. Они стали ждать в разное время, и показаны могли быть не все. Ничего не решено. Какие это строки, покажет ${look}. Если решение верно для всех, повторите: ${command}`,
  sentNow: ({ name, rows }) =>
    `${name}: разрешена отправка ${rows} ${plural("ru", rows, { one: "строки", few: "строк", many: "строк" })}; служба отправит их сейчас.`,
  sentNextPass: ({ name, rows }) =>
    `${name}: разрешена отправка ${rows} ${plural("ru", rows, { one: "строки", few: "строк", many: "строк" })}; они уйдут при следующем проходе.`,
  triedNow: ({ area, reasons }) => `${area}: обмен продолжается (${reasons.join(", ")}); служба пробует сейчас.`,
  goesOn: ({ area, reasons }) => `${area}: обмен продолжается (${reasons.join(", ")}).`,
  nothingAccepted: ({ url, id }) =>
    `Принятое по адресу ${url} (от имени ${id}) здесь не считается принятым: после следующего запуска все строки выгрузок уйдут ещё раз.`,
  leftUnconfirmed: ({ batches, url }) =>
    `Пачек с адреса ${url}, получение которых ещё не подтверждено: ${batches}. Они сохранены здесь, а подтверждаются только там — когда база вернётся к этому адресу. По новому адресу подтверждение не уйдёт, если он сам не выдаст эти же пачки.`,
  confirmedNow: ({ batches }) =>
    `Пачек, полученных с этого адреса раньше и оставшихся без подтверждения: ${batches}. Они будут подтверждены после следующего запуска.`,
  changesFrom: ({ position }) => `Изменения запрашиваются начиная с ${position}, а один раз — с запасом назад.`,
  readAgain: ({ orders }) =>
    `Заказов, статус которых за это время ушёл по другому адресу: ${orders}. Они будут прочитаны заново.`,
  comparedAtStart: "Заказы сверяются с сервисом при следующем запуске.",
  reloadForAccount:
    "Работающая служба прежний адрес больше не опрашивает, а новый — после: systemctl reload erp-bridge",
} satisfies typeof en.command;

export const init = {
  fitted: ({ lines }) => `Ответы сервиса отличаются от умолчаний; это внесено в настройки:\n\n${lines}\n`,
  askAddress: "Адрес сервиса: ",
  askClientId: "Client ID: ",
  askDatabase: ({ standard }) => `Файл базы [${standard}]: `,
  askAlerts: "Кого оповещать о сбоях? Адрес webhook, путь к программе или пусто: ",
  neitherAddressNorProgram: "не адрес и не имеющаяся программа",
  missing: "не указано",
  nobodyToAsk: ({ wrong }) => `Спросить здесь некого, а указано не всё: ${wrong.join("; ")}.`,
  giveWhatIsMissing: ({ variable }) =>
    `Укажите недостающее или запустите erp-bridge init в терминале. Секрет берётся из ${variable}, стандартного ввода или своего файла.`,
  secretFileProblem: ({ problem }) => `--client-secret-file: ${problem}`,
  secretMissing: "не указан client secret",
  pipedSecret: "client secret на стандартном вводе",
  needed: "нужно указать",
  tooOften: "Слишком много попыток; ничего не записано.",
  askSecret: "Client Secret (не показывается): ",
  askSecretAgain: ({ file }) => `Client Secret (не показывается) [тот, что в ${file}]: `,
  optionProblem: ({ option, problem }) => `${option} ${problem}`,
  answerProblem: ({ answer, problem }) => `  «${answer}» ${problem}`,
  secretProblem: ({ problem }) => `  секрет ${problem}`,
  sendingTest: "Отправка пробного сообщения",
  alreadyThere: ({ file }) => `${file}: файл уже есть; ничего не изменено.`,
  tryIt: ({ flag }) =>
    `Проверьте его: erp-bridge check --online${flag}. С --force прежний файл останется рядом с новым.`,
  credentialsAgain: "Ввести учётные данные ещё раз? [Y/n] ",
  addressAgain: "Ввести адрес ещё раз? [Y/n] ",
  notReplaced: ({ name }) => `${name}: файл уже есть и не изменён.`,
  nameSecretFile:
    "Укажите его в --client-secret-file и не задавайте другого секрета либо сохраните его рядом с новым: --force.",
  notWritten: ({ name, code }) => `${name}: записать не удалось (${code}).`,
  runAsOwner:
    "Запустите erp-bridge init от имени пользователя с правом записи туда или укажите другое место в --config.",
  madeConfig: ({ file }) => `Настройки: ${file}`,
  kept: ({ name }) => `Сохранено: ${name}`,
  alertTaken: ({ channel }) => `ok   alerts: ${channel}: пробное сообщение принято`,
  alertFailed: ({ channel, error }) => `СБОЙ alerts: ${channel}: ${error}`,
  next: ({ next }) => `Дальше: ${next}`,
  nextWhenRight: ({ next }) => `Когда это будет исправлено: ${next}`,
  secretAsItWas: ({ secretFile }) => `Client secret: ${secretFile} (без изменений)`,
  secretMade: ({ secretFile }) => `Client secret: ${secretFile} (доступен только владельцу)`,
  databaseMade: ({ database }) => `База: ${database} (пустая)`,
  databaseThere: ({ database }) => `База: ${database} (уже была)`,
} satisfies typeof en.init;

export const progress = {
  next: ({ what }) => `${what} …`,
  step: ({ what }) => `${what}…`,
  working: ({ what, time }) => `${what}, ${time} …`,
  far: ({ what, parts }) => `${what}: ${parts.join(", ")}`,
  done: ({ done, unit }) => `${unit}: ${done}`,
  doneOf: ({ done, total, unit }) => `${unit}: ${done} из ${total}`,
  orders: "заказов",
  ordersToRead: "заказов к чтению",
  ordersCompared: "сравнено заказов",
  payloadsSeen: "проверено записей",
  records: "записей",
  requests: "запросов",
  rows: "строк",
  rowsCompared: "сравнено строк",
  megabytes: "мегабайт",
  rate: ({ rate }) => `${rate}/с`,
  left: ({ time }) => `осталось ${time}`,
} satisfies typeof en.progress;

export const sync = {
  next: ({ command }) => `Дальше: ${command}`,
  noRow: ({ only }) => `${only}: такой строки нет ни в таблице, ни у сервиса.`,
  switchedOff: ({ job }) => `${job}: выключено.`,
  setPath: "Укажите path этой выгрузки в настройках.",
  onlyNeedsFeed: "Перед --only КЛЮЧ нужно имя одной выгрузки.",
  onlyExample: "Например: erp-bridge sync stocks --only A-1",
  sentWhole: ({ feed }) => `${feed}: таблица уходит целиком при каждом запросе (imports.${feed}.scope).`,
  sendsTable: ({ feed }) => `Таблицу отправляет erp-bridge sync ${feed}.`,
  againNeedsFeeds: "Перед --again нужны имена выгрузок; с --only и --dry-run он не сочетается.",
  againExample: "Например: erp-bridge sync stocks prices --again",
  neverAccepted: "сервис её ещё не принимал",
  onSite: ({ sentAt, sent }) => `на сайте с ${sentAt}: ${sent}`,
  stopping: "Остановка после текущего запроса; ещё раз — немедленный выход.",
  asking: "Служба работает; запрос передан ей.",
  notTaken: "Служба не приняла запрос.",
  seeWhy: "Причину покажут erp-bridge status и журнал службы.",
  daemonEnded: "Служба завершилась раньше, чем выполнила всё, о чём её просили.",
  askAgain: "Сделанное сохранено; повторите команду.",
  olderNeedsUpdates: "--since и --orders указываются только вместе с updates.",
  sinceExample: "Например: erp-bridge sync updates --since 2026-01-01",
  haveRead: ({ since }) => `Изменения с ${since} прочитаны: новое и отличавшееся сохранено.`,
  stillReading: ({ since }) => `Изменения с ${since} прочитаны не все: чтение продолжат следующие проходы updates.`,
  noTime: ({ text }) => `--since ${text}: это не время, или оно ещё не наступило.`,
  listUnread: ({ file, problem }) => `--orders ${file}: ${problem}`,
  listEmpty: ({ file }) => `--orders ${file}: в нём не назван ни один заказ.`,
  pullFirst: "Заказы ещё не забирались: сначала нужно сохранить и подтвердить новые, потом читаются прежние.",
  pullFirstHow: "Сначала заберите заказы: erp-bridge sync orders",
  numbersUnknown: ({ count, names }) =>
    `Номеров, которых нет среди сохранённых заказов: ${count} (${names.join(", ")}). Сервис различает заказы только по id: укажите их.`,
  nothingToSend: "Отправлять нечего.",
  heldNow: ({ job, reason }) => `${job}: остановлено (${reason}), сейчас ничего не уйдёт.`,
  guardWouldHold: ({ job, rows }) =>
    `${job}: ${rows} ${plural("ru", rows, { one: "строка обнуляется или исчезает", few: "строки обнуляются или исчезают", many: "строк обнуляются или исчезают" })}; предохранитель задержал бы их до approve.`,
  daemonHasOther: ({ feed }) => `У запущенной службы другие настройки: imports.${feed}.key с тех пор изменён.`,
  reloadFirst: "Перечитайте настройки: systemctl reload erp-bridge",
  severalRows: ({ only, feed, names }) =>
    `${only}: в ${feed} под это имя подходит несколько строк: ${names.join(", ")}.`,
  nameOneRow: ({ feed, row }) => `Укажите одну из них так: erp-bridge sync ${feed} --only ${row}`,
  namelessRow: "отправить нельзя: у строки нет ключа",
  fileNotLooked: "файл ещё не осмотрен",
  unsendable: ({ reason }) => `отправить нельзя: ${reason}`,
  answerUnknown: "отправлено, исход неизвестен",
  notKnownThere: "есть ли она там ещё, неизвестно",
  statusUnknown: "отправлено, исход неизвестен: сначала читается заказ",
  storedTried: ({ tries }) => `сохранено, попыток: ${tries}`,
  namedAt: ({ place }) => `Он указан здесь: ${place}.`,
  namedNear: ({ place, near }) => `Он указан здесь: ${place}; возможно, имелось в виду «${near}»?`,
  refused: ({ why }) => `отклонено: ${why}`,
  gone: "удалено",
  new: "новое",
  changed: "изменено",
  requested: "запрошено",
  stored: "сохранено",
  nothing: "ничего",
  again: ({ record }) => `${record} ещё раз`,
  held: ({ area, reason }) => `${area}: остановлено (${reason})`,
  heldBecause: ({ area, reason, detail }) => `${area}: остановлено (${reason}): ${detail}`,
  rowStands: ({ only, state, site }) => `${only}: ${state}; ${site}`,
  heldBack: ({ job, why }) => `${job}: ${why}.`,
  endedBecause: ({ job, outcome, why }) => `${job}: ${outcome}: ${why}.`,
  failed: "сбой",
  stopped: "остановлено",
  asked: "по запросу",
} satisfies typeof en.sync;
