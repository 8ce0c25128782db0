/** What the jobs say: in the log, in `runs`, in holds and in the preview of a sync. */
export const jobs = {
  "the nightly comparison": "ночная сверка",
  "first use": "первое использование",
  "the configuration was changed": "настройки изменены",
  "changes were not noted before": "изменения раньше не отмечались",
  "a retry": "повтор",
  "a person's request": "по запросу человека",
  // backup and the journal
  "Making a copy in {folder}": "Создание копии в {folder}",
  "A verified copy of the database was made ({size~}).": "Сделана проверенная копия базы ({size}).",
  "A copy needs {needed~}, and {free~} are free in {folder}.":
    "Для копии нужно {needed}, а в {folder} свободно {free}.",
  "A copy needs {needed~}, and {free~} are free in {folder}, the database's own disk.":
    "Для копии нужно {needed}, а в {folder}, на диске самой базы, свободно {free}.",
  "Free some space, lower backup.keep, or set backup.dir to another disk.":
    "Освободите место, уменьшите backup.keep или укажите в backup.dir другой диск.",
  "The journal could not be tidied up.": "Не удалось убрать старое из журнала.",
  // channels
  "What was notified could not be written yet.": "Не удалось пока записать, о чём уже сообщили оповещения.",
  "{name}: can be reached again.": "{name}: связь восстановлена.",
  "{name}: {message!} The flows go on.": "{name}: {message} Обмен продолжается.",
  "This is a test: alerts of erp-bridge arrive here.": "Это проверка: сюда приходят оповещения erp-bridge.",
  // shapes
  "The answer of GET {path} comes from a cache ({sign*}): what is new is not in it.":
    "Ответ GET {path} взят из кэша ({sign}): нового в нём нет.",
  "Exempt the service's addresses below /api/v1/1c from the cache in front of it.":
    "Исключите адреса сервиса под /api/v1/1c из кэша, который стоит перед ним.",
  "GET /orders/{id}: it answered with another order ({other}), into which it may have been merged.":
    "GET /orders/{id}: пришёл другой заказ ({other}); возможно, этот заказ объединён с ним.",
  // checks of the service
  "GET /orders/updates is answered": "на GET /orders/updates приходит ответ",
  "an unknown order is answered as unknown": "неизвестный заказ назван неизвестным",
  "an import is let in": "импорт разрешён",
  "the service sends no Date, so clocks cannot be compared": "сервис не присылает Date, сравнить часы нельзя",
  "this machine's clock is {minutes} min away from the service's":
    "часы этой машины расходятся с часами сервиса на {minutes} мин",
  "this machine and the service agree on the time": "часы этой машины и сервиса сходятся",
  // the write lock
  "The database can be written again.": "В базу снова можно писать.",
  "Another program holds the database's write lock; waiting for it.":
    "Базу держит для записи другая программа; ожидание.",
  "Stopped while waiting for the database's write lock.": "Остановлено во время ожидания записи в базу.",
  // orders, batches, confirms
  "Only {free~} are free in {folder}: no further orders are asked for until there is room.":
    "В {folder} свободно только {free}: новые заказы не запрашиваются, пока нет места.",
  "There is room on the disk again; orders are asked for.": "Место на диске снова есть; заказы запрашиваются.",
  "Only {free~} are free in {folder}.": "В {folder} свободно только {free}.",
  "The mapping of orders was changed; stored orders are put right by: erp-bridge remap":
    "Сопоставление заказов изменено; сохранённые заказы исправит: erp-bridge remap",
  "{count#} damaged payload[s] found; the orders are read again. Check the disk.":
    "Повреждено сохранённых заказов: {count}; они читаются заново. Проверьте диск.",
  // updates
  "Old history stays, because the service does not confirm this machine's time.":
    "Старая история остаётся: сервис не подтверждает время этой машины.",
  // feeds
  "{name}: {source!} is as it should be again.": "{name}: {source}: снова в порядке.",
  "{name}: all rows are compared.": "{name}: сверяются все строки.",
  "{name}: changes of {table} are noted from now on.": "{name}: изменения {table} теперь отмечаются.",
  "{name}: {lost#} row[s] on the site cannot be told from others after the change of key, and will stay there until the ERP names the same article again.":
    "{name}: после смены ключа {lost} {lost:строку|строки|строк} на сайте нельзя отличить от других; там всё остаётся как есть, пока ERP не назовёт их снова.",
  "{name}: what was sent is kept by {columns} now.": "{name}: отправленное теперь учитывается по {columns}.",
  "The service refuses the table as a whole ({words~}).": "Сервис отклоняет таблицу целиком ({words}).",
  "POST {path}: the service refuses the table as a whole ({words*}).":
    "POST {path}: сервис отклоняет таблицу целиком ({words}).",
  "{name}: not one record of the whole table can be sent, so nothing is.":
    "{name}: нельзя отправить ни одной записи таблицы, поэтому не отправлено ничего.",
  "POST {path} was answered with {what~}.": "На POST {path} пришло: {what}.",
  "a web page, which accepts nothing": "веб-страница, она ничего не принимает",
  "JSON that breaks off": "оборванный JSON",
  "POST {path}: every record that is tried is refused ({words*}), so none is blamed":
    "POST {path}: отклоняется любая запись ({words}), поэтому ни одна не считается ошибочной",
  "{what!}; if the record is wrong, put imports.{name} right.":
    "{what}; если неверен вид записи, исправьте imports.{name}.",
  "{name}: the service takes no more than {count#} of these records a request.":
    "{name}: сервис принимает не больше {count} таких записей за запрос.",
  "{pending#} of {count#} row[s] would go to zero or away. They wait; other rows go on. If that is right: erp-bridge approve {name}":
    "Обнулились или исчезли бы строки: {pending} из {count}. Они ждут, остальные уходят. Если так и должно быть: erp-bridge approve {name}",
  "{name}: rows that go to zero wait for approval.": "{name}: обнуляемые строки ждут разрешения.",
  "{source!} is empty, and sending it whole would empty the site. Nothing is sent.":
    "{source}: пусто; отправка целиком очистила бы сайт. Ничего не отправляется.",
  "{name}: more than {max#} rows of {source!} share their key ({keys}).":
    "{name}: {source}: больше {max} строк с одинаковым ключом ({keys}).",
  "Set imports.{name}.key to columns that together name one row.":
    "Укажите в imports.{name}.key столбцы, которые вместе определяют одну строку.",
  "Stopped while rows were read.": "Остановлено во время чтения строк.",
  // preview
  "cannot be sent: nothing names the row": "отправить нельзя: у строки нет ключа",
  "cannot be sent: {why~}": "отправить нельзя: {why}",
  "refused: {why~}": "отклонено: {why}",
  "sent, answer unknown": "отправлено, исход неизвестен",
  "not known to be there any more": "есть ли она там ещё, неизвестно",
  "sent, answer unknown: the order is read first": "отправлено, исход неизвестен: сначала читается заказ",
  "stored, tried {count#} time[s]": "сохранено, попыток: {count}",
  // reconcile
  "{n#} unknown to the service": "неизвестно сервису: {n}",
  "{n#} could not be read": "не прочитано: {n}",
  "{n#} stored payload[s] looked at, {bad#} damaged": "проверено сохранённых: {n}, повреждено: {bad}",
  "reconcile: {checked#} order[s] checked, {differ#} differ[s], {more!}.":
    "reconcile: сверено заказов: {checked}; различаются: {differ}; {more}.",
  "reconcile: {checked#} order[s] checked, {differ#} differ[s]; {more!}.":
    "reconcile: сверено заказов: {checked}; различаются: {differ}; {more}.",
  "reconcile: {checked#} order[s] checked, {differ#} differ[s].":
    "reconcile: сверено заказов: {checked}; различаются: {differ}.",
  // statuses
  "{method=} {path=} was answered with {words*}, which is not known to be an acceptance; usual is {usual*}.":
    "{method} {path}: пришло {words}, и неизвестно, значит ли это, что запрос принят; обычно приходит {usual}.",
  "{method=} {path=} was answered with {words*}, which is not known to be an acceptance.":
    "{method} {path}: пришло {words}, и неизвестно, значит ли это, что запрос принят.",
  "{name}: the service's new form of answer counts as an acceptance from now on.":
    "{name}: новый вид ответа сервиса отныне считается согласием.",
  "The order {orderid} is cancelled by the change of it: the order itself cannot be read so far.":
    "Заказ {orderid} отменён по записи об изменении: сам заказ пока не удаётся прочитать.",
  "the account has another address or client id": "у учётной записи другой адрес или client id",
  "the service has gone back to an earlier version of the order": "сервис вернулся к более ранней версии заказа",
  "the service's answers of an outage were taken for acceptances":
    "ответы неисправного сервиса были приняты за согласие",
  "{name}: the service has answered like an acceptance and was out of order; what it has accepted since then goes once more.":
    "{name}: ответы сервиса были похожи на согласие, но он не работал; всё принятое с тех пор будет отправлено ещё раз.",
  "{reason~}; stored since as order {id=}": "{reason}; с тех пор записана как заказ {id}",
  // passes
  "{job}: works again.": "{job}: снова работает.",
  "{what~}; {area} held ({reason}).": "{what}; {area}: остановлено ({reason}).",
  "{area} held since {at} ({reason}): {why~}; {next!}: erp-bridge resume {name}":
    "{area}: остановлено с {at} ({reason}): {why}; {next}: erp-bridge resume {name}",
  "{area} held since {at} ({reason}); {next!}: erp-bridge resume {name}":
    "{area}: остановлено с {at} ({reason}); {next}: erp-bridge resume {name}",
  "goes on after": "продолжится после",
  "next try {at}, or at once": "следующая попытка {at}, или сразу",
  "The hold could not be written and is kept in memory.": "Остановку не удалось записать, она хранится в памяти.",
  "A request of sync could not be answered.": "На запрос команды sync не удалось ответить.",
  "{job}: could not be prepared.": "{job}: не удалось подготовить.",
  // the status page's port
  "Health, metrics and the status page: {url}": "Проверка работы, метрики и страница состояния: {url}",
  "{address} cannot be listened on ({code}): no status page for now. Orders go on.":
    "{address}: адрес занять нельзя ({code}), страницы состояния пока нет. Заказы продолжают идти.",
  "Free the port or set http.listen; it is tried again by itself.":
    "Освободите порт или измените http.listen; попытки повторяются сами.",
  "The state of the status page could not be noted.": "Не удалось записать состояние страницы состояния.",
} as const;
