/** What goes wrong with the database, the disk, the machine and other programs. */
export const faults = {
  "The database {path} belongs to another account ({id} at {url}).":
    "База {path} принадлежит другой учётной записи ({id}, {url}).",
  "Use a database of its own for each account; if it is the same shop under a new address: erp-bridge resume account":
    "Заведите отдельную базу для каждой учётной записи; если это тот же магазин с новым адресом: erp-bridge resume account",
  "An internal error: {message~}": "Внутренняя ошибка: {message}",
  "Please report it with the debug log (log.level: debug).":
    "Сообщите о ней, приложив подробный журнал (log.level: debug).",
  // calls to the outside and programs
  "It was answered with {status#}.": "Получен ответ {status}.",
  "Stopped while it was called.": "Остановлено во время обращения.",
  "It did not answer within {seconds#} s.": "Нет ответа в течение {seconds} с.",
  "It could not be reached ({code~}).": "Связаться не удалось ({code}).",
  "no connection": "нет соединения",
  "It could not be started ({code}).": "Запустить не удалось ({code}).",
  "It did not end in time and was stopped.": "Не завершилась вовремя и была остановлена.",
  "Stopped while it was running.": "Остановлено во время работы.",
  "It ended with {code}.": "Завершилась с кодом {code}.",
  "Stopped; nothing more was done.": "Остановлено; больше ничего не сделано.",
  // copies, the journal, restoring
  "{place=} does not answer": "{place} не отвечает",
  "{place=} does not answer.": "{place} не отвечает.",
  "Its disk, or the machine that shares it, is out of reach. The bridge tries again by itself.":
    "Диск или компьютер, предоставляющий папку, недоступен. Программа сама повторит попытку.",
  "Its disk, or the machine that shares it, is out of reach. Nothing is sent meanwhile, and nothing is deleted on the site.":
    "Диск или компьютер, предоставляющий папку, недоступен. Пока ничего не отправляется и на сайте ничего не удаляется.",
  "Its disk, or the machine that shares it, is out of reach. Nothing is sent meanwhile, and no image is refused.":
    "Диск или компьютер, предоставляющий папку, недоступен. Пока ничего не отправляется, и ни одно изображение не отклонено.",
  "The process that looks at files ended early ({why}).":
    "Процесс, обращающийся к файлам, завершился раньше времени ({why}).",
  "Stopped while a file was looked at.": "Остановлено во время обращения к файлу.",
  "Stopped while {place} was read.": "Остановлено во время чтения {place}.",
  "No file of the journal is open.": "Ни один файл журнала не открыт.",
  "{database=} is open in {openers}; nothing was changed.": "{database}: база открыта в {openers}; ничего не изменено.",
  "Stop it, restore, and start it again: it must open the database anew.":
    "Остановите её, выполните восстановление и запустите снова: она должна открыть базу заново.",
  "{name=} (process {pid#})": "{name} (процесс {pid})",
  "Times that this machine's clock had written while it was wrong were put right.":
    "Времена, записанные, пока часы этого компьютера шли неверно, исправлены.",
  "no source is open": "источник не открыт",
  "it is no ordinary file": "это не обычный файл",
  "the program that wrote it was interrupted in the middle of a change":
    "программа, которая в него писала, была прервана посреди изменения",
  "A program that may write it must open it once, as the one that wrote it does when it starts. Nothing is sent meanwhile, and nothing is deleted on the site.":
    "Файл должна один раз открыть программа с правом записи — например, та, что в него писала, при запуске. Пока ничего не отправляется и на сайте ничего не удаляется.",
  "Writing the journal in {folder}": "Запись журнала в {folder}",
  "The journal in {folder} cannot be written ({why~}): batches are stored, but not confirmed until it can be.":
    "Журнал в {folder} не записывается ({why}): пачки сохраняются, но не подтверждаются, пока запись невозможна.",
  "Put the disk of backup.journal right, or set backup.journal to null.":
    "Исправьте диск каталога backup.journal или задайте backup.journal: null.",
  "no table {names}": "нет таблицы {names}",
  "{table} is a virtual table: the copy's stays.": "{table}: виртуальная таблица, остаётся та, что в копии.",
  "The {type} {name} could not be made again.": "Не удалось создать заново: {type} {name}.",
  "Copying the database to {target}": "Копирование базы в {target}",
  "{file} exists already, and a backup never writes over anything.":
    "{file}: файл уже есть, а копия никогда ничего не перезаписывает.",
  "Choose another name.": "Выберите другое имя.",
  "The copy ended without a result.": "Копирование завершилось без результата.",
  "The copy was thrown away because it is damaged: {found*}.": "Копия отброшена, потому что она повреждена: {found}.",
  "The database itself is likely damaged: run erp-bridge check, and restore an older backup.":
    "Вероятно, повреждена сама база: выполните erp-bridge check и восстановите более раннюю копию.",
  "The copy was broken off; nothing is left of it.": "Копирование прервано; от него ничего не осталось.",
  "The process that copies ended early ({why}).": "Процесс копирования завершился раньше времени ({why}).",
  "it cannot be read": "не читается",
  "cannot be read ({why~})": "не читается ({why})",
  "{file} is not a copy of a database of erp-bridge.": "{file}: это не копия базы erp-bridge.",
  "Name a file that erp-bridge backup or the daemon has made (backup.dir).":
    "Укажите файл, созданный командой erp-bridge backup или службой (backup.dir).",
  "{file} is damaged ({found*}); nothing was changed.": "{file}: файл повреждён ({found}); ничего не изменено.",
  "Restore another copy.": "Восстановите другую копию.",
  "The copy belongs to another account than {file}; nothing was changed.":
    "Копия принадлежит другой учётной записи, чем {file}; ничего не изменено.",
  "Name a copy of this database, or move the database away first if it is to be replaced by another account's.":
    "Укажите копию этой базы; если её нужно заменить базой другой учётной записи, сначала уберите её.",
  "There is no file {file}.": "Файла {file} нет.",
  "Copies lie in backup.dir.": "Копии лежат в backup.dir.",
  "{file} is the database itself.": "{file} — это сама база.",
  "{file} is in use by another erp-bridge.": "{file}: файл занят другим экземпляром erp-bridge.",
  "Restoring needs {needed~}, and {free~} are free beside {database}.":
    "Для восстановления нужно {needed}, а рядом с {database} свободно {free}.",
  "Verifying {file}": "Проверка {file}",
  "Copying {file}": "Копирование {file}",
  "The copy belongs to another account ({id} at {url}); nothing was changed.":
    "Копия принадлежит другой учётной записи ({id}, {url}); ничего не изменено.",
  "Use the configuration of that account, or name another copy.":
    "Используйте настройки той учётной записи или укажите другую копию.",
  "Bringing over what the copy lacks": "Перенос недостающего в копии",
  "Verifying the result": "Проверка результата",
  "Reading the journal": "Чтение журнала",
  "{file} is damaged in its middle ({size~}); the rest of it was read.":
    "{file}: файл повреждён в середине ({size}); остальное прочитано.",
  "the payload does not fit its hash": "содержимое не сходится с контрольной суммой",
  "the row is gone": "строки уже нет",
  "Restored at {at} from a copy of {from~}.": "Восстановлено {at} из копии: {from}.",
  "The database that it replaces {why!}.": "Заменённая база: {why}.",
  "The database that it replaces was not made from the one that was copied.":
    "Заменённая база ведёт начало не от той, с которой снята копия.",
  "The database that it replaces could be read only in part.": "Заменённую базу удалось прочитать лишь частично.",
  "The database that it replaces is damaged ({found*}).": "Заменённая база повреждена ({found}).",
  "It has no .progress of its own beside it: nothing shows that it was not an earlier copy itself.":
    "Рядом с ней нет её собственного файла .progress: ничто не показывает, что она сама не была более ранней копией.",
  "It or its -wal was truncated or overwritten.": "Она или её -wal были усечены или перезаписаны.",
  "Its .progress says that more was stored than is there.":
    "По её файлу .progress сохранено было больше, чем в ней есть.",
  "Its history names {count#} order[s] that it does not hold.":
    "В её истории есть заказы, которых в ней самой нет: {count}.",
  "Its numbers say that more was stored: {count#} event[s].": "По её номерам сохранено было больше: событий {count}.",
  "Its batches say that more was stored: {count#} order[s].": "По её пачкам сохранено было больше: заказов {count}.",
  "Open from before: {text~}": "Осталось с прошлого раза: {text}",
  "Orders that were handed out and confirmed between {from~} and {at} and are not in the database now will not be handed out again; of these, updates bring back only those that change.":
    "Заказы, выданные и подтверждённые между {from} и {at}, которых теперь нет в базе, больше не выдаются; из них вернутся только те, что изменятся.",
  "The journal brought back {batches#} batch[es] with {orders#} order[s].":
    "Журнал вернул пачек: {batches}, заказов в них: {orders}.",
  "{count#} order[s] not readable there; what cannot be read is read from the service.":
    "Там не прочитано заказов: {count}; они читаются из сервиса.",
  "Not all could be read of: {names}.": "Прочитано не полностью: {names}.",
  "Tables of the ERP may be as old as the copy. Compare the orders of that time on the site with the database, have the ERP write its tables, run erp-bridge sync reconcile; then: erp-bridge resume orders --hold restored":
    "Таблицы ERP могут быть такими же старыми, как копия. Сверьте заказы того времени на сайте с базой, дайте ERP записать свои таблицы, выполните erp-bridge sync reconcile, затем: erp-bridge resume orders --hold restored",
  "The restored database came out damaged ({found*}); nothing was changed.":
    "Восстановленная база оказалась повреждена ({found}); ничего не изменено.",
  "Look at the disk and at the memory of this machine.": "Проверьте диск и память этой машины.",
  "Another program wrote to {database} meanwhile; nothing was changed.":
    "Тем временем другая программа записала в {database}; ничего не изменено.",
  "Stop the ERP's writing while the backup is restored, and try again.":
    "Остановите запись из ERP на время восстановления и повторите.",
  "Putting the restored database in place": "Установка восстановленной базы на место",
  "A restore of {file} was interrupted while it put the files in place.":
    "Восстановление {file} прервано во время замены файлов.",
  "Start the daemon, or run erp-bridge restore again: either finishes it, and nothing is lost.":
    "Запустите службу или снова erp-bridge restore: любое из двух завершит замену, и ничего не потеряется.",
  "a backup was restored": "восстановлена резервная копия",
  "the database may lack what was sent": "в базе может не быть отправленного",
  "Using the database: {what!} ({fault}).": "Работа с базой: {what} ({fault}).",
  "Triggers or indexes of the ERP's stand on the bridge's tables, drop them: {names}.":
    "На таблицах моста стоят триггеры или индексы ERP, удалите их: {names}.",
  "No triggers or indexes of the ERP's stand on the bridge's tables any more.":
    "На таблицах моста больше нет триггеров и индексов ERP.",
  "triggers of the ERP's were on the bridge's tables": "на таблицах моста стояли триггеры ERP",
  "A trigger of the ERP's leaves out rows of the bridge's (RAISE(IGNORE)): {objects}. Nothing is stored or confirmed while it is there.":
    "Триггер ERP пропускает строки моста (RAISE(IGNORE)): {objects}. Пока он есть, ничего не сохраняется и не подтверждается.",
  "Drop it: {statements}": "Удалите: {statements}",
  "What the ERP has put on the bridge's tables stands in the way ({objects}): {words~}.":
    "Мешает то, что ERP поставила на таблицы моста ({objects}): {words}.",
  "Writing beside the database": "Запись рядом с базой",
  "Looking at the database": "Проверка базы",
  "a folder, a link or a pipe has the name of a file of the bridge's":
    "имя файла моста занято папкой, ссылкой или каналом",
  "Find out who made it, and move it away.": "Выясните, кто это создал, и уберите.",
  "Find out who made it, and move it away: erp-bridge makes the file anew.":
    "Выясните, кто это создал, и уберите: erp-bridge создаст файл заново.",
  "Restore the newest copy; what came since is brought over from the damaged file and from backup.journal: erp-bridge restore {copy}":
    "Восстановите последнюю копию; более новое будет перенесено из повреждённого файла и из backup.journal: erp-bridge restore {copy}",
  "{file} is older than what the service was told: an earlier copy was put in its place, or its -wal was removed.":
    "{file} старше того, что уже подтверждено сервису: на место базы положили прежнюю копию или удалили её -wal.",
  "{file} or its -wal was truncated or overwritten while the daemon was running: the last changes may be missing, those of the ERP too.":
    "{file} или её -wal обрезали или перезаписали во время работы службы: последних изменений может не хватать, в том числе сделанных ERP.",
  "{file} is older than what the service was told: an earlier copy was put in its place, its -wal was removed, or rows were deleted.":
    "{file} старше того, что уже подтверждено сервису: на место базы положили прежнюю копию, удалили её -wal или строки из неё.",
  "{file} is older than what {more} holds of it: its folder or the whole machine was set back to an earlier state.":
    "{file} старше того, что от этой базы есть в {more}: её папку или всю машину вернули в прежнее состояние.",
  "{file} may be an earlier copy: {beside}.progress was not there, and nothing shows that no order is missing.":
    "{file}: возможно, это прежняя копия: файла {beside}.progress нет, и ничто не подтверждает, что все заказы на месте.",
  "{path} is older than what the service was told: an earlier copy was brought in, or rows were deleted, while the bridge was running.":
    "{path} старше того, что уже подтверждено сервису: во время работы программы в базу загрузили прежнюю копию или удалили из неё строки.",
  "Restart erp-bridge: it verifies the database first.": "Перезапустите erp-bridge: сначала программа проверит базу.",
  "The daemon begins anew and verifies the database.": "Служба запускается заново и проверяет базу.",
  "Reading the database": "Чтение базы",
  "{file}-wal was truncated or overwritten while the daemon was running: the last changes may be missing, those of the ERP too.":
    "{file}-wal обрезан или перезаписан во время работы службы: последних изменений может не хватать, в том числе сделанных ERP.",
  "Orders that were confirmed since and are not in the database now will not be handed out again; of these, updates bring back only those that change.":
    "Подтверждённые с тех пор заказы, которых теперь нет в базе, больше не выдаются; из них вернутся только те, что изменятся.",
  "What the newest copy and backup.journal hold comes back with the daemon stopped and: erp-bridge restore {file}.":
    "То, что есть в последней копии и в backup.journal, вернёт при остановленной службе команда erp-bridge restore {file}.",
  "Compare the newest orders on the site with the database, have the ERP write its tables, run erp-bridge sync reconcile; then: erp-bridge resume orders --hold restored":
    "Сверьте последние заказы на сайте с базой, дайте ERP записать свои таблицы, выполните erp-bridge sync reconcile, затем: erp-bridge resume orders --hold restored",
  "{path}-wal was truncated by another program; it was begun anew.":
    "{path}-wal обрезан другой программой; журнал начат заново.",
  "{path}-wal was truncated or overwritten by another program; what only it held may be lost.":
    "{path}-wal обрезан или перезаписан другой программой; то, что было только в нём, может быть потеряно.",
  "{file}-journal lies beside the database and is not of it: no other program can open the database, and SQLite would play that file back over newer data.":
    "{file}-journal лежит рядом с базой и не относится к ней: другие программы не могут открыть базу, а SQLite записал бы этот файл поверх более новых данных.",
  "Move that file to another folder while the daemon runs, or restart erp-bridge: a start sets it aside.":
    "Перенесите этот файл в другую папку, пока служба работает, или перезапустите erp-bridge: при запуске файл будет переименован.",
  "Setting a foreign journal aside": "Переименование чужого журнала",
  "A file {path}-journal that is not of the database lay beside it; it is called {aside} now.":
    "Рядом с базой лежал чужой файл {path}-journal; теперь он называется {aside}.",
  "is a name that belongs to the database itself": "это имя принадлежит самой базе",
  "{target} is a name that belongs to the database itself.": "{target}: это имя принадлежит самой базе.",
  "{path} was overwritten by another program while the bridge was running.":
    "{path}: другая программа перезаписала базу во время работы моста.",
  "Restart erp-bridge: it verifies the database first. Bring a copy back with erp-bridge restore alone.":
    "Перезапустите erp-bridge: сначала проверяется база. Возвращайте копию только командой erp-bridge restore.",
  "Restart erp-bridge: it verifies the database first. Never touch -wal and -shm, also not with logrotate.":
    "Перезапустите erp-bridge: сначала проверяется база. Никогда не трогайте -wal и -shm, в том числе через logrotate.",
  // tables and sources of feeds
  "{name} is not switched on.": "{name}: не включено.",
  "Set the path of {name} in the configuration.": "Укажите path для {name} в настройках.",
  "table {table=}": "таблица {table}",
  "imports.{name=}.query": "imports.{name}.query",
  "imports.{name=}.query of {file}": "imports.{name}.query из {file}",
  "table {table=} of {file}": "таблица {table} из {file}",
  "the database": "базе",
  "{name}: there is no table {table} in {place~}.": "{name}: таблицы {table} нет в {place}.",
  "Make the table again, or set imports.{name}.table. Nothing is sent meanwhile, and nothing is deleted on the site.":
    "Создайте таблицу заново или задайте imports.{name}.table. Пока ничего не отправляется и на сайте ничего не удаляется.",
  "{name}: {source!} has no {which~}.": "{name}: {source}: нет {which}.",
  "{name}: {table} is not a table or view of the ERP.": "{name}: {table} не таблица и не представление ERP.",
  "Set imports.{name}.table to one that is. Nothing is sent meanwhile, and nothing is deleted on the site.":
    "Укажите в imports.{name}.table таблицу или представление ERP. Пока ничего не отправляется и на сайте ничего не удаляется.",
  "{name}: {source!} did not end within {seconds} s and was stopped.":
    "{name}: {source}: не завершилось за {seconds} с и было остановлено.",
  "Put imports.{name} right: a recursion may run in a circle, or a join may lack its condition or an index. Nothing is sent meanwhile, and nothing is deleted on the site.":
    "Исправьте imports.{name}: возможно, рекурсия идёт по кругу или соединению не хватает условия либо индекса. Пока ничего не отправляется и на сайте ничего не удаляется.",
  "{name}: {source!} gives more than {max} rows, twice as many as a moment ago.":
    "{name}: {source}: больше {max} строк, вдвое больше, чем только что.",
  "It is read again in the next pass. Nothing is deleted on the site meanwhile.":
    "Источник будет прочитан снова при следующем проходе. Пока на сайте ничего не удаляется.",
  "Add the {which~}, or set imports.{name}.record, key and available to columns that there are.":
    "Нет {which}: добавьте или укажите в imports.{name}.record, key и available имеющиеся столбцы.",
  "column {name}": "столбца {name}",
  "columns {names}": "столбцов {names}",
  "{name}: another program holds the lock of {source!}.": "{name}: {source}: заблокировано другой программой.",
  "Reading {source!}": "Чтение: {source}",
  "{name}: {source!} cannot be read: {why~}.": "{name}: {source}: не читается: {why}.",
  "Put imports.{name} right. Nothing is sent meanwhile, and nothing is deleted on the site.":
    "Исправьте imports.{name}. Пока ничего не отправляется и на сайте ничего не удаляется.",
  "The user of erp-bridge needs the right to read the file, and its folder too where it is in WAL mode. Nothing is sent meanwhile, and nothing is deleted on the site.":
    "Пользователю erp-bridge нужно право читать файл, а в режиме WAL — и доступ к его каталогу. Пока ничего не отправляется и на сайте ничего не удаляется.",
  "The running daemon still reads orders with the former mapping.":
    "Работающая служба читает заказы ещё по прежнему сопоставлению.",
  "Let it read the configuration again first: systemctl reload erp-bridge; then run remap.":
    "Пусть она сначала перечитает настройки: systemctl reload erp-bridge; затем выполните remap.",
  // the database file
  'The database path "{path}" ends in white space.': "Путь к базе «{path}» заканчивается пробелом.",
  "Correct database.path.": "Исправьте database.path.",
  "Opening the database": "Открытие базы",
  "Creating the database": "Создание базы",
  "Writing to the database": "Запись в базу",
  "Migrating the database": "Перевод базы на новую версию",
  "Taking the instance lock": "Захват блокировки экземпляра",
  "Looking at the instance lock": "Проверка блокировки экземпляра",
  "The folder of the database, {folder}, does not exist.": "Каталога базы {folder} нет.",
  "Make the folder, owned by the user of erp-bridge, or correct database.path.":
    "Создайте каталог с владельцем — пользователем erp-bridge или исправьте database.path.",
  "{file} is a symbolic link.": "{file}: это символическая ссылка.",
  "Set database.path to the file it points to: two names make two locks.":
    "Укажите в database.path файл, на который она ведёт: два имени — две блокировки.",
  "{file} is not a regular file.": "{file}: это не обычный файл.",
  "{file} has {count#} names (hard links).": "{file}: у файла {count} {count:имя|имени|имён} (жёсткие ссылки).",
  "Leave it one name: two names make two locks.": "Оставьте одно имя: два имени — две блокировки.",
  "{file} lies on a network file system ({type} at {point}), where SQLite's locks do not hold.":
    "{file}: файл на сетевой файловой системе ({type}, {point}), где блокировки SQLite не действуют.",
  "Put the database on a disk of this machine.": "Поместите базу на диск этой машины.",
  "{file} or its folder may not be written ({rights~}).": "{file}: нет права записи в файл или каталог ({rights}).",
  "{file} or its folder may not be read ({rights~}).": "{file}: нет права чтения файла или каталога ({rights}).",
  "Give the user of erp-bridge the right to it; SQLite also writes beside the file (-wal, -shm).":
    "Дайте это право пользователю erp-bridge; SQLite пишет и рядом с файлом (-wal, -shm).",
  "{file} was not made by erp-bridge and already holds {names}.":
    "{file}: файл создан не erp-bridge и уже содержит {names}.",
  "Set database.path to a file of its own, or rename these tables and views.":
    "Укажите в database.path отдельный файл или переименуйте эти таблицы и представления.",
  "Another erp-bridge works on {path}: {command}, process {pid#}, since {since}.":
    "С базой {path} уже работает другой erp-bridge: {command}, процесс {pid}, с {since}.",
  "Another erp-bridge works on {path}.": "С базой {path} уже работает другой erp-bridge.",
  "Stop it first (systemctl stop erp-bridge), or use a command that runs beside it.":
    "Сначала остановите его (systemctl stop erp-bridge) или используйте команду, которая работает рядом с ним.",
  // migrations
  "Install erp-bridge again.": "Установите erp-bridge заново.",
  "{tag} is dated before {before}": "{tag} датирована раньше, чем {before}",
  "The migrations in {folder} cannot be read: {why~}.": "Миграции в {folder} не читаются: {why}.",
  "The database was last used by a newer erp-bridge; nothing was changed.":
    "С базой работала более новая версия erp-bridge; ничего не изменено.",
  "Install that version again, or restore the backup made before its migration (…before-….db).":
    "Установите ту версию снова или восстановите копию, сделанную перед её миграцией (…before-….db).",
  "{what!}; nothing was changed.": "{what}; ничего не изменено.",
  "Install the erp-bridge that this database was made with, or report a damaged package.":
    "Установите ту версию erp-bridge, которой создана база, или сообщите о повреждённом пакете.",
  "The database has had a migration (of {at}) that this program does not know":
    "В базе есть миграция ({at}), неизвестная этой программе",
  "The database has had migration {tag} without {other~}": "В базе есть миграция {tag} без {other}",
  "an earlier one": "более ранней",
  "Migration {tag} is not the one that the database has had": "Миграция {tag} не та, что применена к базе",
  "{file} belongs to another program.": "{file}: база принадлежит другой программе.",
  "Set database.path to a file of its own.": "Укажите в database.path отдельный файл.",
  "The copy made before migrating {file} is damaged: {found*}.":
    "Копия, сделанная перед переводом {file}, повреждена: {found}.",
  "The database itself is likely damaged: run erp-bridge check, restore a backup.":
    "Вероятно, повреждена сама база: выполните erp-bridge check, восстановите копию.",
  "Copying the database into {folder} before migrating it":
    "Копирование базы в {folder} перед переводом на новую версию",
  "Applying migration {tag}": "Применение миграции {tag}",
  "Migration {tag} failed and was undone: {why~}.": "Миграция {tag} не удалась и отменена: {why}.",
  "Migration {tag} ends the transaction it runs in.": "Миграция {tag} завершает транзакцию, в которой выполняется.",
  "The migrations break {count#} foreign key[s] and were undone.":
    "Миграции нарушают внешние ключи ({count}) и отменены.",
  // opening
  "{file} does not take {pragma} = {value} (it is {actual}).":
    "{file}: не принимает {pragma} = {value} (сейчас {actual}).",
  "Close other programs that use the database and try again.":
    "Закройте другие программы, работающие с базой, и повторите.",
  "{file} is not an SQLite database, or its first page is damaged.":
    "{file}: это не база SQLite или повреждена её первая страница.",
  "Check database.path; if it is right, restore a backup: erp-bridge restore FILE.":
    "Проверьте database.path; если он верен, восстановите резервную копию: erp-bridge restore ФАЙЛ.",
  "{file} is not a database of erp-bridge yet.": "{file}: это ещё не база erp-bridge.",
  "{file} was made by an older erp-bridge.": "{file}: база создана более старой версией erp-bridge.",
  "Make it with erp-bridge init.": "Создайте её командой erp-bridge init.",
  "Start the daemon of this version once: it brings it up to date.":
    "Запустите один раз службу этой версии: она приведёт базу к новой версии.",
  "{file} is in use by an erp-bridge of a former version.": "{file}: базу использует erp-bridge прежней версии.",
  "Restart the daemon (systemctl restart erp-bridge): it brings the database up to date.":
    "Перезапустите службу (systemctl restart erp-bridge): она приведёт базу к новой версии.",
  "The database {file} does not exist.": "Базы {file} нет.",
  "Make it with erp-bridge init, or correct database.path.":
    "Создайте её командой erp-bridge init или исправьте database.path.",
  "{file} was replaced or removed while the bridge was running.":
    "{file}: файл заменён или удалён во время работы программы.",
  "Restart erp-bridge; use erp-bridge restore to bring back a backup.":
    "Перезапустите erp-bridge; копию возвращает erp-bridge restore.",
  "{file} was removed while the daemon was running; the daemon begins anew.":
    "{file}: файл удалён во время работы службы; служба запускается заново.",
  "What the daemon held is saved. Bring it back with: erp-bridge restore {copy}":
    "Всё, что было у службы, сохранено. Вернуть: erp-bridge restore {copy}",
  "The write-ahead log of {file} was removed, and another program still has the database open.":
    "Журнал упреждающей записи базы {file} удалён, а база ещё открыта в другой программе.",
  "Close the programs that have it open (lsof names them): they save what they have. Never remove -wal or -shm.":
    "Закройте программы, в которых она открыта (их назовёт lsof): они сохранят то, что у них есть. Никогда не удаляйте -wal и -shm.",
  "Try again in a moment: a running daemon saves what it has and begins anew.":
    "Повторите чуть позже: работающая служба сохраняет данные и запускается заново.",
  "The write-ahead log of {file} was removed while the bridge was running.":
    "Журнал упреждающей записи базы {file} удалён во время работы программы.",
  "The write-ahead log of {file} was replaced while the bridge was running.":
    "Журнал упреждающей записи базы {file} заменён во время работы программы.",
  "Close other programs that have the database open, and restart erp-bridge. Never touch -wal and -shm.":
    "Закройте другие программы, в которых открыта база, и перезапустите erp-bridge. Не трогайте -wal и -shm.",
  "The files of {file} were taken from under the running bridge.":
    "Файлы базы {file} были убраны во время работы программы.",
  "What it held was saved: erp-bridge restore {file}. If it is not wanted, move that file away.":
    "Данные сохранены: erp-bridge restore {file}. Если они не нужны, уберите этот файл.",
  "The database {file} is gone, and there was one before.": "База {file} исчезла, а раньше она была.",
  "Correct database.path, or bring back a copy: erp-bridge restore {file}. To begin anew without its orders: erp-bridge init --force.":
    "Исправьте database.path или верните копию: erp-bridge restore {file}. Начать заново без её заказов: erp-bridge init --force.",
  "Correct database.path, or bring back a copy: erp-bridge restore FILE. To begin anew without its orders: erp-bridge init --force.":
    "Исправьте database.path или верните копию: erp-bridge restore ФАЙЛ. Начать заново без её заказов: erp-bridge init --force.",
  "Copies of another shop's database in {folder} are left alone: {names}.":
    "Копии базы другого магазина в {folder} не тронуты: {names}.",
  "Copied, but not verified, because only the ERP has what they need: {names}.":
    "Скопированы, но не проверены, потому что нужное для этого есть только у ERP: {names}.",
  "{table} needs what only the ERP has: the copy's rows stay.":
    "{table}: нужное для записи есть только у ERP, остаются строки копии.",
  "Another shop's journal was left alone: {files}.": "Журнал другого магазина не тронут: {files}.",
  "The credentials were changed: the service is asked again at once.":
    "Учётные данные изменены: запросы к сервису возобновляются сразу.",
  // SQLite and the disk
  "{doing!}: {what!} ({file}, {code=}).": "{doing}: {what} ({file}, {code}).",
  "{doing!}: {what!} ({code=}).": "{doing}: {what} ({code}).",
  "folder {folder}: mode {mode}, owner {owner}; {self~}": "каталог {folder}: права {mode}, владелец {owner}; {self}",
  "file {file}: mode {mode}, owner {owner}; {self~}": "файл {file}: права {mode}, владелец {owner}; {self}",
  "{place} leads through more than {max} symbolic links.": "{place} ведёт более чем через {max} символических ссылок.",
  "Several users decide where {folder} lies: {names}.":
    "Где лежит {folder}, решают сразу несколько пользователей: {names}.",
  "Run the command as the user of erp-bridge: runuser -u USER -- erp-bridge …":
    "Запустите команду от имени пользователя erp-bridge: runuser -u ПОЛЬЗОВАТЕЛЬ -- erp-bridge …",
  "Root cannot become {user}, who owns {folder} ({code}).":
    "root не может перейти к пользователю {user}, владельцу {folder} ({code}).",
  "{name} is no file of its own but a link, a folder or a pipe.":
    "{name}: не отдельный файл, а ссылка, каталог или канал.",
  "Find out who made it, and remove it: erp-bridge makes the file anew.":
    "Выясните, кто это создал, и удалите: erp-bridge создаст файл заново.",
  "folder {folder} cannot be looked at; {self~}": "каталог {folder} посмотреть не удалось; {self}",
  "this program runs as {user}": "программа работает от {user}",
  "the disk is full": "диск заполнен",
  "the disk of {folder} is full": "диск каталога {folder} заполнен",
  "Free some space; the bridge goes on by itself.": "Освободите место; программа продолжит сама.",
  "the disk reported an error": "диск сообщил об ошибке",
  "Look at the kernel log (dmesg) and the disk's health.": "Посмотрите журнал ядра (dmesg) и состояние диска.",
  "another program holds the write lock of the database": "базу держит для записи другая программа",
  "The bridge tries again by itself; keep transactions of the ERP short.":
    "Программа повторит сама; транзакции ERP должны быть короткими.",
  "the file is not an SQLite database, or its first page is damaged":
    "файл не является базой SQLite или повреждена его первая страница",
  "the database is damaged": "база повреждена",
  "this program may open no more files": "программе больше нельзя открывать файлы",
  "Raise the limit of open files: LimitNOFILE= of the unit, or ulimit -n.":
    "Увеличьте предел числа открытых файлов: LimitNOFILE= в юните или ulimit -n.",
  "a file or its folder is not there": "файл или его каталог отсутствует",
  "the folder {folder=} is not there": "каталог {folder} отсутствует",
  "Make the folder, or name another one.": "Создайте каталог или укажите другой.",
  "the file or its folder does not let this program in ({rights~})": "нет доступа к файлу или его каталогу ({rights})",
  "the file or its folder does not let this program in": "нет доступа к файлу или его каталогу",
  "Give the user of erp-bridge the right to read and write the folder and the files in it.":
    "Дайте пользователю erp-bridge право чтения и записи в каталог и файлы в нём.",
  "{file=} was last used by a newer erp-bridge, so this one can bring nothing over from it; nothing was changed.":
    "Файлом {file} пользовалась более новая erp-bridge, поэтому эта ничего не может из него перенести; ничего не изменено.",
  "Best install that version again. Otherwise keep the file and its -wal under other names and restore once more: what was received since the copy is then missing, except from a journal.":
    "Лучше снова установить ту версию. Иначе сохраните файл и его -wal под другими именами и восстановите ещё раз: тогда не хватит всего, что получено после копии, кроме того, что есть в журнале.",
  "{name=} hangs: it has not got on for too long. The watchdog ends the program.":
    "{name} зависло: слишком долго нет продвижения. Сторож завершит программу.",
  "Stopped in the middle of a pass.": "Остановлено посреди прохода.",
} as const;
