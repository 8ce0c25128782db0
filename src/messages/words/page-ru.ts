import { countedRu } from "../numbers.ts";
import type { pageEn } from "./page-en.ts";

const DAY = { weekday: "short", day: "numeric", month: "short" } as const;
const ORDERS = ["заказ", "заказа", "заказов"] as const;

export const pageRu = {
  verdicts: { well: "Всё в порядке", starting: "Запуск", attention: "Нужно взглянуть", ill: "Не всё в порядке" },
  allWell: "Заказы и остатки актуальны.",
  noOrdersYet: "Заказов ещё не было. Первый появится здесь в течение минуты после оформления.",
  justStarted: "Программа только что запущена. Состояние появится здесь через минуту-две.",
  headings: {
    attention: "Что ещё требует внимания",
    steps: "Что сделать",
    flows: "Потоки обмена",
    orders: "Получено заказов по дням",
    site: "Возраст остатков на сайте",
    numbers: "В цифрах",
  },
  flows: {
    orders: { name: "Заказы", what: "с сайта" },
    updates: { name: "Изменения", what: "заказов, с сайта" },
    statuses: { name: "Статусы", what: "на сайт" },
    stocks: { name: "Остатки", what: "на сайт" },
    prices: { name: "Цены", what: "на сайт" },
    catalog: { name: "Каталог", what: "на сайт" },
    images: { name: "Изображения", what: "на сайт" },
    reconcile: { name: "Сверка", what: "заказов с сайтом" },
    backup: { name: "Резервная копия", what: "базы" },
    upkeep: { name: "Уборка", what: "старой истории" },
    mirror: { name: "Зеркало", what: "в PostgreSQL" },
    erp: { name: "ERP", what: "забирает заказы" },
  },
  states: {
    fresh: "Актуально",
    starting: "Запуск",
    failing: "Ошибки",
    stale: "Молчит",
    held: "Остановлено",
    late: "Отстаёт",
    look: "Внимание",
  },
  switchedOff: (names) => `Выключено: ${names}.`,
  succeeded: (ago) => (ago === null ? "Удачный обмен только что." : `Удачный обмен ${ago} назад.`),
  neverSucceeded: "Удачного обмена ещё не было.",
  failing: (why) => `Ошибка: ${why}.`,
  heldFor: (reason) => `Причина: ${reason}.`,
  waiting: (flow, n, oldest) =>
    `${flow === "erp" ? `Ещё не забрано: ${many(n, ORDERS)}` : `Ждут отправки или чтения: ${numberText(n)}`}${oldest === null ? "" : `, дольше всего ${oldest}`}.`,
  refused: (n) => `Не принято сервисом, отправка повторяется: ${numberText(n)}.`,
  quarantined: (flow, n) => `${flow === "erp" ? "Отложено в ERP" : "В карантине"}: ${numberText(n)}.`,
  everythingTaken: "Все заказы забраны.",
  siteAsOf: (ago) => `На сайте состояние ${ago} назад.`,
  orders: {
    caption: (total, days) => `${many(total, ORDERS)} за ${countedRu(days, ["день", "дня", "дней"])}`,
    most: (n, day) => `больше всего ${day}: ${numberText(n)}`,
    none: "За последние две недели заказов не было.",
  },
  site: {
    caption: (hours) => `Наибольший за каждый час, последние ${countedRu(hours, ["час", "часа", "часов"])}`,
    most: (age) => `не более ${age}`,
    none: "За последние сутки ничего не отправлялось.",
    now: (age) => `сейчас ${age}`,
  },
  values: "Значения",
  day: "День",
  hour: "Час",
  count: "Заказы",
  age: "Наибольший возраст",
  today: "сегодня",
  now: "сейчас",
  unknown: "неизвестно",
  ordersOf: (n) => many(n, ORDERS),
  dayName: (date) => date.toLocaleDateString("ru-RU", DAY),
  number: numberText,
  numbers: {
    orders: "Сохранено заказов",
    pending: "Ещё не забрано в ERP",
    unconfirmed: "Пачек без подтверждения",
    quarantined: "Записей в карантине",
    database: "База",
    log: "Журнал базы",
    free: "Свободно на диске",
    since: "Работает с",
    version: "Версия",
  },
  asOf: (time) => `Состояние на ${time}.`,
  renewed: "Страница обновляется каждую минуту.",
  forMachines: "Для программ:",
} satisfies typeof pageEn;

function many(n: number, forms: readonly [string, string, string]): string {
  return countedRu(n, forms).replace(String(n), numberText(n));
}

function numberText(n: number): string {
  return n.toLocaleString("ru-RU");
}
