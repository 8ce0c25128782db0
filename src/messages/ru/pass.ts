import type { pass as en } from "../en/pass.ts";

export const pass = {
  unknownForm: ({ method, path, words }) =>
    `${method} ${path}: пришло ${words}, и неизвестно, значит ли это, что запрос принят.`,
  unknownFormUsual: ({ method, path, words, usual }) =>
    `${method} ${path}: пришло ${words}, и неизвестно, значит ли это, что запрос принят; обычно приходит ${usual}.`,
  writableAgain: "В базу снова можно писать.",
  waitsForLock: "Базу держит для записи другая программа; ожидание.",
  stoppedWaiting: "Остановлено во время ожидания записи в базу.",
  refusesCredentials: ({ what }) => `сервис не принимает учётные данные (${what})`,
  notPaid: ({ what }) => `подписка на импорт не оплачена (${what})`,
  asksToWait: ({ what }) => `сервис просит подождать (${what})`,
  notReached: ({ what }) => `нет связи с сервисом (${what})`,
  outOfOrder: ({ what }) => `сервис неисправен (${what})`,
  holdEnded: "остановка снята, следующий обмен впереди",
  causePutRight: "причина устранена",
  ordersCompared: "заказы на сайте сверены с базой",
  ordersLookedFor: "поиск того, чего может не хватать, проведён",
  sourceLookedAt: "то, что читает выгрузка, совпадает с текущими данными ERP",
  changesLookedFor: "изменения, которых может не хватать, сверены с сайтом",
  areAcceptances: "такие ответы сервиса означают, что данные приняты",
  notReadInTime: ({ seconds }) => `Ответ не удалось прочитать за ${seconds} с.`,
  lowerAnswerBytes: "Уменьшите service.answer_bytes_max или увеличьте service.timeouts.total.",
} satisfies typeof en;
