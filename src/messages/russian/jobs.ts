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
  "No record of the answer has {names}.": "Ни в одной записи ответа нет {names}.",
  "{count#} batch[es] kept unread; one request every five minutes tries whether the answers can be read again.":
    "Сохранено: {count} {count:непрочитанная пачка|непрочитанные пачки|непрочитанных пачек}. Раз в пять минут один запрос проверяет, читаются ли ответы снова.",
  "{count#} batch[es] kept unread; no further one has room. What came at {at} was neither kept nor confirmed.":
    "Сохранено: {count} {count:непрочитанная пачка|непрочитанные пачки|непрочитанных пачек}, для следующих места нет. Пришедшее в {at} не сохранено и не подтверждено.",
  "A kept answer that cannot be read names no order.":
    "Сохранённый ответ, который не удалось прочитать, не называет ни одного заказа.",
  "The service knows none of the ids in a kept answer that cannot be read.":
    "Сервис не знает ни одного идентификатора из сохранённого ответа, который не удалось прочитать.",
  "The orders of a kept answer that cannot be read have been stored since.":
    "Заказы из сохранённого ответа, который не удалось прочитать, с тех пор сохранены.",
  "The answer of GET /orders/{id} could not be used and is in quarantine.":
    "Ответ GET /orders/{id} не подошёл и лежит в карантине.",
  "The answer of GET /orders/{id} is no complete JSON.": "Ответ GET /orders/{id} — не полный JSON.",
  "The answer of GET /orders/{id} comes from a cache.": "Ответ GET /orders/{id} взят из кэша.",
  "The answer of GET {path} comes from a cache ({sign*}): what is new is not in it.":
    "Ответ GET {path} взят из кэша ({sign}): нового в нём нет.",
  "Exempt the service's addresses below /api/v1/1c from the cache in front of it.":
    "Исключите адреса сервиса под /api/v1/1c из кэша, который стоит перед ним.",
  "The answer of GET /orders/{id} is older than what is stored of the order.":
    "Ответ GET /orders/{id} старее, чем записанный заказ.",
  "Under this configuration the batch is empty.": "При этих настройках пачка пуста.",
  "The answer has no {path} (batch id): {miss~}.": "В ответе нет {path} (идентификатор пачки): {miss}.",
  "it is null": "там null",
  "The answer of GET /orders/{id} has no {path} (updates.snapshot): {miss~}.":
    "В ответе GET /orders/{id} нет {path} (updates.snapshot): {miss}.",
  "Put updates.snapshot right; what waits for such reads waits until then.":
    "Исправьте updates.snapshot; до тех пор ждёт всё, чему нужно такое чтение.",
  "The answer of GET /orders/{id} has no {path} (status).": "В ответе GET /orders/{id} нет {path} (статус).",
  "GET /orders/{id}: it answered with another order ({other}), into which it may have been merged.":
    "GET /orders/{id}: пришёл другой заказ ({other}); возможно, этот заказ объединён с ним.",
  "GET /orders/{id}: {what!}.": "GET /orders/{id}: {what}.",
  "it answered with another order ({other~})": "пришёл другой заказ ({other})",
  "its snapshot could not be used": "его снимок не удалось использовать",
  "the service does not know this order ({status#})": "сервис не знает этого заказа ({status})",
  "The order {id} changed each time while it was read.": "Заказ {id} каждый раз менялся во время чтения.",
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
  'An answer of GET /orders was lost at {at} and has not been served again. Confirms wait, because they would confirm it unseen. Compare the orders on the site with the database, then: erp-bridge resume orders --hold "hand-out lost"':
    'Ответ на GET /orders в {at} потерян, и сервис его больше не выдавал. Подтверждения приостановлены: иначе были бы подтверждены непрочитанные заказы. Сверьте заказы на сайте с базой, затем: erp-bridge resume orders --hold "hand-out lost"',
  "Only {free~} are free in {folder}: no further orders are asked for until there is room.":
    "В {folder} свободно только {free}: новые заказы не запрашиваются, пока нет места.",
  "There is room on the disk again; orders are asked for.": "Место на диске снова есть; заказы запрашиваются.",
  "Only {free~} are free in {folder}.": "В {folder} свободно только {free}.",
  "The mapping of orders was changed; stored orders are put right by: erp-bridge remap":
    "Сопоставление заказов изменено; сохранённые заказы исправит: erp-bridge remap",
  "{count#} damaged payload[s] found; the orders are read again. Check the disk.":
    "Повреждено сохранённых заказов: {count}; они читаются заново. Проверьте диск.",
  // updates
  "The sweep was too wide for one pass; it goes on after the next one.":
    "Взгляд назад не уместился в один проход и продолжится после следующего.",
  "Old history stays, because the service does not confirm this machine's time.":
    "Старая история остаётся: сервис не подтверждает время этой машины.",
  "More changes wait than one pass may read; the next one goes on from there.":
    "Изменений больше, чем читается за один проход; следующий продолжит с этого места.",
  "A pass ended after {records#} change[s]; more wait. The next one goes on from there by itself.":
    "Прочитано изменений за проход: {records}, есть ещё. Следующий проход сам продолжит с этого места.",
  "Changes may be cut: the service answers the newest first, {size#} change[s] a page. Open orders are read one by one to find the others, then closed ones; the position stays until then.":
    "Часть изменений может быть не показана: сервис отдаёт сначала новые, по {size} на страницу. Чтобы найти остальные, читаются по одному открытые заказы, потом закрытые; до тех пор позиция не двигается.",
  "Changes may be cut: the service answers in another order than that of their times, {size#} change[s] a page. Open orders are read one by one to find the others, then closed ones; the position stays until then.":
    "Часть изменений может быть не показана: сервис отдаёт их не по порядку времени, по {size} на страницу. Чтобы найти остальные, читаются по одному открытые заказы, потом закрытые; до тех пор позиция не двигается.",
  "The service refuses to go back to {from} and was asked from {to}: changes between the two may be missing. Open orders are read one by one to find them, then closed ones; the position stays until then.":
    "Сервис не отдаёт изменения с {from}, они запрошены с {to}: изменения между этими моментами могли быть пропущены. Чтобы найти их, читаются по одному открытые заказы, потом закрытые; до тех пор позиция не двигается.",
  "The service refuses the time from which changes are asked for; the next request asks from a later one.":
    "Сервис не принимает время, с которого запрошены изменения; следующий запрос будет с более позднего.",
  "The orders whose changes may have been left out have been read.":
    "Заказы, изменения которых могли быть не показаны, прочитаны.",
  "The service names a position for changes that lies before the one asked; it is not followed.":
    "Сервис назвал позицию изменений раньше той, с которой спрашивали; по ней не идём.",
  "The service's positions for changes have gone back, perhaps because it was restored to an earlier copy: changes are followed by time until it names the next one.":
    "Позиции изменений у сервиса пошли назад — возможно, он восстановлен из более ранней копии: изменения запрашиваются по времени, пока он не назовёт следующую позицию.",
  "The service refuses its own position for changes; they are asked for by the last time known instead.":
    "Сервис не принимает свою же позицию изменений; вместо неё берётся последнее известное время.",
  "A full page of {count#} change[s] has no time at {path}, so that those after them cannot be asked for: put updates.fields.updated_at right, then: erp-bridge resume updates --hold tie":
    "У целой страницы изменений ({count}) нет времени в {path}, следующие за ними запросить нельзя: исправьте updates.fields.updated_at, затем: erp-bridge resume updates --hold tie",
  "A full page of {count#} change[s] carries the timestamp {timestamp}. If the service had more with it, they were not served: compare those orders with the site, then: erp-bridge resume updates --hold tie":
    "У целой страницы изменений ({count}) одна метка времени {timestamp}. Если у сервиса их больше, остальные не выданы: сверьте эти заказы с сайтом, затем: erp-bridge resume updates --hold tie",
  "Changes carry timestamps from the service's future; the watermark leaves them out.":
    "У изменений метки времени из будущего сервиса; отметка их не учитывает.",
  "The watermark lies ahead of this machine's clock, and the service sends no Date to compare with; if it is wrong, changes are found at night only.":
    "Отметка опережает часы этой машины, а сервис не присылает Date для сравнения; если она неверна, изменения находятся только ночью.",
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
  "The service says that it knows none of {count#} order[s] that it handed out itself; none of them is marked as removed.":
    "Сервис утверждает, что не знает ни одного из заказов ({count}), которые сам выдал; ни один не помечен удалённым.",
  "Look at one of them on the site. If orders are only kept there for a while, set reconcile.sample to 0.":
    "Посмотрите один из них на сайте. Если заказы там хранятся ограниченное время, задайте reconcile.sample: 0.",
  // statuses
  "{method=} {path=} was answered with {words*}, which is not known to be an acceptance; usual is {usual*}.":
    "{method} {path}: пришло {words}, и неизвестно, значит ли это, что запрос принят; обычно приходит {usual}.",
  "{method=} {path=} was answered with {words*}, which is not known to be an acceptance.":
    "{method} {path}: пришло {words}, и неизвестно, значит ли это, что запрос принят.",
  "{name}: the service's new form of answer counts as an acceptance from now on.":
    "{name}: новый вид ответа сервиса отныне считается согласием.",
  "The order {orderid} is cancelled by the change of it: the order itself cannot be read so far.":
    "Заказ {orderid} отменён по записи об изменении: сам заказ пока не удаётся прочитать.",
  "The service has lost a status of the order {orderid}, which is sent again.":
    "Сервис потерял статус заказа {orderid}; он будет отправлен ещё раз.",
  "the account has another address or client id": "у учётной записи другой адрес или client id",
  "the service was restored to an earlier state": "сервис восстановлен из более ранней копии",
  "the service has gone back to an earlier version of the order": "сервис вернулся к более ранней версии заказа",
  "The service has gone back to an earlier state: several orders have lost their newest version. What it had accepted since goes once more.":
    "Сервис вернулся к более раннему состоянию: несколько заказов лишились последней версии. Всё принятое им с тех пор будет отправлено ещё раз.",
  "the service's answers of an outage were taken for acceptances":
    "ответы неисправного сервиса были приняты за согласие",
  "{name}: the service has answered like an acceptance and was out of order; what it has accepted since then goes once more.":
    "{name}: ответы сервиса были похожи на согласие, но он не работал; всё принятое с тех пор будет отправлено ещё раз.",
  "{method=} {path=} was answered with {what~}.": "В ответ на {method} {path} пришло: {what}.",
  "the order exists, so statuses.path or statuses.method is wrong":
    "заказ существует, значит, statuses.path или statuses.method указан неверно",
  "changed meanwhile: the order was {before} and is {now} now; whether {sent} was there in between is not known":
    "за это время статус заказа изменился: был {before}, теперь {now}; был ли между ними {sent}, неизвестно",
  "changed meanwhile: the order is {now} again and was changed in between; whether {sent} was there is not known":
    "за это время заказ менялся, его статус снова {now}; был ли между тем {sent}, неизвестно",
  "answered in a new form, {shape}, and not seen at the order since {at}; it is not sent again by itself":
    "ответ пришёл в новом виде ({shape}), и с {at} этого статуса у заказа не видно; сам по себе запрос больше не отправляется",
  "answered in a new form, {shape}, and not seen at the order since {at}; if that stays so, it is sent once more at {again}":
    "ответ пришёл в новом виде ({shape}), и с {at} этого статуса у заказа не видно; если так и останется, запрос будет отправлен ещё раз в {again}",
  "{reason~}; stored since as order {id=}": "{reason}; с тех пор записана как заказ {id}",
  "{released#} quarantined record[s] without a usable id found among the stored orders, and released.":
    "Выпущено из карантина записей без пригодного идентификатора: {released}; они записаны как заказы.",
  "The confirm of a batch of {size#} order[s] was answered with {name~}: {count}.":
    "На подтверждение пачки из {size} {size:заказа|заказов|заказов} сервис ответил: {name}: {count}.",
  "Empty records (null, {} or []) among the changes: {empty} of {size}. The position stays until they come whole, for an hour at most.":
    "Пустые записи (null, {} или []) среди изменений: {empty} из {size}. Отметка не сдвигается, пока они не придут целиком, но не дольше часа.",
  "Empty records (null, {} or []) in the batch: {empty} of {size}. It is confirmed once it has been served so for an hour.":
    "Пустые записи (null, {} или []) в пачке: {empty} из {size}. Она будет подтверждена, если сервис будет выдавать её в таком виде целый час.",
  "The changes of the timestamp at which a page may have been cut have all been served since.":
    "Изменения с той отметкой времени, на которой страница могла быть обрезана, с тех пор выданы полностью.",
  "{found#} quarantined record[s] without a usable id found at the service by an id elsewhere in it, and released.":
    "Выпущено из карантина записей без пригодного идентификатора: {found}; их заказы найдены у сервиса по идентификатору в другом месте записи и записаны.",
  "{reason!}; to be read again": "{reason}; заказ будет прочитан ещё раз",
  "The answer of GET /orders/{id} reports an error: {words*}": "Ответ GET /orders/{id} сообщает об ошибке: {words}",
  "The answer of GET /orders/{id} has {place} more than once.":
    "В ответе GET /orders/{id} {place} встречается больше одного раза.",
  "The answer of GET /orders/{id} has no status but {text*}.": "В ответе GET /orders/{id} вместо статуса стоит {text}.",
  "without a status": "пустой",
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
