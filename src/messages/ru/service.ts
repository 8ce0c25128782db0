import type { service as en } from "../en/service.ts";

export const service = {
  answerRepeats: ({ place }) => `в ответе ${place} встречается больше одного раза`,
  webPage: "веб-страница, она ничего не принимает",
  brokenJson: "оборванный JSON",
  otherNamesCertificate: ({ subject }) => `показан сертификат для ${subject}, а это другое имя`,
  fixBaseUrl: "Исправьте service.base_url; возможно, по этому адресу отвечает кто-то другой.",
  certificateOutOfDate: ({ subject, validFrom, validTo }) =>
    `показан сертификат для ${subject}, срок действия не подходит (с ${validFrom} по ${validTo})`,
  compareClock: "Сверьте часы этой машины; если они верны, обновить сертификат должен сервис.",
  unknownAuthority: ({ subject, issuer }) =>
    `показан сертификат для ${subject}, выданный ${issuer}; здесь этому центру не доверяют`,
  setCaFile: "Если сеть проверяет TLS, укажите сертификат её центра в service.ca_file.",
  stoppedAsking: "Остановлено во время запроса к сервису.",
  stoppedBefore: "остановлено до отправки",
  charset: ({ charset }) =>
    `ответ пришёл в кодировке ${charset}, её не удалось прочитать; сервис должен отвечать в UTF-8`,
  compressed: ({ encoding }) => `ответ сжат (${encoding}), хотя об этом не просили`,
  answerToPostTooLarge: ({ max }) => `ответ больше, чем допустимо для ответа на POST (${max} байт)`,
  answerTooLarge: ({ max }) => `ответ больше answer_bytes_max (${max} байт)`,
  tooManyValues: ({ valuesMax }) => `значений больше, чем допустимо для ответа на POST (${valuesMax})`,
  notFinished: ({ seconds }) => `не завершён за ${seconds} с`,
  noConnection: "соединение не установлено вовремя",
  notAnswered: "нет ответа вовремя",
  proxyRefused: ({ status }) => `отклонён прокси (${status})`,
  notReached: ({ code }) => `не дошёл до сервиса (${code})`,
  notHttp: ({ code }) => `ответ не соответствует HTTP (${code})`,
  cutOff: ({ code }) => `соединение оборвалось (${code})`,
  placeAnswered: ({ status }) => `Получен ответ ${status}.`,
  stoppedCalling: "Остановлено во время обращения.",
  placeSilent: ({ seconds }) => `Нет ответа в течение ${seconds} с.`,
  placeNotReached: ({ code }) => `Связаться не удалось (${code}).`,
  of: ({ request, what }) => `${request}: ${what}`,
  answered: ({ status, place, words }) =>
    `ответ ${status}${place === "" ? "" : `, отсылает к ${place}`}${words === "" ? "" : `: ${words}`}`,
  nowhere: "никуда",
  noLink: "нет соединения",
  cached: ({ path, sign }) => `Ответ GET ${path} взят из кэша (${sign}): нового в нём нет.`,
  exemptFromCache: "Исключите адреса сервиса под /api/v1/1c из кэша, который стоит перед ним.",
} satisfies typeof en;
