/** What `--help` says, and what commander says by itself. */
export const help = {
  "Keeps a shop's local SQLite ERP database in step with an online sales service.":
    "Синхронизирует локальную базу ERP магазина (SQLite) с сервисом онлайн-продаж.",
  "configuration file (default: $ERP_BRIDGE_CONFIG or /etc/erp-bridge/config.yaml)":
    "файл настроек (по умолчанию: $ERP_BRIDGE_CONFIG или /etc/erp-bridge/config.yaml)",
  "instead of --config: /etc/erp-bridge/NAME.yaml": "вместо --config: /etc/erp-bridge/NAME.yaml",
  "results in a stable machine form": "результат в постоянном виде для программ",
  "the daemon: keeps everything in step until it is stopped": "служба: ведёт обмен, пока её не остановят",
  "one pass of the named jobs, now; beside a running daemon it asks the daemon":
    "один проход названных заданий сейчас; если служба работает, его выполнит она",
  "of {jobs}; without a name all but reconcile": "из {jobs}; без имени — все, кроме reconcile",
  "what would be sent, old and new value, from the database alone":
    "что было бы отправлено, прежнее и новое значение; только по базе, без обращений к сервису",
  "of the named feeds every row, also what the service has accepted: it was restored or lost something":
    "все строки названных выгрузок, в том числе уже принятые сервисом: его восстановили из копии или он потерял данные",
  "of one feed only this row, for example A-1 or A-1/north":
    "из одной выгрузки только эта строка, например A-1 или A-1/north",
  "configuration, database, permissions and disk": "проверка настроек, базы, прав и диска",
  "also credentials, subscription and clocks, harmlessly":
    "также учётные данные, подписка и часы; проверка ничего не меняет",
  "is all well? one sentence, then a line a flow": "всё ли в порядке: одна фраза, затем по строке на поток обмена",
  "again every two seconds, until it is interrupted": "повторять каждые две секунды, пока не прервут",
  "lift a hold after its cause was put right": "снять остановку, когда её причина устранена",
  "lift this hold alone; one that asks for a statement of yours beside others is lifted so":
    "снять только эту остановку; так снимается та, что ждёт вашего подтверждения рядом с другими",
  "orders, updates, statuses, imports, a feed, account, or observations":
    "orders, updates, statuses, imports, имя выгрузки, account или observations",
  "let through what a feed's guard holds": "разрешить отправку того, что задержал предохранитель выгрузки",
  "stocks, prices, catalog or images": "stocks, prices, catalog или images",
  "the configuration": "настройки",
  "the effective configuration, without secrets": "действующие настройки без секретов",
  "JSON Schema of the configuration file, for editors": "JSON Schema файла настроек для редакторов",
  "one order's story: received, stored, confirmed, changed, taken by the ERP":
    "история одного заказа: получен, сохранён, подтверждён, изменён, забран в ERP",
  "its id or its number": "его идентификатор или номер",
  "a consistent, verified copy of the database, also while the daemon runs":
    "целостная проверенная копия базы, в том числе при работающей службе",
  "the copy; it must not exist yet": "файл копии; его ещё не должно быть",
  "puts a copy in the database's place and brings over what it lacks":
    "ставит копию на место базы и переносит в неё то, чего ей недостаёт",
  "a copy made by backup or by the daemon": "копия, сделанная командой backup или службой",
  "do not ask": "не спрашивать",
  "records that could not be used": "записи, которые не удалось использовать",
  "all of them and the batches that could not be read, with the reason":
    "все такие записи и непрочитанные пачки с указанием причины",
  "one record with its payload": "одна запись с её содержимым",
  "its number, or batch:NUMBER": "её номер или batch:НОМЕР",
  "read records again with the present mapping, or send rows again":
    "прочитать записи заново по нынешнему сопоставлению или снова отправить строки",
  "their numbers, or batch:NUMBER": "их номера или batch:НОМЕР",
  "everything that is held": "всё, что задержано",
  "take records out of the way; they stay in the table quarantine":
    "убрать записи из карантина; в таблице quarantine они останутся",
  "derive columns and lines again after the mapping was corrected, without the service":
    "заново заполнить столбцы и строки заказов после исправления сопоставления, без сервиса",
  "only say what would change": "только показать, что изменилось бы",
  "a commented configuration and an empty database": "файл настроек с пояснениями и пустая база",
  "address of the service": "адрес сервиса",
  "client id from the service's API access settings": "client id из настроек доступа к API в сервисе",
  "where the secret is, or is to be written (0600); never the secret itself":
    "где лежит секрет или куда его записать (0600); сам секрет здесь не указывают",
  "the SQLite file": "файл SQLite",
  "address that receives alerts": "адрес, на который приходят оповещения",
  "program that is started with alerts": "программа, которая запускается с оповещением",
  "keep what is there under another name, and make a new one": "сохранить имеющееся под другим именем и создать новое",
  "find out, as harmlessly as it can be done, what the interface document leaves open":
    "выяснить как можно безвреднее то, чего не говорит описание интерфейса",
  "also the two requests that could have an effect, without asking":
    "без вопросов выполнить и два запроса, которые могут иметь последствия",
  "a local stand-in for the service, for trying the bridge without an account":
    "локальная замена сервиса, чтобы попробовать программу без учётной записи",
  "port on 127.0.0.1, 0 for any free one": "порт на 127.0.0.1, 0 — любой свободный",
  "makes the same orders again": "создаёт те же заказы снова",
  "new orders a minute": "новых заказов в минуту",
  "client id to accept": "принимаемый client id",
  "client secret to accept": "принимаемый client secret",
  "JSON file with switches: how the service behaves": "файл JSON с переключателями: как ведёт себя сервис",
  "A secret on the command line can be read by every user of this machine; it was not used.":
    "Секрет в командной строке виден всем пользователям машины; он не использован.",
  "Give it on standard input, in ERP_BRIDGE_CLIENT_SECRET or in a file: --client-secret-file FILE":
    "Передайте его через стандартный ввод, ERP_BRIDGE_CLIENT_SECRET или файл: --client-secret-file ФАЙЛ",
  "It must be a whole number.": "Это должно быть целое число.",
  "It must be a whole number from 0 to {max#}.": "Это должно быть целое число от 0 до {max}.",
} as const;

/** Texts of commander itself: no source of ours holds them. */
export const commanderHelp = {
  "Example:": "Пример:",
  "Usage:": "Использование:",
  "Options:": "Параметры:",
  "Arguments:": "Аргументы:",
  "Commands:": "Команды:",
  "display help for command": "показать справку по команде",
  "output the version number": "показать номер версии",
  "{text!} (default: {value})": "{text} (по умолчанию: {value})",
  "error: {message!}": "ошибка: {message}",
  "unknown option '{option}'": "неизвестный параметр «{option}»",
  "unknown command '{command}'": "неизвестная команда «{command}»",
  "missing required argument '{name}'": "не указан обязательный аргумент «{name}»",
  "option '{option}' argument missing": "у параметра «{option}» не указано значение",
  "option '{option}' argument '{value}' is invalid. {why~}":
    "значение «{value}» параметра «{option}» не подходит. {why}",
  "command-argument value '{value}' is invalid for argument '{name}'. {why~}":
    "значение «{value}» аргумента «{name}» не подходит. {why}",
  "too many arguments for '{command}'. Expected {count#} argument[s] but got {given#}.":
    "слишком много аргументов команды «{command}»: нужно {count}, указано {given}.",
  "too many arguments. Expected {count#} argument[s] but got {given#}.":
    "слишком много аргументов: нужно {count}, указано {given}.",
  "too many arguments for '{command}'. Expected {count#} argument[s] but got {given#}: {names}.":
    "слишком много аргументов команды «{command}»: нужно {count}, указано {given}: {names}.",
  "whether a running daemon would take it over, quickly; systemctl reload asks it first":
    "приняла бы её работающая служба; быстрая проверка, с неё начинает systemctl reload",
  "(Did you mean {name}?)": "(Возможно, имелось в виду {name}?)",
  "(Did you mean one of {names}?)": "(Возможно, имелось в виду одно из: {names}?)",
} as const;
