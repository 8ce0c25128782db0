/** What is wrong with a configuration, and what was expected instead. */
export const config = {
  // addresses
  "is not an address such as https://api.example.com": "это не адрес вида https://api.example.com",
  "must begin with https://": "должно начинаться с https://",
  "must begin with https:// (http would show the credentials to the network; it is for loopback only)":
    "должно начинаться с https:// (по http учётные данные были бы видны в сети; http годится только для loopback)",
  "must hold no credentials; they have keys of their own":
    "не должно содержать учётных данных; для них есть отдельные ключи",
  "must hold no query and no fragment": "не должно содержать параметров запроса и фрагмента",
  "an https address": "адрес https",
  "is not an address that begins with https:// or http://": "это не адрес, начинающийся с https:// или http://",
  "an http or https address": "адрес http или https",
  "is neither env nor an address such as http://proxy.example:3128":
    "это ни env, ни адрес вроде http://proxy.example:3128",
  "env, an http or https address, or null": "env, адрес http или https или null",
  "must begin with /": "должно начинаться с /",
  "must hold no ..": "не должно содержать ..",
  "is not a path such as /api/v1/import/stocks": "это не путь вида /api/v1/import/stocks",
  "a path below base_url": "путь относительно base_url",
  "must name {{name}} once": "должно содержать {{name}} ровно один раз",
  "must hold no braces": "не должно содержать фигурных скобок",
  "may name nothing but {names}": "не может содержать ничего, кроме {names}",
  "must be host:port, for example 127.0.0.1:9469, or off":
    "должно иметь вид адрес:порт, например 127.0.0.1:9469, или быть off",
  "must be a loopback address such as 127.0.0.1 (the page asks nobody who they are; put a proxy before it)":
    "должен быть адрес loopback, например 127.0.0.1 (страница не спрашивает, кто её смотрит; поставьте перед ней прокси)",
  "host:port of loopback, or off": "адрес loopback и порт или off",
  // the document
  "holds more than {max} words and signs": "содержит больше {max} слов и знаков",
  "holds a text of more than {max} characters": "содержит текст длиннее {max} символов",
  "is SQLite's own; name a table or view of the ERP": "служебное имя SQLite; укажите таблицу или представление ERP",
  "is the bridge's own; name a table or view of the ERP":
    "принадлежит самой программе; укажите таблицу или представление ERP",
  "holds more than one statement": "содержит больше одной команды",
  "calls load_extension, which no source needs": "вызывает load_extension, а источнику это не нужно",
  "is empty; erp-bridge init writes one with every key explained":
    "пуст; erp-bridge init создаёт файл с пояснением каждого ключа",
  "holds no keys; it must begin with a line such as service:":
    "не содержит ключей; он должен начинаться со строки вида service:",
  "holds more than {max#} values": "содержит больше {max} значений",
  "refers to an anchor that does not exist": "ссылается на якорь, которого нет",
  "holds a key that is no text": "содержит ключ, который не является текстом",
  "is a duplicate; it stands in line {line#} already": "повторяется; ключ уже есть в строке {line}",
  "is a name that cannot be used": "это имя использовать нельзя",
  // feeds and orders
  "a column": "столбец",
  "names a column twice": "столбец назван дважды",
  "a list of 1 to {max#} columns": "список столбцов, от 1 до {max}",
  "null or a group of paths": "null или группа путей",
  "a table": "таблица",
  "a file": "файл",
  "a folder": "каталог",
  "ignore or an object of templates": "ignore или объект из шаблонов",
  "names a column of a row that is gone; leave the property out and its last value stays":
    "назван столбец строки, которой уже нет; уберите это свойство, и останется его последнее значение",
  "needs a key of one column, or null": "нужен ключ (key) из одного столбца либо null",
  "names {available}, but available is null": "использует {available}, но ключ available равен null",
  "must stand in quotes: YAML reads bare braces as a group of keys":
    "нужны кавычки: фигурные скобки без кавычек YAML читает как группу ключей",
  "names no number that can be sold, so the guard could not see rows go to zero; write {available} by itself where the number stands":
    "не содержит доступного остатка, и предохранитель не заметил бы обнуления; укажите {available} отдельным значением там, где нужен остаток",
  "leaves the number that can be sold as it was, so a deleted row would stay on sale; set it to 0":
    "не меняет доступный остаток, и удалённая строка осталась бы в продаже; задайте для него 0",
  "is not a column name of letters, digits and _": "это не имя столбца из букв, цифр и _",
  "is a column that {view} has already": "такой столбец в {view} уже есть",
  "is a column twice (capitals make no difference)": "такой столбец указан дважды (регистр букв не важен)",
  "has more than 200 columns": "больше 200 столбцов",
  "columns and their paths": "столбцы и их пути",
  "text, a whole number or true or false": "текст, целое число, true или false",
  "parameters and their values": "параметры и их значения",
  "a list of status names": "список названий статусов",
  "auto or an object of templates over {batch_id} and {order_ids}":
    "auto или объект из шаблонов с {batch_id} и {order_ids}",
  "a list of paths": "список путей",
  "the ERP's names and the service's": "названия в ERP и названия сервиса",
  // findings
  "is not a name that can be used here": "такое имя здесь использовать нельзя",
  "a group of keys": "группа ключей",
  "of another kind": "значение другого вида",
  "must be {wanted!}": "должно быть: {wanted}",
  "must be {wanted!} ({keys})": "должно быть: {wanted} ({keys})",
  "is missing; it {wanted!}": "не указано; {wanted}",
  "{wanted!}, not {found!}": "{wanted}, а не {found}",
  "put it in quotes": "возьмите его в кавычки",
  "{wanted!}, or null": "{wanted} или null",
  empty: "пустое значение",
  "a list": "список",
  text: "текст",
  "true or false": "true или false",
  "is not a known key": "неизвестный ключ",
  'is not a known key; did you mean "{name}"?': "неизвестный ключ; возможно, имелось в виду «{name}»?",
  'is not a known key here; did you mean "{name}"?': "здесь такого ключа нет; возможно, имелось в виду «{name}»?",
  "is not a known key; known here: {names}": "неизвестный ключ; здесь известны: {names}",
  // kinds of values
  "text of 1 to {max#} characters": "текст длиной от 1 до {max} знаков",
  "holds a control character": "содержит управляющий символ",
  "a name of letters, digits and _": "имя из букв, цифр и _",
  "is not a place on disk": "это не место на диске",
  "text or a whole number": "текст или целое число",
  "one of {values}": "одно из {values}",
  "a whole number from {min=} to {max=}": "целое число от {min} до {max}",
  "a number from {min=} to {max=}": "число от {min} до {max}",
  "a duration such as 30s,": "срок, например 30s,",
  "a size such as 64MB,": "размер, например 64MB,",
  "{noun!} from {min=} to {max=}": "{noun} от {min} до {max}",
  "a SELECT": "запрос SELECT",
  "begins with neither SELECT, WITH nor VALUES": "не начинается с SELECT, WITH или VALUES",
  "is not a schedule that cron understands": "это не расписание в понятном cron виде",
  "a cron schedule of five or six fields": "расписание cron из пяти или шести полей",
  "is not a path such as $.key": "это не путь вида $.key",
  "a path such as $.key": "путь вида $.key",
  "is not a calculation such as quantity - reserved": "это не вычисление вида quantity - reserved",
  "a calculation over columns": "вычисление над столбцами",
  "is not a template such as {name}": "это не шаблон вида {name}",
  "is no name for a property": "не годится как имя свойства",
  "an object of templates": "объект из шаблонов",
  // loading
  "erp-bridge init writes a commented one": "Файл с пояснениями создаёт erp-bridge init.",
  "the configuration file {problem!}": "файл настроек {problem}",
  "the file {problem!}": "файл {problem}",
  "the configuration file holds the client secret and may be read by every user of this machine; take that away with chmod o-r":
    "файл настроек содержит client secret и доступен для чтения всем пользователям машины; закройте доступ: chmod o-r",
  "NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored: certificates are checked; take the variable out of the environment":
    "NODE_TLS_REJECT_UNAUTHORIZED=0 не действует: сертификаты проверяются; уберите эту переменную из окружения",
  "is missing": "не указано",
  "Correct the file, then try it with: erp-bridge check": "Исправьте файл и проверьте его: erp-bridge check",
  // the secret
  "the file of the client secret may be read by every user of this machine; take that away with chmod o-r":
    "файл с client secret доступен для чтения всем пользователям машины; закройте доступ: chmod o-r",
  "stands beside client_secret_file; keep one of the two": "указано вместе с client_secret_file; оставьте что-то одно",
  "lacks the secret: write client_secret_file, or give systemd the credential client-secret":
    "нет секрета: укажите client_secret_file или передайте через systemd учётные данные client-secret",
  "must have {min#} to {max#} characters": "длина должна быть от {min} до {max} знаков",
  "holds a character that an HTTP header cannot carry (a line break, or no ASCII)":
    "содержит знак, недопустимый в заголовке HTTP (перевод строки или не ASCII)",
  "begins or ends with a space": "начинается или заканчивается пробелом",
  "gets a systemd credential {name} that {problem!}": "учётные данные systemd {name}: {problem}",
  "names a file that {problem!}": "указанный файл {problem}",
  // the service
  "is not a time zone such as UTC, Europe/Moscow or +03:00": "это не часовой пояс вида UTC, Europe/Moscow или +03:00",
  "a time zone": "часовой пояс",
  "a program, or a list of a program and its arguments": "программа или список из программы и её аргументов",
  // reading the file
  "is no regular file": "не является обычным файлом",
  "is larger than {max#} bytes": "больше {max} байт",
  "cannot be read ({code})": "не читается ({code})",
  "does not exist": "не найден",
  "may not be read by this user": "недоступен для чтения этому пользователю",
  "has a name that no file can have": "имеет имя, невозможное для файла",
  "begins with a byte order mark; save it as UTF-8 without BOM": "начинается с BOM; сохраните его в UTF-8 без BOM",
  "is UTF-16; save it as UTF-8": "в кодировке UTF-16; сохраните его в UTF-8",
  "is not UTF-8 from here on; save it as UTF-8": "с этого места не в UTF-8; сохраните его в UTF-8",
  // YAML
  "is indented with a tab; YAML takes spaces only": "отступ сделан табуляцией; в YAML допустимы только пробелы",
  "is not indented like the lines around it, or a bracket or brace above is not closed":
    "отступ не такой, как у соседних строк, либо выше не закрыта скобка",
  "has an alias (*) that is not written correctly": "ссылка (*) записана неверно",
  "has a line that begins with % and is no directive": "строка начинается с %, но это не директива",
  "has a backslash inside double quotes that starts no known escape":
    "обратная косая черта в двойных кавычках не начинает известной последовательности",
  "has a value that begins with a reserved character; put it in quotes":
    "значение начинается с зарезервированного знака; возьмите его в кавычки",
  "has a nested value on one line; quote the value, or write it on lines of its own":
    "вложенное значение в одной строке; возьмите его в кавычки или перенесите на отдельные строки",
  "has an indented block inside { } or [ ]": "блок с отступом внутри { } или [ ]",
  "is not YAML": "это не YAML",
  "has a key of more than 1024 characters": "ключ длиннее 1024 знаков",
  "has two anchors (&) on one value": "два якоря (&) у одного значения",
  "holds more than one document; remove what follows ---": "содержит несколько документов; удалите всё после ---",
  "has two tags (!) on one value": "два тега (!) у одного значения",
  "has a key that is no text": "ключ не является текстом",
  "has a tag (!) that is not known here": "тег (!) здесь неизвестен",
  "is not YAML from here on": "с этого места это не YAML",
  "has a tag (!) that does not fit its value": "тег (!) не подходит к своему значению",
  // variables
  "holds a ${ that is neither ${VAR} nor ${VAR:-default}": "содержит ${, но это не ${VAR} и не ${VAR:-default}",
  "names the environment variable {name}, which is not set": "использует переменную окружения {name}, а она не задана",
  // the small languages
  '"{text}" stands': "стоит «{text}»",
  "{{name}} is unknown here; there are {{names}}": "{{name}} здесь неизвестно; есть {{names}}",
} as const;
