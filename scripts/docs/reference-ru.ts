/* The words of docs/configuration.ru.md. Keys, types and meanings are messages of the program; the rest stands here. */

import { render } from "../../src/messages/message.ts";
import type { ReferenceWords } from "./reference.ts";

const HEAD = `# Настройки

[English](configuration.md)

<!-- Written by scripts/write-config-docs.ts from src/config; do not edit by hand. -->

Один файл YAML, \`/etc/erp-bridge/config.yaml\`, если не указано другое. \`erp-bridge init\` создаёт его с пояснением каждого ключа (то же самое —
\`config/config.example.yaml\`), \`erp-bridge check\` читает его и называет всё неверное сразу, \`erp-bridge config show\` показывает действующие настройки, а
\`erp-bridge config schema\` — JSON Schema для редакторов.

- Незнакомые и повторные ключи, неверные единицы и типы — ошибки. Группа без ключей означает её значения по умолчанию. В файле, который пишет \`init\`, есть все группы: новые ключи пишите в них.
- YAML 1.2: \`yes\`, \`no\`, \`on\` и \`off\` — текст. UTF-8 без метки порядка байтов, не больше 1 МБ, отступы без табуляции.
- \`\${VAR}\` и \`\${VAR:-default}\` действуют внутри значений, после разбора, поэтому переменная не меняет строения файла. В кавычках — там, где скобка иначе начала бы группу:
  \`{ connect: "\${CONNECT:-5s}" }\`. Незаданная переменная — ошибка.
- Промежуток времени — целое число и \`ms\`, \`s\`, \`m\`, \`h\`, \`d\` или \`y\` (365 дней). Размер — целое число и \`B\`, \`KB\`, \`MB\`, \`GB\` (тысячи) или \`KiB\`, \`MiB\`,
  \`GiB\` (1024).
- Расписания — cron из пяти или шести полей (сначала секунды) в поясе \`timezone\`, без него — в поясе этой машины. Час, который при переводе часов пропадает или повторяется,
  ничего не меняет: у чего час назначен, выполняется один раз, остальное сохраняет промежутки.
- Пути в ответах — пути JSON из SQLite: \`$\`, \`.key\`, \`."any key"\`, \`[n]\`. Записанный в файле путь обязан подходить; тот, что стоит только по умолчанию, в ответах может
  отсутствовать.
- Шаблоны берут \`{name}\`, с преобразованием \`{name|number}\`, \`|string\`, \`|json\` или \`|bool\`; текст из одной подстановки сохраняет свой тип JSON. Сама фигурная скобка
  пишется дважды: \`{{\`.
- Места на диске могут быть относительно файла настроек.
- Секрет берётся из \`client_secret\`, из \`client_secret_file\` или, без них, из учётных данных systemd \`client-secret\`. Перевод строки в конце файла в него не входит.

**†** — значение по умолчанию предполагает что-то о сервисе: см. [что предполагается](#что-предполагается-о-сервисе-и-как-узнать-точно).
`;

const SOURCES = `### Откуда могут идти строки и чего это стоит

- **Таблица в самой базе программы** дешевле всего: триггеры записывают ключи, которых касается любая программа, и смотрятся только они. Ночное сравнение (\`compare\`) — страховка. Таблица,
  где больше 200 000 строк и нет индекса по столбцам ключа, читается как представление: создайте индекс.
- **Представление над ней, \`query\` и всё, что в другом \`file\`,** триггеров не имеют. Все строки читаются при каждом запуске по расписанию, и их хеши сравниваются с прежними: около 10 с одного
  ядра на каждый миллион строк, примерно 100 байт базы на строку и 40 МБ памяти на миллион, пока они читаются. Представление, которое соединяет или сортирует, стоит ещё и этого. Выгрузке с
  большим числом строк дайте подходящее расписание, например \`*/10 * * * *\`.
- \`file\` открывается только для чтения и при каждом запуске заново, так что заменённый файл виден таким, какой есть. Не в режиме WAL программы, которые пишут в файл, ждут, пока он читается; об
  этом говорит \`check\`.
- В режиме WAL пишущие в \`file\` ничего не замечают. Рядом с файлом SQLite хранит журнал и его указатель (\`-wal\`, \`-shm\`), поэтому пользователю erp-bridge нужно право писать в его папку. Их создаёт
  тот, кто открыл файл первым: с правами самого файла и с группой папки, если у неё есть setgid. Если пишет другой пользователь, дайте файлу и папке общую для обоих группу: \`chgrp GROUP\` для
  обоих, \`chmod 660\` для файла, \`chmod g+s\` для папки и \`umask 007\` в пишущих программах. Иначе журнал, созданный erp-bridge, не дал бы остальным писать, поэтому файл читается, только пока он открыт
  одной из них; в остальное время выгрузка остановлена, и \`check\` и \`status\` [об этом говорят](trouble.ru.md#table_missing). Списки доступа (ACL) не учитываются.
- \`erp.write_within\` не действует для представления, для \`query\` без \`file\` и для таблицы, которая читается как представление: там видны значения, а не время записи. У таблицы и у \`file\`
  [считается каждая запись](operations.ru.md#erp-не-обновляла-свою-таблицу-feed-уже-n-мин).
- Если чтение обрывается, источника нет, он занят или в нём нет столбца, ничего не отправляется и не удаляется.
- Строки, которые называют другую своим \`parent\`, идут после того, как она принята или отклонена: тогда сервис сам решает, брать ли их без неё. Дальнейших её
  изменений они не ждут. Снятие товара с продажи никого не ждёт.
- Ключ, который встретился дважды, уходит в карантин с обеими строками, и ни одна не отправляется.
- Строка, в отправляемых столбцах которой больше 16 МБ, не читается: она одна уходит в карантин, с указанием размера. Так же и строка, запись которой была бы длиннее 16 миллионов символов. Если
  строки велики, запрос заканчивается записью, с которой он превышает 16 МБ, что бы ни разрешал \`chunk\`.
- Другой \`key\`, \`table\`, \`query\`, \`file\`, \`record\`, \`parent\` или \`scope\` ничего не снимает с продажи: всё сравнивается с отправленным. При другом \`key\` отправленное сначала получает новые
  имена: по строке, запись которой говорит то же на месте прежнего ключа, по прежним столбцам, если они в источнике ещё есть и запись строки не называет другой товар, или по шаблону, прочитанному обратно. Чего в источнике после этого
  нет, уходит как любая строка: после \`delete_after\` и под счётом предохранителя. О том, что назвать нельзя, ничего не отправляется, пока
  [не решит человек](operations.ru.md#feed-новый-ключ-не-определяет-n-строки-на-сайте-keys).
- Если новая запись строки называет не тот товар, который отправлен (ERP записала в строку другой товар, отдала её номер другому или изменён шаблон), прежний товар уходит как любая
  строка: с \`on_delete\`, после \`delete_after\` и под счётом предохранителя, если к тому времени его не называет ни одна строка источника. До этого его показывает
  \`erp-bridge approve FEED --former list\`. Не отправляет ничего и удалённая строка, товар которой называет другая: то, что есть на сайте, считается отправленным этой другой. Её уход в ноль считает предохранитель, а если сервис её так и не примет, товар уйдёт с сайта вместе с ней. Если последней была отправлена удалённая, другая отправляется ещё раз, в том числе при \`on_delete: ignore\` (кроме \`images\`; для представления, запроса или другого файла — после ночного \`compare\`).
  Из двух строк, которые называют один товар одновременно, действует отправленная последней: \`check\` сообщает об этом, если в записи есть только часть ключа. Товар называет \`sku\`, а рядом с ним \`warehouse\`, \`price_type\` и \`position\`, если они составлены из столбцов. В записи без \`sku\` это свойства
  из столбцов ключа; если какого-то столбца ключа в записи нет, то ещё свойство, которое назвал \`result.key\`, или единственное другое, кроме количества, цены и признака.
  Если таких несколько, товар неизвестен: включите столбец, который его называет, в \`key\`.
- В двух случаях ещё раз отправляются неизменённые значения: сервис мог не принять их во внимание или заменить. Когда сервис принимает товар из \`catalog\`, которого у него не было или который был снят с продажи (\`on_delete\`) и снова продаётся, ещё раз уходят отправленные раньше
  остатки, цены и изображения этого товара: при первой загрузке остатки и цены отправляются дважды. Когда сервис принимает удаление строки, сразу после него ещё раз уходят строки с тем же товаром,
  которые есть в продаже: в другом написании (регистр, диакритические знаки, невидимые символы, пробелы по краям), а в \`stocks\` — и на другом складе.
- Таблица, которая отправляется целиком (\`scope: whole\`), всегда полна: группы стоят в запросе раньше того, что в них. Одна запись, которую сервис отклонил, не пускает
  на сайт всю таблицу, если ответы (2xx, 400, 413 или 422) не называют отклонённых записей (\`result\`): приостановку показывает \`status\`.
`;

const IMAGES = `Строка \`images\` называет изображение в \`source\`. При \`send: url\` строки отправляются как есть, адреса не загружаются, и \`source\`, который отправляется сам по себе, должен быть
адресом; запись вроде \`{ url: "https://shop.example/photos/{source}" }\` делает адрес из имени. При \`base64\` и \`multipart\` это должен быть файл в папке \`folder\`; читается только оттуда. Он отправляется,
когда его содержимое (SHA-256) для строки новое, и проверяется каждую ночь и всякий раз, когда пишется его строка (строка представления, запроса или другого файла — когда изменилась: запись тех же значений там не видна); отклонённое из-за файла проверяется при каждом проходе. Кроме столбцов в
\`record\` тогда доступны \`{file.base64}\`, \`{file.name}\`, \`{file.type}\`, \`{file.size}\` и \`{file.sha256}\`; везде, где запись хранится или показывается, вместо байтов стоит \`sha256:…\`. Строка
другого рода уходит в карантин; туда же — файл, которого нет, слишком большой, другого типа или вне папки. В том, что отправляет удалённая строка, на месте файла null. Форма — это одно изображение
в запросе: \`chunk\` и \`property\` тогда ничего не значат.`;

/** Notes and assumptions, which have no messages, by their English text. */
const TEXTS: Readonly<Record<string, string>> = {
  "A template that is refused for every record holds the feed and quarantines nothing.":
    "Шаблон, который отклоняется для каждой записи, останавливает выгрузку и ничего не отправляет в карантин.",
  "These feeds are off until their path is set. An image that is refused alone is quarantined with the service's words.":
    "Эти выгрузки выключены, пока не указан их path. Отдельно отклонённое изображение уходит в карантин со словами сервиса.",
  "The document shows only that the array may be empty; no feed sends an empty one; `erp-bridge probe` does, once, after a yes.":
    "Из описания видно только, что массив может быть пустым; выгрузки пустого не отправляют; `erp-bridge probe` отправляет, один раз и после согласия.",
  "Without it status says that records were accepted by status code only.":
    "Без него status говорит, что записи приняты только по коду ответа.",
  "Payloads are kept as sent, so erp-bridge remap derives the columns again after a correction.":
    "Содержимое хранится как пришло, поэтому после исправления erp-bridge remap заполняет столбцы заново.",
  "An answer of another shape is an error that names the path tried and the keys seen; nothing is confirmed.":
    "Ответ другого вида — ошибка, в которой названы путь и увиденные ключи; ничего не подтверждается.",
  "A refused confirm is visible in batches; its orders are stored.":
    "Отклонённое подтверждение видно в batches; его заказы сохранены.",
  "None are sent unless written.": "Без записи в настройках не отправляется ни один.",
  "The watermark is always a value that the service itself sent.":
    "Отметка — всегда значение, которое прислал сам сервис.",
  "Off until the path is set; a path that answers 404 or 405 for an existing order holds, and refuses nothing.":
    "Выключено, пока не указан путь; путь, который для существующего заказа отвечает 404 или 405, останавливает статусы и ничего не отклоняет.",
  "Transitions are the service's business: a refused request keeps its words.":
    "Переходы — дело сервиса: отклонённый запрос хранит его слова.",
  "Retry-After is honoured, 413 halves the chunk, and a batch of any size is stored in steps.":
    "Retry-After соблюдается, 413 уменьшает порцию вдвое, пачка любого размера сохраняется по частям.",
  "No key depends on it: the status decides, and the words are only shown.":
    "Ни один ключ от этого не зависит: решает статус, слова только показываются.",
  "No key depends on it: errors are distinguished by their class; an unknown one holds its flow and blames no record.":
    "Ни один ключ от этого не зависит: ошибки различаются по классу; незнакомая останавливает свой обмен и не винит ни одной записи.",
  "No key depends on it: the paths of the 1C endpoints are those of /api/v1; a change of shape shows as an error, not as silence.":
    "Ни один ключ от этого не зависит: пути для 1С — из /api/v1; изменение вида проявится ошибкой, а не тишиной.",
  "The form of the service's times is not shown: if they name no zone, change an order and compare its updated_at with the clock.":
    "Вид времени у сервиса не показан: если в нём нет пояса, измените заказ и сравните его updated_at с часами.",
  "Limits are not shown: ask the service, or watch for answers 429 in status and lower it.":
    "Ограничения не показаны: спросите сервис или следите за ответами 429 в status и уменьшайте.",
  "Size limits are not shown: raise it if status names an answer that is too large.":
    "Ограничения размера не показаны: увеличьте, если status называет слишком большой ответ.",
  "Query parameters are not shown: ask the service whether the account needs any.":
    "Параметры запроса не показаны: спросите сервис, нужны ли они этой учётной записи.",
  "Response bodies are not shown: the error of the first pull names the keys seen.":
    "Тела ответов не показаны: увиденные ключи назовёт ошибка первого получения.",
  "The payload is not shown: ask the service, or let erp-bridge probe find out; a refused confirm shows in batches.":
    "Тело не показано: спросите сервис или узнайте через erp-bridge probe; отклонённое подтверждение видно в batches.",
  "When an unconfirmed batch is served again is not shown: ask the service, and wait longer than that.":
    "Когда неподтверждённая пачка выдаётся снова, не показано: спросите сервис и ждите дольше этого.",
  "Order fields are not shown: look at payload in orders after the first pull.":
    "Поля заказа не показаны: после первого получения посмотрите payload в orders.",
  "Line fields are not shown: look at payload in orders after the first pull.":
    "Поля строки не показаны: после первого получения посмотрите payload в orders.",
  "Status names are not shown: select distinct status from orders after some days, or ask the service.":
    "Названия статусов не показаны: через несколько дней выполните select distinct status from orders или спросите сервис.",
  "Response bodies are not shown: the error of the first poll names the keys seen.":
    "Тела ответов не показаны: увиденные ключи назовёт ошибка первого опроса.",
  "Response bodies are not shown: if an entry equals GET /orders/{order_id} of that order, whole saves a request each.":
    "Тела ответов не показаны: если изменение равно GET /orders/{order_id} этого заказа, whole экономит по запросу на каждое.",
  "The format of since is not shown: ask the service, or let erp-bridge probe compare the answers; a form that is not understood may answer everything, or nothing.":
    "Вид since не показан: спросите сервис или сравните ответы через erp-bridge probe; на непонятый вид сервис может отдать всё или ничего.",
  "Whether changes appear in the order of their timestamps is not shown: raise it if the wide re-poll keeps finding changes.":
    "Идут ли изменения в порядке времени, не показано: увеличьте, если повторный опрос за прошлое постоянно что-то находит.",
  "Response bodies are not shown: look for a cursor beside the list of changes.":
    "Тела ответов не показаны: поищите указатель рядом со списком изменений.",
  "Response bodies are not shown: the error of the first read names the keys seen.":
    "Тела ответов не показаны: увиденные ключи назовёт ошибка первого чтения.",
  "The method is not shown: ask the service.": "Метод не показан: спросите сервис.",
  "The suffix of the path is not shown: ask the service.": "Окончание пути не показано: спросите сервис.",
  "The payload is not shown: ask the service.": "Тело не показано: спросите сервис.",
  "Status names and transitions are not shown: a refused request keeps the service's words.":
    "Названия статусов и переходы не показаны: отклонённый запрос хранит слова сервиса.",
  "Whether the service subtracts reserves itself is not shown: reserve an article there and compare; if it does, write quantity.":
    "Вычитает ли сервис резерв сам, не показано: зарезервируйте там товар и сравните; если вычитает, напишите quantity.",
  "Fields of the record are not shown: ask the service, then look at one article there; names that it refuses hold the feed with its words, names that it ignores change nothing.":
    "Поля записи не показаны: спросите сервис, затем посмотрите там один товар; отвергнутые имена останавливают выгрузку с его словами, незамеченные ничего не меняют.",
  "Whether records that are absent from a request are left alone is not shown: ask the service, or try it with few articles on a test account.":
    "Остаются ли нетронутыми записи, которых нет в запросе, не показано: спросите сервис или попробуйте на тестовой учётной записи с несколькими товарами.",
  "Size limits are not shown: lower it if requests are slow or refused.":
    "Ограничения размера не показаны: уменьшите, если запросы медленны или отклоняются.",
  "How the service removes a record is not shown: ask the service.":
    "Как сервис удаляет запись, не показано: спросите сервис.",
  "The shape of the answer is not shown: ask the service what it answers when one of many records is wrong.":
    "Вид ответа не показан: спросите сервис, что он отвечает, когда из многих записей неверна одна.",
  "The path is not shown, only its shape /api/v1/import/*: ask the service.":
    "Путь не показан, только его вид /api/v1/import/*: спросите сервис.",
  "The payload is not shown: ask the service, then look at one article there; names that it refuses hold the feed with its words, names that it ignores change nothing.":
    "Тело не показано: спросите сервис, затем посмотрите там один товар; отвергнутые имена останавливают выгрузку с его словами, незамеченные ничего не меняют.",
  "How images are taken is not shown: ask the service.": "Как принимаются изображения, не показано: спросите сервис.",
  "Size limits are not shown: ask the service, or lower it where images are refused with 413.":
    "Ограничения размера не показаны: спросите сервис или уменьшите, если изображения отклоняются с 413.",
  "Which kinds of images are taken is not shown: ask the service.":
    "Какие виды изображений принимаются, не показано: спросите сервис.",
  "The form is not shown: ask the service.": "Вид формы не показан: спросите сервис.",
};

export const RUSSIAN: ReferenceWords = {
  head: HEAD,
  columns: ["Ключ", "Тип", "По умолчанию", "Значение"],
  required: "обязателен",
  none: "нет",
  sameKeys: "Ключи `stocks`, `prices`, `catalog` и `images` одни и те же.",
  sources: SOURCES,
  otherDefaults: "Другие значения по умолчанию у цен, каталога и изображений",
  imagesAlone: "Ключи только для изображений",
  images: IMAGES,
  assumed: `## Что предполагается о сервисе и как узнать точно

Описание интерфейса оставляет эти вопросы открытыми; каждое значение по умолчанию ниже — догадка. Ответ другого вида — ошибка, в которой названы путь и увиденные ключи; по нему ничего не делается. То же —
пустой список, рядом с которым в ответе есть записи, счётчик больше 0 или следующая страница, если только сервис не говорит так в любом ответе: обычное запоминается. Другие неверные догадки незаметны:
статус, который не встречается никогда, поле, которое просто пусто, резерв, вычтенный дважды. Посмотрите на них до первого настоящего использования.
`,
  say: (message) => render("ru", message),
  text: (english) => {
    const text = TEXTS[english];
    if (text === undefined) throw new Error(`scripts/docs/reference-ru.ts: no Russian text for "${english}"`);
    return text;
  },
};
