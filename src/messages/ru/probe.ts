import type { probe as en } from "../en/probe.ts";
import { plural } from "../numbers.ts";

export const probe = {
  updatesAnswered: "на GET /orders/updates приходит ответ",
  sinceRefused: ({ text }) => `${text}: сервис ждёт updates.since в другом виде`,
  unknownIsUnknown: "неизвестный заказ назван неизвестным",
  importLetIn: "импорт разрешён",
  noDate: "сервис не присылает Date, сравнить часы нельзя",
  clockAway: ({ minutes }) => `часы этой машины расходятся с часами сервиса на ${minutes} мин`,
  clocksAgree: "часы этой машины и сервиса сходятся",
  emptyList: "пустой список",
  list: ({ count, first }) => `список из ${count}: ${first}`,
  emptyObject: "пустой объект",
  askingImports: "imports: тело без массива",
  nothingAccepted: ({ feed, status, shape }) =>
    `${feed}: тело без массива принято с ответом ${status} и ${shape}: по коду ответа отказ не виден`,
  mayEmpty: ({ body, path }) =>
    `Отправить ${body} на ${path}? Если сервис считает каждый запрос полной таблицей, остатки на сайте обнулятся.`,
  emptyNotSent: "пустой массив не отправлен: согласия не было",
  emptyArray: ({ body }) => `пустой массив ${body}`,
  lookAtStock: "посмотрите на сайт: если остатки пропали, укажите imports.stocks.scope: whole",
  noStock: "остатки ещё не отправлялись: внесите один товар в таблицу stock, затем erp-bridge sync stocks",
  bridgeIsRunning:
    "запись не отправлена: программа работает, и запись могла бы прийти позже более новой; сначала остановите её",
  maySendOne: ({ record }) =>
    `Отправить ещё раз запись, которую сервис уже принимал (${record})? Если сервис считает каждый запрос полной таблицей, остальные пропадут.`,
  oneNotSent: "запись не отправлена: согласия не было",
  oneRecord: "одна запись",
  recordTaken: "запись по imports.stocks.record принимается",
  lookAtArticle: "посмотрите на сайт: если там остался только этот товар, укажите imports.stocks.scope: whole",
  refusedWith: ({ what, status, words }) => `${what}: отказ, ответ ${status}: ${words}`,
  emptyBody: "пустое тело",
  answeredWith: ({ what, verdict, status, shape }) => `${what}: ${verdict}, ответ ${status}, ${shape}`,
  roomForResult:
    "в ответе есть место для отдельных записей: укажите imports.stocks.result, когда узнаете, как он их называет",
  noDatabase: "базы ещё нет: сначала получите заказы командой erp-bridge sync orders",
  askForPaths: ({ feeds }) => `узнайте у сервиса пути для ${feeds.join(", ")}; неназванные пути не пробуются`,
  askForParameters:
    "узнайте у сервиса, есть ли у GET /orders параметры; probe его не вызывает, потому что вызов может выдать пачку",
  askForVersion: "узнайте у сервиса; смена вида ответа проявится ошибкой, а не молчанием",
  askForStatusChange: "узнайте у сервиса метод, путь и тело; любая проба изменила бы заказ",
  noConfirm: "пачки ещё не подтверждались: ответ на подтверждение покажет первый полученный заказ",
  noOrder: "сохранённых заказов ещё нет",
  statusesSeen: ({ statuses }) => `встретившиеся статусы: ${statuses.join(", ")}`,
  noStatus: ({ count }) => `без статуса (${count})`,
  likeEnds: "некоторые похожи на завершение заказа; проверьте предложенное",
  lastRefusal: ({ words }) => `последний отказ: ${words}`,
  largestBatch: ({ orders }) => `в самой большой пачке было заказов: ${orders}`,
  longestPage: ({ changes }) => `на самой длинной странице изменений их было ${changes}`,
  tooManyRecords: ({ feed, records }) => `${feed}: запросы больше чем из ${records} записей слишком велики`,
  tooManyRequests: ({ jobs }) => `${jobs.join(", ")}: ответ 429; уменьшите service.requests_per_second`,
  errorsMet: ({ errors }) => `встретились: ${errors.join(", ")}`,
  askingOrders: "заказы: неизвестный, известный и сохранённое",
  unknownRefused: ({ status, words }) => `на неизвестный заказ ответ ${status}: ${words}`,
  unknownAnswered: ({ status, shape }) =>
    `на неизвестный заказ ответ ${status} и ${shape}: по такому ответу не видно, что заказ удалён`,
  batchUnrecognised: ({ shape }) => `сохранённая пачка — ${shape}: список заказов не найден`,
  batchOrders: ({ path }) => `заказы в сохранённой пачке лежат в ${path}`,
  batchId: ({ path }) => `а её идентификатор — в ${path}`,
  batchesRead: "GET /orders читается по настройкам: непрочитанных пачек нет",
  noOrderToRead: "GET /orders/{order_id}: ещё нет известного заказа, который можно прочитать",
  knownRefused: ({ status, words }) => `на GET /orders/{order_id} известного заказа отказ ${status}: ${words}`,
  orderUnrecognised: ({ shape }) => `на GET /orders/{order_id} приходит ${shape}: заказ в нём не найден`,
  orderUnder: ({ path }) => `в GET /orders/{order_id} заказ лежит в ${path}`,
  asConfigured: ({ fact }) => `${fact}, как в настройках`,
  changeIsWhole: "изменение содержит все поля заказа: значение whole сэкономит по запросу на каждое",
  changeLacks: ({ fields }) =>
    `в изменении нет части полей заказа (${fields}), поэтому каждый изменённый заказ читается целиком`,
  noOrderSeen: "заказов ещё не было: сначала получите их командой erp-bridge sync orders",
  orderShape: ({ shape }) => `заказ — ${shape}`,
  lineShape: ({ shape }) => `строка заказа — ${shape}`,
  fieldLike: ({ configured, key, path }) => `в ${configured} (${key}) ничего нет; похоже на ${path}`,
  noDateHeader: "сервис не присылает заголовок Date, сравнить часы нельзя",
  askingUpdates: "изменения: запросы с разным видом since",
  badSinceRefused: ({ status, words }) => `если since — не время, GET /orders/updates отказывает с ${status}: ${words}`,
  formRefused: ({ form }) => `${form}: отказ`,
  formUnderstood: ({ form }) => `${form}: понято (с прошлого изменения есть, с завтрашнего дня нет)`,
  formIgnored: ({ form }) => `${form}: не учитывается, изменения есть и с завтрашнего дня`,
  noFormProved: "ни один вид не подтверждён: измените заказ на сайте и запустите probe снова",
  sinceShouldBe: ({ form }) => `в updates.since должно быть ${form}`,
  changesUnrecognised: ({ shape }) => `GET /orders/updates: список изменений не найден, пришло: ${shape}`,
  changesUnder: ({ path }) => `в GET /orders/updates изменения лежат в ${path}`,
  besideChanges: ({ paths }) =>
    `рядом с изменениями стоит ${paths.join(", ")}: если это следующий since, укажите его в updates.next`,
  changeShape: ({ shape }) => `изменение — ${shape}`,
  changeField: ({ field, path }) => `в изменении ${field} лежит в ${path}`,
  noTimestamp: "в изменении не найдена метка времени",
  zoneAssumed: ({ zone }) =>
    `часового пояса в метках нет, принят ${zone}: измените заказ на сайте и сравните его метку с часами (service.timezone)`,
  oldestFirst: "изменения идут от старых к новым",
  unordered: "изменения идут не по порядку меток времени",
  boundaryUnknown: ({ form }) =>
    `входит ли в ${form} изменение точно с этим временем, неизвестно: метки времени точнее`,
  inclusive: "изменение с меткой, равной since, в ответ входит",
  exclusive: "изменение с меткой, равной since, в ответ не входит; программа это учитывает",
  areaHeld: ({ reason, area }) => `остановлено (${reason}), запросов не было; сначала: erp-bridge resume ${area}`,
  notWithoutYes: ({ what }) => `Без --yes не сделано: ${what}`,
  yesOrNo: ({ what }) => `${what} [y/N] `,
  nothingToChange: "Судя по выясненному, в настройках ничего менять не нужно.",
  proposed: ({ lines, command }) => `Предлагается для настроек:\n\n${lines}\n\n→ ${command}`,
  yours: ({ lines }) => `Это решать вам: по ответам сервиса этого не видно. Внесите то, что верно:\n\n${lines}`,
  written: ({ file }) => `Записано в ${file}:`,
  kept: ({ kept }) => `Прежний файл: ${kept}`,
  daemonReads:
    "Служба перечитывает настройки. Непрочитанные пачки будут сохранены и подтверждены при следующем проходе.",
  reloadDaemon: ({ command }) => `Служба пока работает с прежними настройками. Дальше: ${command}`,
  thenSync: ({ command }) => `Дальше: ${command}`,
  notWritable: ({ file }) => `Предложенное нельзя записать в ${file}, не изменив в нём ничего другого.`,
  writeByHand: ({ lines }) => `Внесите эти строки вручную:\n\n${lines}`,
  confirmLike: ({ body }) => `возможно, отклонённые подтверждения должны выглядеть так: ${body}`,
  requestsMade: ({ requests }) => `Сделано запросов: ${requests}; GET /orders среди них не было.`,
  answeredAs: ({ text, status }) => `${text} (${status})`,
  object: ({ members }) => `объект с ключами ${members.join(", ")}`,
  largeObject: ({ members }) => `объект с ключами ${members.join(", ")}, …`,
  value: ({ type }) => ({ string: "строка", number: "число", boolean: "true или false" })[type] ?? type,
  credentialsAnswer: ({ feed, status, words }) => `${feed}: ответ ${status}: ${words}`,
  badBodyAnswer: ({ feed, status, words }) => `${feed}: на тело без массива ответ ${status}: ${words}`,
  accepted: "принято",
  doubted: ({ words }) => `в ответе есть слова, которые говорят против этого (${words})`,
  refusedInWords: ({ words }) => `отклонено на словах (${words})`,
  webPage: "в ответ пришла веб-страница",
  cutJson: "в ответ пришёл оборванный JSON",
  confirmedWithId: ({ count, form }) =>
    `пачек с идентификатором: подтверждено ${count} (${form === "auto" ? "auto" : "как в настройках"})`,
  confirmedWithoutId: ({ count, form }) =>
    `пачек без идентификатора: подтверждено ${count} (${form === "auto" ? "auto" : "как в настройках"})`,
  refusedWithId: ({ count, words }) =>
    `пачек с идентификатором: подтверждений отклонено ${count}: ${words ?? "без пояснений"}`,
  refusedWithoutId: ({ count, words }) =>
    `пачек без идентификатора: подтверждений отклонено ${count}: ${words ?? "без пояснений"}`,
  requestsAccepted: ({ count, request }) => `принято смен статуса: ${count}, запросом ${request}`,
  fieldUnlike: ({ configured, key }) => `в ${configured} (${key}) ничего нет; ничего похожего нет`,
  fieldChoices: ({ configured, key, paths }) =>
    `в ${configured} (${key}) ничего нет; возможно, одно из: ${paths.join(", ")}`,
  clocksSame: "часы этой машины и сервиса сходятся",
  clocksApart: ({ minutes }) => `часы этой машины и сервиса расходятся на ${minutes} мин`,
  formEmpty: ({ form }) => `${form}: в ответе нет изменений, это мало о чём говорит`,
  formEmptyLikely: ({ form }) =>
    `${form}: в ответе нет изменений, это мало о чём говорит, но since, который не время, отклоняется`,
  timestamps: ({ form, digits, zone }) =>
    `метки времени: ${form}${digits > 0 ? `, знаков долей секунды: ${digits}` : ""}${zone === null ? "" : zone === "" ? ", без часового пояса" : `, часовой пояс ${zone}`}`,
  found: ({ question }) => `выяснено    ${question}`,
  notFound: ({ question }) => `не выяснено ${question}`,
  needsYou: ({ question }) => `за вами     ${question}`,
  skipped: ({ question }) => `пропущено   ${question}`,
  noticedNew: ({ kind }) =>
    `Замечено у сервиса: ${{ field: "новое поле", status: "новый статус", path: "путь перестал подходить", answer: "новый вид согласия", return: "возврат к более раннему состоянию", zone: "время заказов без часового пояса", times: "время заказов в двух форматах", steps: "метки времени с крупным шагом", ahead: "отметка опережает часы этой машины", short: "подтверждена, возможно, неполная пачка", cancelled: "изменение называет заказ отменённым, а сам заказ — нет" }[kind]}.`,
  newFields: ({ count, names }) =>
    `${plural("ru", count, { one: "поле заказов, которое", few: "поля заказов, которые", many: "полей заказов, которые" })} никто не читает: ${count} (${names})`,
  newStatuses: ({ count, names }) =>
    `${plural("ru", count, { one: "название статуса", few: "названия статусов", many: "названий статусов" })}: ${count} (${names})`,
  stoppedPaths: ({ count, names }) =>
    `${plural("ru", count, { one: "путь, который перестал", few: "пути, которые перестали", many: "путей, которые перестали" })} подходить: ${count} (${names})`,
  returns: ({ count, names }) =>
    `${plural("ru", count, { one: "возврат", few: "возврата", many: "возвратов" })} к более раннему состоянию: ${count} (${names})`,
  zoneLost: ({ names }) =>
    `время заказов теперь без часового пояса, с ${names} (в service.timezone должен стоять пояс сервиса)`,
  twoForms: ({ names }) => `время заказов ещё и в другом формате (${names}): изменения запрашиваются в обоих`,
  longSteps: ({ names }) =>
    `метки времени с крупным шагом (${names}): второе изменение в пределах одного шага может прийти на час позже`,
  aheads: ({ names }) =>
    `отметка опережает часы этой машины (${names}), а Date сервис не присылает: неверны были часы сервиса, этой машины или время заказа`,
  shortBatches: ({ names }) =>
    `подтверждена пачка, в которой могло быть больше заказов, чем пришло (${names}): сверьте заказы за этот день с сайтом`,
  calledCancelled: ({ count, names }) =>
    `${plural("ru", count, { one: "заказ, который", few: "заказа, которые", many: "заказов, которые" })} изменение называет отменёнными, а собственный статус — нет: ${count} (${names}); здесь они не отменены, если статус не назван в orders.statuses.cancelled`,
  newAnswers: ({ count, names }) =>
    `${plural("ru", count, { one: "новый вид", few: "новых вида", many: "новых видов" })} согласия: ${count} (${names})`,
  noticed: ({ parts }) => `Замечено у сервиса: ${parts.join("; ")}. Когда это учтено: erp-bridge resume observations`,
} satisfies typeof en;
