/** What the commands say. */
export const commands = {
  // approve, resume, sync
  "{name}: nothing waits for approval.": "{name}: разрешения ничто не ждёт.",
  "{name}: {rows#} row[s] may go; the daemon sends them now.":
    "{name}: разрешена отправка {rows} {rows:строки|строк|строк}; служба отправит их сейчас.",
  "{name}: {rows#} row[s] may go at the next pass.":
    "{name}: разрешена отправка {rows} {rows:строки|строк|строк}; они уйдут при следующем проходе.",
  "area or feed": "области или выгрузки",
  "Node {node=} came with a package that is {months#} months old: install a newer one, for its security fixes":
    "Node {node} взят из пакета, которому {months} мес.: установите более новый ради исправлений безопасности",
  "Node {node=}; {advisory=} is known against it, in a part that is never used here":
    "Node {node}; в нём известна {advisory}, но эта часть здесь не используется",
  "; {advisory=} is known against it, in a part that is never used here":
    "; в нём известна {advisory}, но эта часть здесь не используется",
  // instances of one machine
  "{file} names the same account: each instance would take the other's orders":
    "{file}: та же учётная запись, экземпляры забирали бы заказы друг у друга",
  "{file} names the same database, {value}": "{file}: та же база данных, {value}",
  "{file} listens on {value} as well: only one of the two has a status page":
    "{file} тоже слушает {value}: страница состояния будет только у одного",
  "{file} keeps its journal in {value} as well; give each instance a folder of its own":
    "{file} тоже ведёт журнал в {value}; дайте каждому экземпляру свою папку",
  "{file} keeps its copies in {value} as well; give each instance a folder of its own":
    "{file} тоже хранит копии в {value}; дайте каждому экземпляру свою папку",
  "account, database, folders and port are shared with none of: {names}":
    "учётная запись, база, папки и порт не общие ни с одним из: {names}",
  "{area}: nothing was held.": "{area}: остановок не было.",
  "{area}: the guard waits for approval: {command=}": "{area}: предохранитель ждёт разрешения: {command}",
  '{area}: "{reason}" stays. To lift it states {states~}; then: {command=}':
    "{area}: «{reason}» не снято. Снять — значит подтвердить, что {states}; затем: {command}",
  '{area}: no hold "{hold}" stands.': "{area}: остановки «{hold}» нет.",
  "that the orders on the site were compared with the database": "заказы на сайте сверены с базой",
  "that the orders that may be missing were looked for": "поиск заказов, которых может не хватать, проведён",
  "that the changes that may be missing were looked for": "изменения, которых может не хватать, сверены с сайтом",
  "that these answers of the service are acceptances": "такие ответы сервиса означают, что данные приняты",
  "that its cause was put right": "причина устранена",
  "It is named in {place}.": "Он указан здесь: {place}.",
  'It is named in {place}; did you mean "{near}"?': "Он указан здесь: {place}; возможно, имелось в виду «{near}»?",
  "observations: not shown any more ({names}).": "observations: больше не показывается ({names}).",
  "{area}: goes on ({reasons}); the daemon tries now.":
    "{area}: обмен продолжается ({reasons}); служба пробует сейчас.",
  "What {url} has accepted (as {id}) does not count here: from the next start on, every row of the feeds goes once more.":
    "Принятое по адресу {url} (от имени {id}) здесь не считается принятым: после следующего запуска все строки выгрузок уйдут ещё раз.",
  "Changes are asked for from {position} on, and once from well before.":
    "Изменения запрашиваются начиная с {position}, а один раз — с запасом назад.",
  "{n#} order[s] whose status was sent elsewhere meanwhile: read again.":
    "Заказов, статус которых за это время ушёл по другому адресу: {n}. Они будут прочитаны заново.",
  "Orders are compared with the service at the next start.": "Заказы сверяются с сервисом при следующем запуске.",
  "{area}: goes on ({reasons}).": "{area}: обмен продолжается ({reasons}).",
  "Nothing would be sent.": "Отправлять нечего.",
  "{job}: held ({reason}), so nothing of it would go now.": "{job}: остановлено ({reason}), сейчас ничего не уйдёт.",
  "{job}: {rows#} row[s] to go to zero or away; the guard would hold that for approve.":
    "{job}: {rows} {rows:строка обнуляется или исчезает|строки обнуляются или исчезают|строк обнуляются или исчезают}; предохранитель задержал бы их до approve.",
  "{area}: held ({reason}): {detail~}": "{area}: остановлено ({reason}): {detail}",
  "{area}: held ({reason})": "{area}: остановлено ({reason})",
  "{name} is switched off.": "{name}: выключено.",
  "Set its path in the configuration.": "Укажите path этой выгрузки в настройках.",
  "--again needs the names of feeds before it, and neither --only nor --dry-run.":
    "Перед --again нужны имена выгрузок; с --only и --dry-run он не сочетается.",
  "For example: erp-bridge sync stocks prices --again": "Например: erp-bridge sync stocks prices --again",
  "--only KEY needs the name of one feed before it.": "Перед --only КЛЮЧ нужно имя одной выгрузки.",
  "For example: erp-bridge sync stocks --only A-1": "Например: erp-bridge sync stocks --only A-1",
  "{name} is sent whole with every request (imports.{name}.scope).":
    "{name}: таблица уходит целиком при каждом запросе (imports.{name}.scope).",
  "erp-bridge sync {name} sends the table.": "Таблицу отправляет erp-bridge sync {name}.",
  "{key}: neither the table nor the service has it.": "{key}: такой строки нет ни в таблице, ни у сервиса.",
  "never accepted": "сервис её ещё не принимал",
  "on the site since {at}: {sent*}": "на сайте с {at}: {sent}",
  "{job}: {counts~}, and more waits …": "{job}: {counts}, есть ещё …",
  "Stopping after the request under way; once more to leave at once.":
    "Остановка после текущего запроса; ещё раз — немедленный выход.",
  "A daemon is running; asking it.": "Служба работает; запрос передан ей.",
  "The daemon has not taken the request.": "Служба не приняла запрос.",
  "erp-bridge status, and the daemon's log, say why.": "Причину покажут erp-bridge status и журнал службы.",
  "The daemon ended before it had done everything that was asked.":
    "Служба завершилась раньше, чем выполнила всё, о чём её просили.",
  "What it did is stored; ask again.": "Сделанное сохранено; повторите команду.",
  "nothing to do": "делать нечего",
  // backup
  "{file}: a verified copy ({size~}).": "{file}: проверенная копия ({size}).",
  "Verifying the copy": "Проверка копии",
  "Copying: {share#} %": "Копирование: {share} %",
  // check
  "switched off: no health, no metrics, no status page": "выключено: нет ни /health, ни метрик, ни страницы состояния",
  "{address} is free": "{address}: адрес свободен",
  "{address} cannot be listened on ({problem~}): there will be no status page; orders go on":
    "{address}: адрес занять нельзя ({problem}), страницы состояния не будет; заказы продолжат идти",
  "the running bridge answers on http://{address}/": "работающая программа отвечает на http://{address}/",
  "the running bridge cannot listen on {address} ({error}); orders go on":
    "работающая программа не может занять {address} ({error}); заказы продолжают идти",
  "{file} is valid": "{file}: ошибок нет",
  "{file} is valid; there is no database at {database} yet, so a running daemon would not take it over":
    "{file}: ошибок нет; базы {database} ещё нет, поэтому работающая служба эти настройки не примет",
  "{file} does not exist yet and is made at the first start": "{file}: файла ещё нет, он появится при первом запуске",
  "{file} is damaged ({found*}).": "{file}: файл повреждён ({found}).",
  "Restore a backup: erp-bridge restore FILE.": "Восстановите резервную копию: erp-bridge restore ФАЙЛ.",
  "{file} is sound; a bridge is running on it": "{file}: база исправна; с ней работает программа",
  "{file} is sound": "{file}: база исправна",
  "{source!} is not in WAL mode: programs that write it wait while it is read":
    "{source}: не в режиме WAL, программы не могут писать в неё, пока идёт чтение",
  "{source!} can be read": "{source}: чтение возможно",
  "{free~} free in {folder}": "свободно {free} в {folder}",
  "only {free~} free in {folder}": "свободно только {free} в {folder}",
  "{folder} cannot be looked at: {why*}": "{folder}: посмотреть не удалось: {why}",
  "--config and --instance exclude each other.": "--config и --instance нельзя указывать вместе.",
  "An instance's name holds letters, digits, . _ and - only.":
    "Имя экземпляра состоит только из букв, цифр и знаков . _ -",
  "There is no database at {path} yet.": "Базы {path} ещё нет.",
  "It is made at the first erp-bridge run or erp-bridge sync.":
    "Она появится при первом erp-bridge run или erp-bridge sync.",
  "There is no {what~} {word}.": "Нет {what} {word}.",
  job: "задания",
  feed: "выгрузки",
  "Known: {names}": "Известны: {names}",
  "Did you mean {name}?": "Возможно, имелось в виду {name}?",
  // init
  "Address of the service: ": "Адрес сервиса: ",
  "Database file [{file}]: ": "Файл базы [{file}]: ",
  "Client ID: ": "Client ID: ",
  "Who is told of trouble? A webhook address, the path of a program, or nothing: ":
    "Кого оповещать о сбоях? Адрес webhook, путь к программе или пусто: ",
  "is neither an address nor a program that is there": "не адрес и не имеющаяся программа",
  "Nobody can be asked here, and not everything is given: {what~}.": "Спросить здесь некого, а указано не всё: {what}.",
  "Give what is missing, or run erp-bridge init on a terminal. The secret comes from {variable}, standard input or its file.":
    "Укажите недостающее или запустите erp-bridge init в терминале. Секрет берётся из {variable}, стандартного ввода или своего файла.",
  "--client-secret-file {problem!}": "--client-secret-file: {problem}",
  "the client secret is missing": "не указан client secret",
  "the client secret on standard input": "client secret на стандартном вводе",
  "the client secret on standard input {problem!}": "client secret на стандартном вводе {problem}",
  "is needed": "нужно указать",
  "Client Secret (not shown) [the one in {file}]: ": "Client Secret (не показывается) [тот, что в {file}]: ",
  "Client Secret (not shown): ": "Client Secret (не показывается): ",
  "the secret {problem!}": "секрет {problem}",
  "That was asked often enough; nothing was written.": "Слишком много попыток; ничего не записано.",
  "{file} is there already; nothing was changed.": "{file}: файл уже есть; ничего не изменено.",
  "Try it with: erp-bridge check --online{flag}. With --force the old one is kept beside the new one.":
    "Проверьте его: erp-bridge check --online{flag}. С --force прежний файл останется рядом с новым.",
  "Try it with: erp-bridge check --online. With --force the old one is kept beside the new one.":
    "Проверьте его: erp-bridge check --online. С --force прежний файл останется рядом с новым.",
  "Type the credentials again? [Y/n] ": "Ввести учётные данные ещё раз? [Y/n] ",
  "Type the address again? [Y/n] ": "Ввести адрес ещё раз? [Y/n] ",
  "{name} is there already and was not changed.": "{name}: файл уже есть и не изменён.",
  "Name it with --client-secret-file and give no other secret, or keep it beside a new one with --force.":
    "Укажите его в --client-secret-file и не задавайте другого секрета либо сохраните его рядом с новым: --force.",
  "{name} could not be written ({code}).": "{name}: записать не удалось ({code}).",
  "Run erp-bridge init as the user who may write there, or choose another place with --config.":
    "Запустите erp-bridge init от имени пользователя с правом записи туда или укажите другое место в --config.",
  "Configuration: {file}": "Настройки: {file}",
  "Client secret: {file} (as it was)": "Client secret: {file} (без изменений)",
  "Client secret: {file} (readable by its owner alone)": "Client secret: {file} (доступен только владельцу)",
  "Database:      {file} (empty)": "База: {file} (пустая)",
  "Database:      {file} (it was there already)": "База: {file} (уже была)",
  "Kept:          {file}": "Сохранено: {file}",
  "ok   alerts: the {channel} took a test message": "ok   alerts: {channel}: пробное сообщение принято",
  "FAIL alerts: the {channel}: {error~}": "СБОЙ alerts: {channel}: {error}",
  "Next: {command}": "Дальше: {command}",
  "When that is put right: {command}": "Когда это будет исправлено: {command}",
  // order
  "There is no order {name}.": "Заказа {name} нет.",
  "Name it by its id or its number, as in the table orders; a record that could not be stored is in erp-bridge quarantine list.":
    "Укажите его идентификатор или номер, как в таблице orders; записи, которые не удалось сохранить, показывает erp-bridge quarantine list.",
  // quarantine
  "Name the records to try again, or say --all.": "Укажите номера записей или --all.",
  "See erp-bridge quarantine list.": "См. erp-bridge quarantine list.",
  "Nothing is in quarantine.": "Карантин пуст.",
  "batch:{id#}: is read again by the next pull": "batch:{id}: будет прочитана заново при следующем опросе",
  "The daemon does the rest now.": "Остальное сейчас сделает служба.",
  "The rest is done by: erp-bridge sync {jobs}": "Остальное сделает: erp-bridge sync {jobs}",
  "{id#}  {record}: {reason~} (since {at}, seen {times#}×)": "{id}  {record}: {reason} (с {at}, встречалась {times}×)",
  "still held": "всё ещё в карантине",
  "it is being stored": "идёт её сохранение",
  "batch:{id#}  a batch of {bytes#} byte[s] is not read yet: {why~} (since {at})":
    "batch:{id}  пачка в {bytes} {bytes:байт|байта|байт} ещё не прочитана: {why} (с {at})",
  "reason: {reason~}": "причина: {reason}",
  "first seen {first}, last seen {last}, {times#}×": "впервые {first}, в последний раз {last}, {times}×",
  "… and {rest#} character[s] more; --json has them all": "… и ещё знаков: {rest}; полностью — с --json",
  "{name} is being stored at this moment.": "{name}: сохраняется в эту минуту.",
  "Nothing was dropped.": "Ничего не убрано.",
  "{name}: dropped; it stays in the table quarantine.": "{name}: убрано; в таблице quarantine запись осталась.",
  "{name}: was dropped already.": "{name}: уже было убрано.",
  "{name} names no record.": "{name} — не номер записи.",
  "A record is named by its number, a batch as batch:NUMBER; see erp-bridge quarantine list.":
    "Запись указывают по номеру, пачку — как batch:НОМЕР; см. erp-bridge quarantine list.",
  "There is no {name} in quarantine.": "В карантине нет {name}.",
  "the order is read again": "заказ будет прочитан заново",
  "{name} is switched off": "{name}: выключено",
  "the table is compared": "таблица будет сверена",
  "the row is read again": "строка будет прочитана заново",
  "the row is sent again": "строка будет отправлена снова",
  // remap
  "{orders#} orders …": "заказов: {orders} …",
  "{orders#} order[s] looked at: {changed#} changed, {bad#} cannot be read with this mapping and stay as they are.":
    "Просмотрено заказов: {orders}; изменено: {changed}; не читаются по этому сопоставлению и остаются как есть: {bad}.",
  "{orders#} order[s] looked at: {changed#} would change, {bad#} cannot be read with this mapping and would stay as they are.":
    "Просмотрено заказов: {orders}; изменилось бы: {changed}; не читаются по этому сопоставлению и остались бы как есть: {bad}.",
  "{released#} quarantined record[s] released, {held#} stay.":
    "Выпущено из карантина записей: {released}; осталось: {held}.",
  "{released#} quarantined record[s] would be released, {held#} would stay.":
    "Вышло бы из карантина записей: {released}; осталось бы: {held}.",
  "and {count#} more": "и ещё {count}",
  "{list*}; and {count#} more": "{list}; и ещё {count}",
  // restore
  "{file} is no file.": "{file} не файл.",
  "restore replaces the database, and nobody can be asked here.": "restore заменяет базу, а спросить здесь некого.",
  "Say so with --yes.": "Подтвердите параметром --yes.",
  "Go on? [y/N] ": "Продолжить? [y/N] ",
  "Nothing was changed.": "Ничего не изменено.",
  "The copy shows {at~}: {orders#} order[s], the last received {last~}.":
    "Копия показывает: {at}; заказов: {orders}, последний получен: {last}.",
  "an unknown time": "неизвестное время",
  never: "никогда",
  "{database} {why!}: what was received since the copy is not brought back, except from a journal.":
    "{database}: {why}; полученное после копии вернуть нельзя, разве что из журнала.",
  "is gone": "базы нет",
  "{database} {what!}, last written {at~}; it is kept under another name.":
    "{database}: {what}, последняя запись {at}; база сохраняется под другим именем.",
  "{only} may be any of these rows of {feed}: {names}.":
    "{only}: в {feed} под это имя подходит несколько строк: {names}.",
  "Name one of them so: erp-bridge sync {feed} --only {name}":
    "Укажите одну из них так: erp-bridge sync {feed} --only {name}",
  "cannot be read in full": "полностью не читается",
  "has {orders#} order[s]": "заказов в ней {orders}",
  "at an unknown time": "в неизвестное время",
  "{database} is damaged ({damage*}): something of it may be missing.":
    "{database} повреждена ({damage}): части данных в ней может не быть.",
  "What the copy lacks is brought over from it, the ERP's tables as they are there.":
    "Недостающее в копии переносится из неё, таблицы ERP — такими, какие они в ней.",
  "It was not made from the one that was copied: only what the copy lacks is brought over from it.":
    "Она ведёт начало не от той базы, с которой снята копия: переносится только недостающее в копии.",
  "{database} was restored from the copy of {at~}.": "База {database} восстановлена из копии: {at}.",
  "The replaced database is {file}.": "Заменённая база сохранена как {file}.",
  "Brought over from it: {what~}.": "Перенесено из неё: {what}.",
  "From the journal: {batches#} batch[es] with {orders#} new order[s].":
    "Из журнала: пачек {batches}, новых заказов в них {orders}.",
  "From the journal: {batches#} batch[es] with {orders#} new order[s], {unread#} that cannot be read yet.":
    "Из журнала: пачек {batches}, новых заказов в них {orders}; пока не читаются: {unread}.",
  "{torn#} journal file[s] with an unfinished entry at the end; its batch was never confirmed.":
    "Журнальных файлов, оборванных на незаконченной записи: {torn}; такая пачка не подтверждалась.",
  "Nothing is missing. Start the daemon: systemctl start erp-bridge":
    "Ничего не потеряно. Запустите службу: systemctl start erp-bridge",
  "Programs that had the database open, such as the ERP, must open it again.":
    "Программы, у которых база была открыта, например ERP, должны открыть её заново.",
  // run
  "erp-bridge is running.": "erp-bridge работает.",
  "Stopping: passes under way are finished first.": "Остановка: сначала завершаются начатые проходы.",
  "Stopped.": "Остановлено.",
  "The configuration was read again and is in force.": "Настройки прочитаны заново и действуют.",
  "The configuration was not taken over, the old one stays: {message~}":
    "Настройки не приняты, остаются прежние: {message}",
  "The database was brought up to date; a copy of it as it was is kept.":
    "База приведена к новой версии; копия прежней сохранена.",
  "The database's files are gone from their folder; waiting for them.":
    "Файлы базы исчезли из своей папки; ждём их возвращения.",
  "The database {file} is gone from its folder.": "База {file} исчезла из своей папки.",
  "Bring its folder back, or a copy with erp-bridge restore.":
    "Верните её папку или копию командой erp-bridge restore.",
  "The database's files are back; the daemon begins anew.": "Файлы базы снова на месте; служба начинает заново.",
  // status
  "{feeds}: accepted by status code only.": "{feeds}: приём виден только по коду ответа.",
} as const;
