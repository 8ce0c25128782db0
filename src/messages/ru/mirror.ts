import type { mirror as en } from "../en/mirror.ts";

/** Что стало с заказами, полученными здесь одновременно с другой машиной. */
function straysLeft(strays: number | null): string {
  if (strays === null) return " Заказы, полученные здесь с того времени, могут быть только в этой базе.";
  if (strays === 0) return "";
  return ` Заказов, полученных здесь с того времени и оставленных для неё в PostgreSQL: ${strays}.`;
}

const bridgeOn = (host: string, isHere: boolean) =>
  isHere ? `другая программа на этой машине или на машине с тем же именем (${host})` : `программа на ${host}`;

export const mirror = {
  connecting: "подключение",
  reading: "чтение",
  writing: "запись",
  committing: "фиксация транзакции",
  failed: ({ at, doing, why }) => `PostgreSQL на ${at}: ${doing}: ${why}`,
  away: ({ at, why }) => `PostgreSQL на ${at} недоступен (${why}).`,
  awayHint:
    "Заказы, изменения и выгрузки идут и без него; зеркало догонит само. Запущен ли сервер и открыт ли к нему доступ?",
  slow: ({ at, why }) => `PostgreSQL на ${at} не отвечает вовремя (${why}).`,
  slowHint:
    "При следующей попытке соединение откроется заново. Не перегружен ли сервер, не прерывается ли связь с ним?",
  tooLong: ({ at, seconds }) => `PostgreSQL на ${at} прервал запрос, который длился дольше ${seconds} с.`,
  tooLongHint:
    "При следующей попытке порция будет вчетверо меньше. Если это повторяется, посмотрите, чем занят сервер (pg_stat_activity), или увеличьте mirror.timeout.",
  locked: ({ at, seconds }) =>
    `В PostgreSQL на ${at} строки зеркала заблокированы другой транзакцией (дольше ${seconds} с).`,
  lockedHint:
    "Попытка повторится сама. Если это не проходит, найдите там транзакцию, которую никто не завершает: SELECT pid, usename, xact_start, query FROM pg_stat_activity ORDER BY xact_start; прервать её можно функцией pg_terminate_backend(pid).",
  cancelled: ({ at, why }) => `В PostgreSQL на ${at} кто-то отменил запрос зеркала (${why}).`,
  cancelledHint:
    "Попытка повторится сама. Если это повторяется, найдите, кто или какая программа вызывает там pg_cancel_backend, и исключите application_name erp-bridge.",
  silentHere: ({ at, why }) =>
    `PostgreSQL на ${at} прервал транзакцию, в которой от этой машины долго ничего не приходило (${why}).`,
  silentHereHint: "Попытка повторится сама. Не засыпала ли эта машина, хватает ли ей процессора?",
  gaveWay: ({ at, why }) => `PostgreSQL на ${at} прервал транзакцию, уступив другой (${why}).`,
  gaveWayHint: "Попытка повторится сама, делать ничего не нужно.",
  full: ({ at, why }) => `У PostgreSQL на ${at} нет места: ${why}.`,
  fullHint: "Заполнен диск или память либо исчерпан max_connections: каждый магазин держит одно соединение.",
  readOnly: ({ at }) => `PostgreSQL на ${at} не принимает запись: это реплика, или включён режим только для чтения.`,
  readOnlyHint: "Укажите в адресе зеркала основной сервер или снимите там default_transaction_read_only.",
  access: ({ at, user, why }) => `PostgreSQL на ${at} не пускает пользователя ${user}: ${why}.`,
  noAddressHint: "Запишите в этот файл адрес, который выдал головной офис; затем: systemctl restart erp-bridge",
  accessHint: "Сверьте пользователя, пароль и базу в адресе зеркала с теми, что на сервере, и проверьте pg_hba.conf.",
  certificate: ({ at, why }) => `Сертификату PostgreSQL на ${at} нет доверия: ${why}.`,
  certificateHint:
    "Укажите удостоверяющий центр в mirror.ca_file, а узел в адресе зеркала — так же, как в сертификате.",
  right: ({ at, user, why }) => `В PostgreSQL на ${at} пользователю ${user} не хватает права: ${why}.`,
  rightHint: ({ shop }) =>
    `Право даёт тот, кто может создавать там роли: erp-bridge mirror init --url ADDRESS --shop ${shop}`,
  tooOld: ({ at, version, needed }) => `PostgreSQL на ${at} версии ${version}; зеркалу нужна ${needed} или новее.`,
  tooOldHint: "Обновите там PostgreSQL или укажите другой сервер.",
  noSchema: ({ at, schema }) => `В PostgreSQL на ${at} нет схемы зеркала ${schema}.`,
  olderSchema: ({ at, schema }) => `Схема ${schema} в PostgreSQL на ${at} более старой версии, чем эта программа.`,
  newerSchema: ({ at, schema }) => `Схема ${schema} в PostgreSQL на ${at} более новой версии, чем эта программа.`,
  otherSchema: ({ at, schema }) => `Схема ${schema} в PostgreSQL на ${at} не такая, какой её создала эта программа.`,
  initHint: "Владелец схемы выполняет: erp-bridge mirror init --url ADDRESS",
  notUtf8: ({ at, encoding }) => `У базы ${at} кодировка ${encoding}, а зеркалу нужна UTF8.`,
  utf8Hint: ({ database }) => `Создайте другую: CREATE DATABASE ${database} ENCODING 'UTF8' TEMPLATE template0.`,
  newerHint: "Установите ту версию erp-bridge, что и в других магазинах.",
  disarmed: ({ at, schema, tables }) =>
    `В схеме ${schema} в PostgreSQL на ${at} у таблиц нет триггеров или политик доступа к строкам: ${tables}.`,
  takeoverOtherAccount: ({ shop, id, url, orders }) =>
    `В зеркале магазин ${shop} и его заказы (${orders}) принадлежат не учётной записи ${id} на ${url}, а другой.`,
  takeoverOtherAccountHint:
    "Сверьте mirror.shop и адрес зеркала с service.base_url и service.client_id. Если сменилась сама учётная запись, продолжайте из копии, с которой уже работали под новой.",
  otherDatabase: ({ shop, host }) =>
    `В зеркале магазин ${shop} принадлежит другой базе (последняя запись — с ${host}).`,
  otherDatabaseHint:
    "Дайте этому магазину свой ключ в mirror.shop; если эта база должна продолжить работу за ту: erp-bridge takeover.",
  unknownShop: ({ at, shop, user }) =>
    `PostgreSQL на ${at} не знает магазина ${shop}, или пользователю ${user} он не виден.`,
  fenced: ({ shop, host, isHere, strays }) =>
    `С магазином ${shop} работает ${bridgeOn(host, isHere)}.${straysLeft(strays)}`,
  fencedHint:
    "Две программы с одной учётной записью отбирают заказы друг у друга: оставьте включённой одну. Если работать должна эта, остановите другую и введите здесь erp-bridge takeover.",
  otherHeard: ({ shop, host, isHere }) =>
    `Возможно, с магазином ${shop} работает ${bridgeOn(host, isHere)}: она недавно обращалась к PostgreSQL, или эта база — старая копия. Эта программа ничего не запросит у сервиса, пока та не промолчит несколько минут, а если та снова отзовётся, завершится. Делать ничего не нужно, если только не запущены обе: тогда остановите одну.`,
  reached: ({ at, shop }) => `PostgreSQL на ${at} отвечает и знает магазин ${shop}.`,
  badUrl: ({ problem }) => `Адрес PostgreSQL ${problem}.`,
  badShop: ({ shop }) => `${shop} — не ключ магазина: от 1 до 40 строчных латинских букв, цифр, _ и -.`,
  badSchema: ({ schema }) => `${schema} — не имя схемы: строчные латинские буквы, цифры и _.`,
  schemaMade: ({ schema }) => `Схема ${schema} готова.`,
  schemaCurrent: ({ schema }) => `Схема ${schema} уже была новейшей; права выданы заново.`,
  roleMade: ({ role, isShop, url }) =>
    `Создана роль ${role}. ${isShop ? "Адрес для mirror.url_file магазина" : "Её адрес"}, показан только сейчас: ${url}`,
  roleStays: ({ role }) => `Роль ${role} уже была; её пароль остался прежним.`,
  removeUnknown: ({ shop }) => `PostgreSQL не знает магазина ${shop}.`,
  removeHeard: ({ shop, host }) =>
    `Магазин ${shop} работает (на ${host}): остановите там службу и повторите, когда представление shops покажет его молчащим.`,
  removed: ({ shop, rows }) => `Магазин ${shop} убран, удалено строк: ${rows}. Его заказы и события остались.`,
  takenOver: ({ shop, host, isHere, strays }) =>
    `Магазин ${shop} приняла ${bridgeOn(host, isHere)}.${straysLeft(strays)}`,
  straysHint:
    "Запустите эту программу ещё раз, когда PostgreSQL доступна (erp-bridge run): она оставит там эти заказы для другой машины и завершится, ничего не запросив у сервиса.",
  straysNotLeft: ({ why }) =>
    `Заказы, полученные здесь, пока с магазином работала другая машина, не удалось оставить для неё: ${why}`,
  straysTaken: ({ host, orders }) =>
    `Машина ${host} работала с этим магазином одновременно с этой, пока не узнала, что магазин передан: у сервиса читаются её заказы (${orders}), выгрузки отправляются заново.`,
  takenOverHint:
    "Эта программа остаётся выключенной. Чтобы вернуть магазин сюда, остановите другую и введите здесь erp-bridge takeover.",
  takeoverNoMirror: "В настройках нет зеркала.",
  takeoverNoMirrorHint: "Задайте mirror.url и mirror.shop так же, как на машине, которая работала с магазином.",
  takeoverNobodyToAsk: "takeover закрепляет магазин за этой машиной, а спросить здесь некого.",
  takeoverUnknownShop: ({ shop }) => `PostgreSQL пока ничего не знает о магазине ${shop}.`,
  takeoverUnknownShopHint: "Проверьте mirror.shop; новый магазин начинает работу с erp-bridge run.",
  takeoverOtherDatabase: ({ database }) => `${database} — база другого магазина.`,
  takeoverOtherDatabaseHint: "Укажите другое место в database.path или перенесите этот файл.",
  takeoverFromHere: "Работу продолжает база на этой машине; недостающее добавляется из PostgreSQL.",
  takeoverFromCopy: ({ file }) =>
    `База создаётся из ${file}, журнала, если он есть, и того, что сверх этого есть в PostgreSQL.`,
  takeoverFromMirror: ({ orders }) =>
    `В backup.dir копии нет: база создаётся из PostgreSQL (заказов: ${orders}) и журнала, если он есть.`,
  takeoverIsHeard: ({ shop, host, isHere, at }) =>
    `С магазином ${shop} работает ${bridgeOn(host, isHere)}; последнее обращение к PostgreSQL: ${at}.`,
  takeoverIsSilent: ({ shop, host, isHere, at }) =>
    `С магазином ${shop} работала ${bridgeOn(host, isHere)}; последнее обращение к PostgreSQL: ${at}.`,
  takeoverStopIt:
    "Сначала остановите её. Если она ещё работает, то завершится сама не позже чем через пять минут после того, как сможет обратиться к PostgreSQL; до этого она тоже забирает заказы у сервиса, и они придут сюда позже.",
  takeoverIsItOff:
    "Возможно, она работает без связи с PostgreSQL и тоже забирает заказы у сервиса. Продолжайте, только если она выключена и не включится.",
  takeoverIsOwn: ({ shop, database }) => `Магазин ${shop} уже за базой ${database}: ничего не изменено.`,
  takeoverWasElsewhere: "с магазином работала другая машина",
  takeoverDone: ({ shop, database, orders, unread, command }) =>
    `${database} продолжает работу с магазином ${shop}. Заказов взято из PostgreSQL: ${orders}, предстоит прочитать у сервиса: ${unread}. Запустите службу: ${command}`,
  orderUnknown: "В базе магазина нет заказа с таким order_id.",
  requestLeft: "Запрос уже отправлен в прежнем виде: добавьте новую строку с новым id.",
  unreadable: ({ why }) => `Строка в PostgreSQL есть, но прочитать её нельзя: ${why}`,
  tooLarge: ({ megabytes }) => `Строка больше ${megabytes} МБ.`,
  dropped: "PostgreSQL принял строку, но не сохранил её: её отбрасывает триггер или правило.",
  requestDeleted: "Удалён в базе магазина до отправки.",
} satisfies typeof en;
