/** What the keys of the configuration mean: told below a problem with one of them. */
export const meanings = {
  // imports
  "The rejected records in the answer: a list of them, or an object of reasons by key; none where an accepted answer lacks it.":
    "Отклонённые записи в ответе: список записей или объект, в котором по ключу записи стоит причина; если в принятом ответе его нет, то и отклонённых нет.",
  "In a rejected record: what ties it to the record sent.":
    "В отклонённой записи: то, что связывает её с отправленной.",
  "In a rejected record: the reason, in the service's words.": "В отклонённой записи: причина словами сервиса.",
  "Table or view that holds the rows.": "Таблица или представление со строками.",
  "Another SQLite file that holds the table or answers the query, relative to this file; opened for reading only.":
    "Другой файл SQLite с этой таблицей или для этого запроса, относительно файла настроек; открывается только для чтения.",
  "Columns that together name a row.": "Столбцы, которые вместе определяют строку.",
  "Column that holds the key of the row which must be on the site before this one, where record names it; null: the order does not matter.":
    "Столбец с ключом строки, которая должна попасть на сайт раньше этой, если он есть в record; null: порядок не важен.",
  "When changed rows are looked for (cron).": "Когда ищутся изменённые строки (cron).",
  "Path of the import below base_url; null: the feed is off.":
    "Путь импорта относительно base_url; null: выгрузка выключена.",
  "Name of the array in the request body.": "Имя массива в теле запроса.",
  "A value calculated from columns, used in the record as {available}.":
    "Значение, вычисляемое по столбцам; в record его обозначает {available}.",
  "One record of the array; {column} is the row's value.": "Одна запись массива; {column} — значение столбца строки.",
  "changed: only rows that differ; whole: each request is the complete table, never chunked, never from an empty table.":
    "changed: только различающиеся строки; whole: каждый запрос — вся таблица, без деления на части и никогда из пустой таблицы.",
  "Records a request; adapts downward on 413.": "Записей в запросе; при ответе 413 уменьшается само.",
  "A row that is absent for less is not deleted.": "Строка, пропавшая на меньший срок, не считается удалённой.",
  "What a deleted row sends: the last sent record with these properties replaced, by default what {available} or {active} stands for, wherever record has it; ignore: nothing.":
    "Что отправляется для удалённой строки: последняя отправленная запись с заменой этих свойств, по умолчанию — значения {available} или {active}, где бы оно ни стояло в record; ignore: ничего.",
  "Holds a sudden emptying until it is approved.": "Задерживает внезапное обнуление, пока его не разрешат.",
  "More than this share of the rows going to zero or away waits for approve.":
    "Если обнуляется или исчезает больше этой доли строк, они ждут approve.",
  "Time within which they are counted together.": "Срок, за который они считаются вместе.",
  "Fewer rows than this never wait.": "Если строк меньше, они не ждут никогда.",
  "Where an answer reports single records: { rejected, key, message }; null: the status code alone decides.":
    "Где ответ сообщает об отдельных записях: { rejected, key, message }; null: решает только код ответа.",
  "When all rows are compared with what was acknowledged (cron).":
    "Когда все строки сверяются с подтверждённым (cron).",
  "What is in stock.": "Что есть в наличии.",
  "What it costs. Off until its path is set.": "Сколько это стоит. Выключено, пока не указан path.",
  "What there is. Off until its path is set.": "Что вообще есть. Выключено, пока не указан path.",
  "What it looks like. Off until its path is set.": "Как это выглядит. Выключено, пока не указан path.",
  "What the ERP pushes to the service, one feed each.": "Что ERP отправляет сервису, по выгрузке на каждый вид.",
  // orders
  "New orders: how they are fetched, read and confirmed.": "Новые заказы: как их получают, читают и подтверждают.",
  "When new orders are pulled (cron).": "Когда запрашиваются новые заказы (cron).",
  "Further query parameters of GET /orders.": "Дополнительные параметры запроса GET /orders.",
  "Where a batch keeps what.": "Где что лежит в пачке.",
  "The list of orders in a batch.": "Список заказов в пачке.",
  "The batch's own id, if it has one.": "Собственный идентификатор пачки, если он есть.",
  "How a batch is confirmed.": "Как подтверждается пачка.",
  "Body of the confirm; auto sends batch_id where the answer names one, else order_ids; {} names nothing.":
    "Тело подтверждения; auto отправляет batch_id, если ответ его называет, иначе order_ids; {} не называет ничего.",
  "How long a confirm that names nothing waits after an answer to GET /orders was lost.":
    "Сколько ждёт подтверждение, которое ничего не называет, после потерянного ответа на GET /orders.",
  "Where an order keeps what.": "Где что лежит в заказе.",
  "The order's id, a UUID.": "Идентификатор заказа, UUID.",
  "The number that people use.": "Номер, которым пользуются люди.",
  "The order's status.": "Статус заказа.",
  "When the order was made.": "Когда заказ создан.",
  "When the order last changed.": "Когда заказ изменён в последний раз.",
  "The order's currency.": "Валюта заказа.",
  "The order's sum.": "Сумма заказа.",
  "The list of the order's lines.": "Список строк заказа.",
  "Where a line keeps what.": "Где что лежит в строке заказа.",
  "The article's key.": "Артикул.",
  "The article's name.": "Название товара.",
  "How many.": "Количество.",
  "The price of one.": "Цена за единицу.",
  "Further columns of orders_wide, each with its path in the order; order_lines_wide shows those of a line's order, except under names of its own.":
    "Дополнительные столбцы orders_wide, каждый со своим путём в заказе; order_lines_wide показывает столбцы заказа строки, кроме совпадающих с её собственными.",
  "Further columns of order_lines_wide, each with its path in the line.":
    "Дополнительные столбцы order_lines_wide, каждый со своим путём в строке заказа.",
  "Paths whose change alone is no change of the order.": "Пути, изменение которых само по себе не меняет заказ.",
  "What the service's status names mean.": "Что означают названия статусов сервиса.",
  "Statuses of a cancelled order.": "Статусы отменённого заказа.",
  "Statuses after which nothing more is expected.": "Статусы, после которых ничего больше не ожидается.",
  "As orders.fields.{field}, where a change names it differently.":
    "То же, что orders.fields.{field}, если изменение называет это иначе.",
  // updates and statuses
  "Later changes of orders: how they are followed.": "Последующие изменения заказов: как за ними следят.",
  "When changes are asked for (cron).": "Когда запрашиваются изменения (cron).",
  "The list of changes in an answer.": "Список изменений в ответе.",
  "Where a change names things differently from orders.fields.":
    "Где изменение называет что-то иначе, чем orders.fields.",
  "What the answer holds: changes (each changed order is then read whole) or whole orders.":
    "Что содержит ответ: changes (тогда каждый изменённый заказ читается целиком) или whole — заказы целиком.",
  "Form of the since parameter: iso (as the service writes its own timestamps), unix seconds or unix_ms.":
    "Вид параметра since: iso (как метки времени самого сервиса), unix — секунды или unix_ms.",
  "How far before the watermark each poll asks again, for changes that appear late.":
    "На сколько раньше отметки запрашивает каждый опрос: для изменений, которые появляются с опозданием.",
  "A rarer, wider look back.": "Более редкий и более широкий взгляд назад.",
  "When the sweep runs (cron).": "Когда он выполняется (cron).",
  "How far before the watermark the sweep asks.": "На сколько раньше отметки он запрашивает.",
  "The next since, where the answer itself names it; null: the largest timestamp seen.":
    "Следующее значение since, если ответ сам его называет; null: наибольшая встреченная метка времени.",
  "The order in the answer of GET /orders/{order_id}.": "Заказ в ответе GET /orders/{order_id}.",
  "Statuses that the ERP sends back.": "Статусы, которые отправляет ERP.",
  "When waiting requests are sent (cron).": "Когда отправляются ожидающие запросы (cron).",
  "HTTP method of a status change.": "Метод HTTP для смены статуса.",
  "Path of a status change with {order_id}; null: nothing is sent.":
    "Путь смены статуса с {order_id}; null: ничего не отправляется.",
  "Body of a status change; {status}, {comment} and the names in data of the request may be used.":
    "Тело смены статуса; можно использовать {status}, {comment} и имена из data запроса.",
  "The ERP's status names to the service's; a name that is absent is sent as it is.":
    "Названия статусов ERP и соответствующие названия сервиса; отсутствующее отправляется как есть.",
  // the service
  "The service, and how the bridge behaves towards it.": "Сервис и то, как программа с ним работает.",
  "Address of the service, https (http on loopback only), without query and credentials.":
    "Адрес сервиса, https (http — только loopback), без параметров запроса и учётных данных.",
  "Client ID from the service's API access settings.": "Client ID из настроек доступа к API в сервисе.",
  "Client Secret itself, best as ${ERP_BRIDGE_CLIENT_SECRET}; either this or client_secret_file.":
    "Сам Client Secret, лучше в виде ${ERP_BRIDGE_CLIENT_SECRET}; либо он, либо client_secret_file.",
  "File that holds the Client Secret, relative to this file; with neither key the systemd credential client-secret is read.":
    "Файл с Client Secret, относительно файла настроек; если нет ни того ни другого ключа, читаются учётные данные systemd client-secret.",
  "Time zone of the service's times that name none.": "Часовой пояс для времени сервиса, в котором пояс не указан.",
  "The most requests a second that the bridge sends, all areas together.":
    "Наибольшее число запросов в секунду, по всем областям вместе.",
  "How long a request may take.": "Сколько может длиться запрос.",
  "Until the connection stands.": "До установления соединения.",
  "Until the answer begins.": "До начала ответа.",
  "Until the whole answer is read.": "До полного чтения ответа.",
  "The same for an import; also how long rows in doubt rest.":
    "То же для импорта; столько же ждут строки, исход отправки которых неизвестен.",
  "The largest answer that is read; a larger one is an error and confirms nothing.":
    "Наибольший ответ, который читается; больший считается ошибкой и ничего не подтверждает.",
  "The most records (orders, changes) that one answer may hold; more are an error and confirm nothing. 200,000 take some 400 MB of memory while they are read.":
    "Наибольшее число записей (заказов, изменений) в одном ответе; если их больше, это ошибка и ничего не подтверждается. При чтении 200 000 записей занимают около 400 МБ памяти.",
  "The most JSON values that one answer may hold; more are an error and confirm nothing.":
    "Наибольшее число значений JSON в одном ответе; если их больше, это ошибка и ничего не подтверждается.",
  "How the service is reached from a network that lets nothing out directly: env (HTTPS_PROXY and NO_PROXY of the program's environment), the address of a proxy, or null. A service on loopback is asked directly.":
    "Как обращаться к сервису из сети, откуда нет прямого выхода: env (HTTPS_PROXY и NO_PROXY из окружения программы), адрес прокси или null. К сервису на loopback обращение всегда прямое.",
  "File with certificates (PEM) of authorities that are believed beside the usual ones, relative to this file, for a network that inspects TLS.":
    "Файл с сертификатами (PEM) центров, которым доверяют помимо обычных, относительно этого файла; нужен в сети, которая проверяет TLS.",
  // upkeep
  "The table must be written at least once in this time; null: its silence is no trouble.":
    "За это время таблица должна быть записана хотя бы раз; null: её молчание не считается сбоем.",
  "Where everything is kept.": "Где всё хранится.",
  "The SQLite file, relative to this file.": "Файл SQLite, относительно файла настроек.",
  "When the ERP's silence is worth attention.": "Когда молчание ERP требует внимания.",
  "Waiting orders must be taken within this time.": "За это время ожидающие заказы должны быть забраны.",
  "How often the ERP writes its tables.": "Как часто ERP записывает свои таблицы.",
  "A look at stored orders for differences that no change has told of.":
    "Сверка сохранённых заказов: поиск различий, о которых не сообщило ни одно изменение.",
  "When stored orders are compared with the service (cron).": "Когда сохранённые заказы сверяются с сервисом (cron).",
  "At most so many orders that are still open are read each time; the rest follows the next time.":
    "Столько ещё открытых заказов, самое большее, читается за раз; остальные — в следующий раз.",
  "So many of the other orders are read each time, in turn.": "Столько остальных заказов читается за раз, по очереди.",
  "Who is told when something needs attention.": "Кого оповещать, когда что-то требует внимания.",
  "Program that is started, without a shell: its path, or a list of path and arguments; null: none.":
    "Программа, которая запускается без оболочки: путь или список из пути и аргументов; null: нет.",
  "Address that receives a POST; null: none.": "Адрес, на который отправляется POST; null: нет.",
  "Address that is called only while everything is fresh, so that silence raises an alarm elsewhere; null: none.":
    "Адрес, к которому обращаются, только пока всё в порядке, чтобы молчание подняло тревогу в другом месте; null: нет.",
  "Copies of the database.": "Копии базы.",
  "When a copy is made (cron).": "Когда делается копия (cron).",
  "Folder of the copies, relative to this file; unless set, backups beside the database.":
    "Каталог копий, относительно файла настроек; если не указан — backups рядом с базой.",
  "How many copies stay.": "Сколько копий хранится.",
  "Folder, best on another disk, where each batch is also kept before its confirm, for restore; null: none.":
    "Каталог, лучше на другом диске, куда каждая пачка записывается до подтверждения, для restore; null: нет.",
  "How long history stays. Orders and what waits are never removed.":
    "Сколько хранится история. Заказы и всё ожидающее не удаляются никогда.",
  "Rows of runs.": "Строки runs.",
  "Rows of batches that are confirmed.": "Строки batches, которые подтверждены.",
  "Rows of status_requests that were sent.": "Строки status_requests, которые отправлены.",
  "Rows of order_events.": "Строки order_events.",
  "Health, metrics and the status page, for this machine alone.":
    "Проверка работы, метрики и страница состояния, только для этой машины.",
  "Loopback address and port, or off; a taken port never stops orders and is tried again.":
    "Адрес loopback и порт или off; занятый порт не останавливает заказы, попытки повторяются.",
  "Language of messages, the log, alerts and the status page; unless written, that of the locale (LC_ALL, LC_MESSAGES, LANG).":
    "Язык сообщений, журнала, оповещений и страницы состояния; если не указан — язык окружения (LC_ALL, LC_MESSAGES, LANG).",
  "What the program tells.": "Что сообщает программа.",
  "The least important messages that are written.": "Наименее важные из записываемых сообщений.",
} as const;
