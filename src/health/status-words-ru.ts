import { describeBytes } from "../backup/space-rule.ts";
import type { StatusWords } from "./status-words.ts";

export const russianStatus = {
  upToDate: "Всё в порядке.",
  next: "Дальше",
  asked: (ageS) => (ageS === null ? "удачных опросов ещё не было" : `опрос ${duration(ageS)} назад`),
  askedAt: (at) => (at === null ? "успешных опросов ещё не было" : `опрос в ${at}`),
  seenAt: (at, text) => `${at}: ${text}`,
  lastOrder: (at) => (at === null ? "заказов ещё не было" : `последний заказ ${at}`),
  waitingForErp: (n, oldestS) =>
    n === 0
      ? "ERP забрала все заказы"
      : `${count(n, ["заказ ещё не забран", "заказа ещё не забраны", "заказов ещё не забрано"])} в ERP, самый старый ждёт ${age(oldestS)}`,
  stockAsOf: (at) => (at === null ? "остатки ещё не отправлялись" : `остатки на сайте по состоянию на ${at}`),
  duration,
  bytes: bytesOf,
  errors: {
    config_invalid: "ошибка в настройках",
    node_too_old: "слишком старая версия Node",
    usage: "ошибка в вызове",
    instance_running: "уже работает другой экземпляр",
    account_changed: "база принадлежит другой учётной записи",
    database_refused: "базу нельзя использовать",
    database_newer: "база от более новой версии",
    migration_edited: "история базы не подходит к этой версии",
    database_busy: "базу держит другая программа",
    database_corrupt: "база повреждена",
    disk_full: "диск заполнен",
    disk_failed: "сбой диска",
    folder_missing: "нет папки с изображениями",
    table_missing: "нет таблицы",
    credentials_refused: "сервис не принимает учётные данные",
    payment_required: "подписка на импорт не оплачена",
    rate_limited: "сервис просит подождать",
    unavailable: "сервис недоступен",
    unreachable: "нет связи с сервисом",
    timed_out: "сервис не отвечает вовремя",
    answer_unreadable: "ответ сервиса не читается",
    answer_too_large: "ответ сервиса слишком велик",
    answer_unknown: "по виду ответа сервиса неизвестно, принят ли запрос",
    answer_shape: "ответ сервиса не подходит к настройкам",
    redirected: "сервис отсылает на другой адрес",
    request_refused: "сервис отклоняет запрос",
    mirror_away: "нет связи с PostgreSQL зеркала",
    mirror_slow: "PostgreSQL зеркала не отвечает вовремя",
    mirror_full: "у PostgreSQL зеркала нет места",
    mirror_read_only: "PostgreSQL зеркала не принимает запись",
    mirror_access: "PostgreSQL зеркала не пускает программу",
    mirror_certificate: "сертификату PostgreSQL зеркала нет доверия",
    mirror_right: "программе не хватает права в PostgreSQL зеркала",
    mirror_schema: "схемы зеркала нет или она другой версии",
    mirror_database: "ключ магазина в зеркале принадлежит другой базе",
    mirror_fenced: "для этого магазина работает другая машина",
    mirror_failed: "PostgreSQL зеркала отклоняет запрос",
    stopped: "остановлено",
    internal: "внутренняя ошибка",
  },
  holds: {
    credentials: "сервис не принимает учётные данные",
    payment: "подписка на импорт не оплачена",
    "rate limit": "сервис просит подождать",
    refused: "сервис отклоняет запрос",
    "hand-out lost": "ответ с заказами потерян, подтверждения ждут",
    tie: "часть изменений с одинаковой меткой времени может быть недоступна",
    behind: "изменений больше, чем читается за один проход; чтение продолжается",
    cut: "сервис отдаёт не все изменения; чтобы найти остальные, заказы читаются по одному",
    unread: "ответы не удаётся прочитать, и места для них больше нет",
    answer: "сервис отвечает в новом виде, и неизвестно, приняты ли строки; они отправляются снова",
    guard: "обнуление остатков ждёт разрешения",
    table: "таблица или файл отсутствует, пуст или не читается",
    disk: "мало места на диске, новые заказы не запрашиваются",
    mapping: "столбцы заказов заполнены по прежнему сопоставлению",
    account: "база принадлежит другой учётной записи",
    restored: "часть ранее подтверждённых заказов может отсутствовать; обмен идёт",
  },
} as const satisfies StatusWords;

const NAMES: Readonly<Record<string, string>> = {
  orders: "Заказы",
  updates: "Изменения заказов",
  statuses: "Статусы",
  imports: "Выгрузка на сайт",
  stocks: "Остатки",
  prices: "Цены",
  catalog: "Каталог",
  images: "Изображения",
  reconcile: "Сверка заказов",
  backup: "Резервные копии",
  upkeep: "Уборка истории",
  erp: "ERP",
};

export function named(flow: string): string {
  return NAMES[flow] ?? flow;
}

export function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} с`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} мин`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} ч`;
  return count(Math.floor(seconds / 86_400), ["день", "дня", "дней"]);
}

function age(seconds: number | null): string {
  return seconds === null ? "?" : duration(seconds);
}

export function bytesOf(bytes: number): string {
  const units: Readonly<Record<string, string>> = { KB: "КБ", MB: "МБ", GB: "ГБ" };
  return describeBytes(bytes)
    .replace(".", ",")
    .replace(/[KMG]B/, (unit) => units[unit] ?? unit);
}

/** `1 заказ`, `2 заказа`, `5 заказов` */
export function count(n: number, [one, few, many]: readonly [one: string, few: string, many: string]): string {
  const form = new Intl.PluralRules("ru").select(n);
  return `${n} ${form === "one" ? one : form === "few" ? few : many}`;
}
