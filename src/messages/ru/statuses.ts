import type { statuses as en } from "../en/statuses.ts";

export const statuses = {
  tooLarge: "status, comment и data вместе слишком велики",
  notUtf8: ({ column }) => `${column} не в UTF-8 и не в UTF-16`,
  idNotUuid: "order_id — не UUID",
  noSuchOrder: "в таблице orders нет заказа с таким order_id",
  empty: "пустое значение",
  isNull: "значение NULL",
  noNumber: ({ value }) => `число ${value} отправить нельзя`,
  binary: "двоичные данные отправить нельзя",
  dataNotText: "не текст с объектом JSON",
  dataNotObject: "это JSON, но не объект",
  dataNotJson: "неверный JSON",
  answeredWith: ({ method, path, what }) => `В ответ на ${method} ${path} пришло: ${what}.`,
  answered: ({ method, path, status, words }) => `${method} ${path}: ответ ${status}: ${words}`,
  answeredStatus: ({ method, path, status, words }) =>
    `${method} ${path}: ответ ${status}, но статус заказа в нём ${JSON.stringify(words)}`,
  wrongPath: "заказ существует, значит, statuses.path или statuses.method указан неверно",
  readAgain: ({ reason }) => `${reason}; заказ будет прочитан ещё раз`,
  beforeAccepted: "заказ прочитан таким, каким был до принятого перед этим статуса; он будет прочитан ещё раз",
  refused: ({ id, reason }) => `Запрос ${id} на смену статуса отклонён: ${reason}.`,
  noStatus: ({ orderId, text }) => `В ответе GET /orders/${orderId} вместо статуса стоит ${text}.`,
  changedBack: ({ now, sent }) =>
    `за это время заказ менялся, его статус снова ${now}; был ли между тем ${sent}, неизвестно`,
  changed: ({ before, now, sent }) =>
    `за это время статус заказа изменился: был ${before}, теперь ${now}; был ли между ними ${sent}, неизвестно`,
  cancelledSince: ({ status, at }) =>
    `заказ отменили уже после этого запроса (${at}, статус ${status}); если статус всё равно нужно отправить, добавьте новый запрос`,
  otherOrder:
    "под этим идентификатором сервис отдаёт другой заказ; заказ перечитывается, чтобы в этом убедиться, и запрос этого ждёт",
  replacedSince: ({ number }) =>
    `под этим идентификатором у сервиса теперь другой заказ (${number}), а запрос относился к прежнему; если статус нужен новому заказу, добавьте новый запрос`,
  kept: ({ status, since }) =>
    `сервис назвал для этого заказа статус ${status}, но сам заказ с ${since} прочитать не удалось; запрос ждёт, пока заказ не будет прочитан`,
  keptUnread: ({ since }) =>
    `от сервиса пришла запись, которая может относиться к этому заказу и в которой нельзя прочитать статус, но сам заказ с ${since} прочитать не удалось; запрос ждёт, пока заказ не будет прочитан`,
  keptForLong: ({ status, since }) =>
    `сервис назвал для этого заказа статус ${status}, а сам заказ с ${since} прочитать не удалось; добавьте новый запрос, когда заказ снова будет доступен`,
  unshown: ({ answeredAt, status }) =>
    `принят сервисом в ${answeredAt}, но у заказа, прочитанного с тех пор снова, всё ещё статус ${status}`,
  withoutStatus: "пустой",
  notSeen: ({ shape, at }) =>
    `ответ пришёл в новом виде (${shape}), и с ${at} этого статуса у заказа не видно; сам по себе запрос больше не отправляется`,
  stillShown: ({ at }) =>
    `ответ, пришедший ${at}, показал у заказа прежний статус, и он не изменился; запрос будет отправлен снова, когда будет принят другой`,
  notSeenYet: ({ shape, at, again }) =>
    `ответ пришёл в новом виде (${shape}), и с ${at} этого статуса у заказа не видно; если так и останется, запрос будет отправлен ещё раз в ${again}`,
} satisfies typeof en;
