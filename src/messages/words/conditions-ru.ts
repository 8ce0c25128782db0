import { ended } from "../end-sentence.ts";
import { countedRu, sizeTextRu, spanTextRu } from "../numbers.ts";
import type { conditionsEn } from "./conditions-en.ts";
import { failureWords, holdWords } from "./status.ts";
import { statusRu } from "./status-ru.ts";

const BY_ITSELF = "Ничего делать не нужно: пройдёт само.";
const COMPARED = "Сверьте с сайтом то, чего может не хватать, как сказано в строке остановки; затем:";
const RESUME = "Когда причина устранена, продолжите сразу:";
const RESTART = "Перезапустите службу:";
const FIT = "Найдите подходящие пути и формы и внесите их в настройки; сохранённое будет прочитано снова:";
const DATABASE_RECOVERY = "Базой снова можно пользоваться.";

function held({ subject, since, reason }: { subject: string; since: string; reason: string }): string {
  return `${named(subject)}: остановлено с ${since} — ${holdWords(reason, statusRu)}.`;
}

function hold(next = RESUME) {
  return {
    text: held,
    next,
    recovery: (area: string) => `${named(area)}: больше не остановлено.`,
  };
}

function counts(
  what: (n: number, subject: string) => string,
  next: string,
  over: string | ((subject: string) => string),
) {
  return {
    text: ({ count, subject }: { count: number; subject: string }) => what(count, subject),
    next,
    recovery: (subject: string) => (typeof over === "string" ? over : over(subject)),
  };
}

export const conditionsRu = {
  database_trouble: {
    text: ({ sentence }) => sentence,
    next: "Что делать, сказано в первом предложении; пройдёт само вместе с причиной.",
    recovery: () => DATABASE_RECOVERY,
  },
  database_damaged: {
    text: () => "База повреждена: восстановите последнюю копию командой erp-bridge restore FILE.",
    next: "Восстановите последнюю копию:",
    recovery: () => DATABASE_RECOVERY,
  },
  database_log_cut: {
    text: () => "База или её -wal обрезаны или перезаписаны: запустите службу, она сначала проверит базу.",
    next: RESTART,
    recovery: () => DATABASE_RECOVERY,
  },
  database_older: {
    text: () => "База старше того, что уже подтверждено сервису: запустите службу, она сообщит, что делать.",
    next: RESTART,
    recovery: () => DATABASE_RECOVERY,
  },
  foreign_journal: {
    text: () =>
      "Рядом с базой лежит файл с её именем и -journal: другие программы не могут её открыть, подтверждения не отправляются. Перенесите файл в другую папку или перезапустите службу.",
    next: "Перенесите файл в другую папку или перезапустите службу:",
    recovery: () => DATABASE_RECOVERY,
  },
  reload_failed: {
    text: ({ sentence }) => sentence,
    next: "Исправьте настройки и перечитайте их. Что в них не так:",
    recovery: () => "Настройки приняты.",
  },
  credential_replaced: {
    text: ({ since }) =>
      `Client Secret заменён в ${since}, а systemd передаёт его только при запуске: systemctl restart erp-bridge.`,
    next: RESTART,
    recovery: () => "Снова используется Client Secret из файла.",
  },
  not_running: {
    text: () => "Служба не запущена.",
    next: "Запустите её:",
    recovery: () => "Служба снова работает.",
  },
  not_answering: {
    text: ({ since }) =>
      `Служба работает, но не отвечает с ${since}: посмотрите её журнал, затем остановите её и запустите снова.`,
    next: RESTART,
    recovery: () => "Служба снова отвечает.",
  },
  hold_credentials: hold(
    "Сверьте client_id и client secret с настройками доступа к API в сервисе. Новый секрет вступает в силу после перезапуска службы, тогда обмен продолжится сам. Если здесь всё было верно, продолжите сразу:",
  ),
  hold_payment: hold("Оплатите подписку на импорт; программа пробует сама раз в полчаса, а сразу так:"),
  hold_rate_limit: hold(BY_ITSELF),
  hold_refused: hold(),
  hold_hand_out_lost: hold(COMPARED),
  hold_tie: hold(
    "Кончается само, когда заказы прочитаны по одному. Если у изменений нет времени, исправьте это; затем:",
  ),
  hold_behind: hold(BY_ITSELF),
  hold_cut: hold(),
  hold_unread: hold(FIT),
  hold_answer: hold("Если такие ответы означают, что всё принято, подтвердите это:"),
  hold_guard: hold("Проверьте в ERP строки, которые обнуляются; если всё верно, разрешите отправку:"),
  hold_table: hold(),
  hold_disk: hold("Освободите место, дальше всё пойдёт само. Сколько осталось:"),
  hold_mapping: {
    ...hold("Заново заполните столбцы сохранённых заказов:"),
    text: () => "Столбцы сохранённых заказов заполнены по прежнему сопоставлению: выполните erp-bridge remap.",
  },
  hold_account: hold("У каждой учётной записи своя база. Что задано в настройках:"),
  hold_restored: hold("Чего может не хватать, сказано в строке остановки; затем:"),
  hold_unrestored: hold("Пусть ERP запишет текущие значения, или сверьте с ней то, что читает выгрузка; затем:"),
  hold_other: hold(),
  flow_stale: {
    text: ({ subject, ageS, error, why }) =>
      `${named(subject)}: ${ageS === null ? "пока ни одного удачного обмена" : `нет удачного обмена уже ${spanTextRu(ageS)}`}${because(error, why)}.`,
    next: "Посмотрите журнал службы:",
    recovery: (flow) => `${named(flow)}: снова работает.`,
  },
  flow_failing: {
    text: ({ subject, since, error, why }) => `${named(subject)}: ошибки с ${since}${because(error, why)}.`,
    next: "Попытки повторяются сами. Если не проходит, посмотрите журнал службы:",
    recovery: (flow) => `${named(flow)}: снова работает.`,
  },
  first_pass: {
    text: ({ subject, since }) => `${named(subject)}: первый обмен идёт с ${since}.`,
    next: BY_ITSELF,
    recovery: (flow) => `${named(flow)}: работает.`,
  },
  flow_starting: {
    text: ({ subject }) => `${named(subject)}: пока ни одного удачного обмена, служба только что запущена.`,
    next: BY_ITSELF,
    recovery: (flow) => `${named(flow)}: работает.`,
  },
  unread_batches: counts(
    (n) =>
      `${countedRu(n, ["пачка заказов не прочитана", "пачки заказов не прочитаны", "пачек заказов не прочитано"])}: настройки не подходят к ответам сервиса.`,
    FIT,
    "Непрочитанных пачек заказов больше нет.",
  ),
  unjournaled_batches: {
    text: ({ count, since }) =>
      `${countedRu(count, ["пачка сохранена, но не подтверждена", "пачки сохранены, но не подтверждены", "пачек сохранено, но не подтверждено"])} с ${since}: в backup.journal нет записи.`,
    next: "Исправьте диск каталога backup.journal, укажите там другой каталог или задайте backup.journal: null. Что с ним не так:",
    recovery: () => "Запись в backup.journal снова идёт.",
  },
  refused_confirms: counts(
    (n) =>
      `${countedRu(n, ["подтверждение отклонено", "подтверждения отклонены", "подтверждений отклонено"])} сервисом.`,
    "Подтверждения отправляются снова. Если на сайте эти заказы подтверждены, их закроет erp-bridge resume confirms. Если не проходит, неверно задано orders.confirm.body; подходящее по словам сервиса:",
    "Отклонённых подтверждений больше нет.",
  ),
  larger_confirms: {
    text: ({ count, since }) =>
      `${countedRu(count, ["подтверждение", "подтверждения", "подтверждений"])} с ${since}: в ответе заказов больше, чем пришло. Сервис мог подтвердить заказы, которые не выдаст.`,
    next: "Сверьте с сайтом заказы начиная с четверти часа до этого времени и внесите недостающие вручную. Пачки названы в журнале, их печатает и сама команда. Затем:",
    recovery: () => "Подтверждений, в ответе на которые больше заказов, чем пришло, больше нет.",
  },
  large_confirms: counts(
    (n) =>
      `${countedRu(n, ["пачка сохранена", "пачки сохранены", "пачек сохранено"])}, но подтверждение сервис отклоняет как слишком большое; заказы за ней могут ждать.`,
    "Подтверждение отправляется снова. Меньше его запросы уже не сделать: спросите поддержку сервиса или администратора прокси перед ним, чем ограничен размер:",
    "Подтверждений, отклонённых из-за размера, больше нет.",
  ),
  unnamed_batches: {
    text: ({ count, times }) =>
      `${countedRu(count, ["пачку", "пачки", "пачек"])} нельзя подтвердить: ни в одной записи нет номера (id); ${times === 1 ? "" : `сервис отдал её уже не меньше ${times} раз; `}заказы за ней могут ждать.`,
    next: "Покажите запись поддержке сервиса:",
    recovery: () => "Пачек заказов без номеров (id) больше нет.",
  },
  late_confirms: {
    text: ({ count, since }) =>
      `${countedRu(count, ["подтверждение не принято", "подтверждения не приняты", "подтверждений не принято"])} с ${since}; новые заказы могут ждать.`,
    next: "Подтверждения отправляются снова. Если не проходит, покажите пачку поддержке сервиса: SELECT id, last_error FROM batches WHERE state = 'stored'",
    recovery: () => "Все подтверждения приняты.",
  },
  unsent_statuses: {
    text: ({ count, since }) =>
      `${countedRu(count, ["смена статуса из ERP ждёт", "смены статуса из ERP ждут", "смен статуса из ERP ждут"])} с ${since}, но отправка статусов выключена: statuses.path — null.`,
    next: "Укажите в statuses.path путь сервиса и перезапустите программу: тогда они будут отправлены. Ненужные сначала удалите: DELETE FROM status_requests WHERE state = 'pending'",
    recovery: () => "Смен статуса, которые ждут при выключенной отправке, больше нет.",
  },
  unsettled_statuses: {
    text: ({ count, since }) =>
      `${countedRu(count, ["смена статуса отправлена", "смены статуса отправлены", "смен статуса отправлено"])}, но с ${since} неизвестно, выполнил ли ${count === 1 ? "её" : "их"} сервис.`,
    next: "Заказы перечитываются, пока статус не появится. Что ответил сервис: SELECT id, order_id, last_error FROM status_requests WHERE state IN ('pending', 'sending'). Если сервис стал отвечать иначе, но запросы принимает, подтвердите это: erp-bridge resume statuses --hold answer.",
    recovery: () => "Отправленных смен статуса с неизвестным исходом больше нет.",
  },
  unstored_statuses: {
    text: ({ count, since }) =>
      `${countedRu(count, ["смена статуса ждёт", "смены статуса ждут", "смен статуса ждут"])} с ${since}: ${count === 1 ? "её заказа" : "их заказов"} нет в таблице orders.`,
    next: "Каждый заказ запрашивается у сервиса по id: когда он будет сохранён, запрос пойдёт дальше, а если у сервиса его нет, будет отклонён. Какие: SELECT id, order_id FROM status_requests WHERE state = 'pending' AND lower(order_id) NOT IN (SELECT order_id FROM orders). Запросы с неверным order_id удалите. Что ответил сервис: SELECT order_id, last_error FROM owed_reads; заказ, который пришёл, но не читается: erp-bridge quarantine list.",
    recovery: () => "Смен статуса, которые ждут заказа, больше нет.",
  },
  unshown_statuses: {
    text: ({ count, since }) =>
      `${countedRu(count, ["заказ остался", "заказа остались", "заказов остались"])} без статуса, который сервис принял, хотя с ${since} заказы перечитаны: возможно, статусы не выполняются.`,
    next: "Спросите поддержку сервиса, выполняются ли они. Какие: SELECT id, order_id, last_error FROM status_requests WHERE state = 'sent' AND unshown_since IS NOT NULL. Если статус потерян, добавьте новый запрос; строку, с которой разобрались, можно удалить.",
    recovery: () => "Принятых статусов, которых нет у заказов, больше не осталось.",
  },
  late_reads: {
    text: ({ count, since, why }) =>
      `${countedRu(count, ["заказ не прочитан", "заказа не прочитаны", "заказов не прочитано"])} с ${since}${because(null, why)}; данные в базе могли устареть.`,
    next: "Что ответил сервис: SELECT order_id, since, last_error FROM owed_reads. Заказы запрашиваются снова, каждый не реже раза в час; если не проходит, покажите ответы поддержке сервиса.",
    recovery: () => "Все изменённые заказы прочитаны.",
  },
  wide_failing: {
    text: ({ since }) =>
      `Сервис не отвечает на запросы изменений за сутки с ${since}. Новые изменения поступают; те, что попадают в список с опозданием, находит только сверка.`,
    next: "Запрос повторяется, за меньшее время. Если не проходит, покажите поддержке сервиса запрос и ответ на него:",
    recovery: () => "Сервис снова отвечает на запросы изменений за сутки.",
  },
  unlisted_changes: {
    text: ({ count, since }) =>
      `В списке изменений пусто: ${countedRu(count, ["заказ сменил статус, но за час в нём не появился", "заказа сменили статус, но за час в нём не появились", "заказов сменили статус, но за час в нём не появились"])}. Первый найден ${since}.`,
    next: "Пока список не заполняется, данные заказов обновляет только сверка. Сообщите поддержке сервиса, что отвечает GET /orders/updates и какие заказы нашла сверка: SELECT order_id, at, kind FROM order_events ORDER BY seq DESC. До тех пор сверяйте чаще (reconcile.schedule).",
    recovery: () => "В списке изменений снова есть изменения.",
  },
  unreadable_times: {
    text: ({ count }) =>
      `Формат времени последних заказов и изменений неизвестен (${count}): изменения, возможно, находит только сверка.`,
    next: "Попросите поддержку сервиса передавать метки времени в ISO 8601, ДД.ММ.ГГГГ или Unix-времени либо укажите другое поле в orders.fields.updated_at и updates.fields.updated_at. Как они выглядят сейчас: SELECT order_id, service_updated_at FROM orders ORDER BY order_key DESC LIMIT 20. До тех пор сверяйте чаще (reconcile.schedule).",
    recovery: () => "Формат времени заказов и изменений снова известен.",
  },
  refused_statuses: counts(
    (n) => `${countedRu(n, ["смена статуса отклонена", "смены статуса отклонены", "смен статуса отклонено"])}.`,
    "Добавьте новый запрос или удалите отклонённый. Почему: SELECT id, order_id, last_error FROM status_requests WHERE state = 'refused'",
    "Отклонённых смен статуса больше нет.",
  ),
  refused_rows: counts(
    (n, flow) =>
      `${named(flow)}: ${countedRu(n, ["строка не принята", "строки не приняты", "строк не принято"])} сервисом, отправка повторяется.`,
    BY_ITSELF,
    (flow) => `${named(flow)}: отклонённых строк больше нет.`,
  ),
  quarantined: counts(
    (n, flow) => `${named(flow)}: ${countedRu(n, ["запись", "записи", "записей"])} в карантине.`,
    "Посмотрите, какие записи не удалось использовать и почему:",
    (flow) => `${named(flow)}: в карантине больше ничего нет.`,
  ),
  former_rows: {
    text: ({ count, keys, subject }) =>
      `${named(subject)}: новый ключ не определяет ${countedRu(count, ["строку", "строки", "строк"])} на сайте: ${keys}.`,
    next: "Снимите их с продажи (gone) или оставьте как есть (keep). Сначала посмотрите:",
    recovery: (subject) => `${named(subject)}: строк прежнего ключа, ждущих решения, больше нет.`,
  },
  blocked_orders: counts(
    (n) => `${countedRu(n, ["заказ отложен", "заказа отложены", "заказов отложено"])} в ERP.`,
    "Посмотрите заказы, отложенные в ERP: представление orders_blocked.",
    "Отложенных в ERP заказов больше нет.",
  ),
  mirror_stopped: {
    text: ({ since, error, why }) => ended(`Зеркало стоит с ${since}${because(error, why)}`),
    next: "Что делать, сказано в строке; заказы и выгрузки тем временем идут. Подробнее — в журнале службы:",
    recovery: () => "Зеркало снова работает.",
  },
  fenced: {
    text: ({ why }) => ended(why || "С этим магазином работает другая программа"),
    next: "Эта программа ничего не запрашивает у сервиса; что делать, сказано в строке.",
    recovery: () => "Эта программа снова работает со своим магазином.",
  },
  mirror_refused: counts(
    (n) => `Другая сторона зеркала не приняла ${countedRu(n, ["строку", "строки", "строк"])}.`,
    "У строк ERP причина стоит в столбце error в PostgreSQL: исправьте их там. Об остальных: SELECT key, value FROM mirror_state WHERE key = 'unwritten' OR key = 'unreturned'",
    "Все строки зеркала приняты.",
  ),
  mirror_kept: counts(
    (n) =>
      `В восстановленной PostgreSQL нет ${countedRu(n, ["строки", "строк", "строк"])} ERP, или остаток в них прежний.`,
    "Здесь они остаются как есть, пока ERP не запишет их там снова. Если верна PostgreSQL — товары без строки обнулить, а больший остаток оттуда продавать:",
    "В PostgreSQL снова есть все строки ERP, и остатки в них нынешние.",
  ),
  mirror_extra: counts(
    (n) =>
      `В PostgreSQL есть ${countedRu(n, ["заказ", "заказа", "заказов"])}, ${n % 10 === 1 && n % 100 !== 11 ? "которого" : "которых"} нет в этой базе.`,
    "Эту базу восстановили из копии, или кто-то писал в PostgreSQL. Остановите здесь службу и введите erp-bridge takeover: команда перенесёт их сюда. Лишние удалите там.",
    "В PostgreSQL больше нет заказов, которых нет в этой базе.",
  ),
  objects_changed: {
    text: ({ names }) =>
      `Таблицы, представления или триггеры программы пропали или изменены другой программой: ${names}.`,
    next: "Представления, триггеры и индексы создаются снова за несколько секунд и при каждом запуске, если их имя не занято. Таблицы и столбцы может вернуть только ERP. Что делать:",
    recovery: () => "Таблицы, представления и триггеры программы снова в порядке.",
  },
  erp_objects: {
    text: ({ names }) => `На таблицах программы стоят триггеры или индексы ERP, удалите их: ${names}.`,
    next: "Удалите их; дальше всё пойдёт само.",
    recovery: () => "На таблицах программы больше нет триггеров и индексов ERP.",
  },
  clock_off: {
    text: ({ offsetS }) =>
      `Часы этой машины ${offsetS > 0 ? "спешат" : "отстают"} от часов сервиса на ${spanTextRu(Math.abs(offsetS))}: выставьте их, например командой timedatectl set-ntp true.`,
    next: "Выставьте часы, например:",
    recovery: () => "Часы этой машины снова сходятся с часами сервиса.",
  },
  copies_misnamed: {
    text: ({ file }) => `Новейшая копия в backup.dir — ${file}, а в имени другой время позднее: часы шли неверно.`,
    next: "Восстанавливайте из названной здесь. Остальные уйдут сами, когда новых станет достаточно; можно и удалить их.",
    recovery: () => "Имена копий снова показывают новейшую.",
  },
  disk_low: {
    text: ({ free }) => `На диске с базой свободно только ${sizeTextRu(free)}.`,
    next: "Освободите место. Сколько осталось:",
    recovery: () => "На диске снова достаточно места.",
  },
  channel_unreachable: {
    text: ({ subject, since, error }) => `${CHANNELS[subject] ?? subject}: нет связи с ${since} (${error}).`,
    next: "Исправьте alerts или heartbeat в настройках или проверьте, работает ли получатель. Пройдёт со следующим удачным вызовом.",
    recovery: (channel) => `${CHANNELS[channel] ?? channel}: связь восстановлена.`,
  },
  page_silent: {
    text: ({ address, since, error }) =>
      `Страница состояния не открывается на ${address} с ${since}: ${error === "EADDRINUSE" ? "порт занят другой программой" : error}. Заказы продолжают идти.`,
    next: "Задайте в http.listen другой порт или закройте программу, которая его занимает. Какая это программа:",
    recovery: () => "Страница состояния снова открывается.",
  },
  orders_untaken: {
    text: ({ ageS }) => `ERP не забирает заказы уже ${age(ageS)}.`,
    next: "Проверьте, работает ли обмен заказами в ERP.",
    recovery: () => "ERP снова забирает заказы.",
  },
  erp_silent: {
    text: ({ subject, ageS }) => `ERP не обновляла свою таблицу (${named(subject).toLowerCase()}) уже ${age(ageS)}.`,
    next: "Проверьте, работает ли выгрузка таблиц из ERP.",
    recovery: (feed) => `ERP снова обновляет свою таблицу (${named(feed).toLowerCase()}).`,
  },
  log_grown: {
    text: ({ bytes }) =>
      `Журнал базы вырос до ${Math.round(bytes / 1024 / 1024)} МБ: какая-то программа держит базу открытой для чтения.`,
    next: "Закройте программу, которая часами держит базу открытой; её поможет найти lsof. Журнал уменьшится сам.",
    recovery: () => "Журнал базы снова невелик.",
  },
} satisfies typeof conditionsEn;

const CHANNELS: Readonly<Record<string, string>> = {
  webhook: "Адрес для оповещений",
  command: "Программа оповещений",
  heartbeat: "Контрольный адрес",
};

function because(error: string | null, why: string | null): string {
  const words = failureWords({ error, why }, statusRu);
  return words === "" ? "" : ` — ${words}`;
}

function age(seconds: number | null): string {
  return seconds === null ? "?" : spanTextRu(seconds);
}

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
  mirror: "Зеркало",
  erp: "ERP",
};

function named(flow: string): string {
  return NAMES[flow] ?? flow;
}
