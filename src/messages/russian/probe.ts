/** What `probe` and `check --online` find out. */
export const probe = {
  "Fields of a stock record": "Поля записи остатков",
  "Fields of catalog, price and image records; exact paths and payloads of their imports":
    "Поля записей каталога, цен и изображений; точные пути и содержимое их импорта",
  "Whether a request replaces the whole table or only the records it names":
    "Заменяет ли запрос всю таблицу или только названные в нём записи",
  "Body of the answer to an import": "Тело ответа на импорт",
  "Fields of an order beyond order_id, the status and the composition, and their names":
    "Поля заказа помимо order_id, статуса и состава и их названия",
  "Response bodies of the 1C endpoints": "Тела ответов адресов 1C",
  "Payload of the confirm request, and what a confirm without names covers":
    "Содержимое подтверждения и что охватывает подтверждение без названий",
  "Query parameters of GET /orders": "Параметры запроса GET /orders",
  "Format of since, and the time zone and order of the service's timestamps":
    "Формат since, часовой пояс и порядок меток времени сервиса",
  "Method, suffix and payload of the status change": "Метод, окончание пути и содержимое смены статуса",
  "Status names and transitions": "Названия статусов и переходы между ними",
  "Rate limits, size limits, batch size": "Ограничения частоты и размера, размер пачки",
  "Shape of the error body of 401 on an import, and the body of 402":
    "Вид тела ошибки 401 при импорте и тело ответа 402",
  "Complete list of error codes and conditions": "Полный список кодов и условий ошибок",
  "Version policy (compatibility, deprecation)": "Порядок смены версий (совместимость, прекращение поддержки)",
  "Not done without --yes: {what~}": "Без --yes не сделано: {what}",
  "Nothing in the configuration needs to be changed by what was found.":
    "Судя по выясненному, в настройках ничего менять не нужно.",
  "Proposed for the configuration:\n\n{lines*}": "Предлагается для настроек:\n\n{lines}",
  "{count#} request[s] made, and no GET /orders among them.":
    "Сделано запросов: {count}; GET /orders среди них не было.",
  "imports: a body without its array": "imports: тело без массива",
  "{feed}: a body without its array is accepted with {status#} and {shape~}: a refusal cannot be told by its status":
    "{feed}: тело без массива принято с ответом {status} и {shape}: отказ по коду ответа не распознать",
  "{feed}: the answer is {status#}: {words*}": "{feed}: ответ {status}: {words}",
  "{feed}: a body without its array is {status#}: {words*}": "{feed}: на тело без массива ответ {status}: {words}",
  "Send {body} to {path}? A service that takes each request for the whole table would empty the stock on the site.":
    "Отправить {body} на {path}? Если сервис считает каждый запрос полной таблицей, остатки на сайте обнулятся.",
  "the empty array was not sent: nobody said yes to it": "пустой массив не отправлен: никто не согласился",
  "the empty array {body}": "пустой массив {body}",
  "look at the site: if its stock is gone now, write imports.stocks.scope: whole":
    "посмотрите на сайт: если остатки пропали, укажите imports.stocks.scope: whole",
  "no stock was sent yet: put one article into the table stock, then erp-bridge sync stocks":
    "остатки ещё не отправлялись: внесите один товар в таблицу stock, затем erp-bridge sync stocks",
  "one record was not sent: a bridge is running, and the record could arrive after a newer one; stop it first":
    "запись не отправлена: программа работает, и запись могла бы прийти позже более новой; сначала остановите её",
  "Send one record that the service has taken before ({record*}) again? A service that takes each request for the whole table would drop all others.":
    "Отправить ещё раз запись, которую сервис уже принимал ({record})? Если сервис считает каждый запрос полной таблицей, остальные пропадут.",
  "one record was not sent: nobody said yes to it": "запись не отправлена: никто не согласился",
  "one record": "одна запись",
  "a record made by imports.stocks.record is taken": "запись по imports.stocks.record принимается",
  "look at the site: if only this one article is left there, write imports.stocks.scope: whole":
    "посмотрите на сайт: если там остался только этот товар, укажите imports.stocks.scope: whole",
  "{what~} is refused with {status#}: {words*}": "{what}: отказ, ответ {status}: {words}",
  "an empty body": "пустое тело",
  "answered by a web page": "в ответ пришла веб-страница",
  "answered by JSON that breaks off": "в ответ пришёл оборванный JSON",
  "answered with words that speak against it ({words*})": "в ответе есть слова, которые говорят против этого ({words})",
  "refused in words ({words*})": "отклонено на словах ({words})",
  accepted: "принято",
  "{what!} is {verdict!} with {status#} and {shape~}": "{what}: {verdict}, ответ {status}, {shape}",
  "the answer has room for single records: write imports.stocks.result once you know how it names them":
    "в ответе есть место для отдельных записей: укажите imports.stocks.result, когда узнаете, как он их называет",
  "there is no database yet: pull first, with erp-bridge sync orders":
    "базы ещё нет: сначала получите заказы командой erp-bridge sync orders",
  "ask the service for the paths of {names}; none is tried that was not named":
    "узнайте у сервиса пути для {names}; неназванные пути не пробуются",
  "ask the service whether GET /orders takes parameters; probe never calls it, because a call may hand out a batch":
    "узнайте у сервиса, есть ли у GET /orders параметры; probe его не вызывает, потому что вызов может выдать пачку",
  "ask the service; a change of shape shows as an error, not as silence":
    "узнайте у сервиса; смена вида ответа проявится ошибкой, а не молчанием",
  "ask the service for the method, the path and the body; any try would change an order":
    "узнайте у сервиса метод, путь и тело; любая проба изменила бы заказ",
  "as configured": "как в настройках",
  "batches with an id": "пачек с идентификатором",
  "batches without an id": "пачек без идентификатора",
  "{what!}: {count#} confirmed ({form*})": "{what}: подтверждено {count} ({form})",
  "{what!}: {count#} refused: {words~}": "{what}: подтверждений отклонено {count}: {words}",
  "without words": "без пояснений",
  "no batch has been confirmed yet: the first pull of an order shows what a confirm answers":
    "пачки ещё не подтверждались: ответ на подтверждение покажет первый полученный заказ",
  "no order is stored yet": "сохранённых заказов ещё нет",
  "statuses seen so far: {list*}": "встретившиеся статусы: {list}",
  "some of them look like ends of an order; check the proposal":
    "некоторые похожи на завершение заказа; проверьте предложенное",
  "{count#} status request[s] accepted as {request}": "принято смен статуса: {count}, запросом {request}",
  "the last refusal: {words*}": "последний отказ: {words}",
  "the largest batch so far held {count#} order[s]": "в самой большой пачке было заказов: {count}",
  "the longest page of changes so far held {count#}": "на самой длинной странице изменений их было {count}",
  "{name}: requests of more than {count#} record[s] were too large":
    "{name}: запросы больше чем из {count} записей слишком велики",
  "{list*} answered with 429: lower service.requests_per_second":
    "{list}: ответ 429; уменьшите service.requests_per_second",
  "met so far: {codes*}": "встретились: {codes}",
  "orders: an unknown one, a known one, and what is stored": "заказы: неизвестный, известный и сохранённое",
  "an unknown order is answered with {status#}: {words*}": "на неизвестный заказ ответ {status}: {words}",
  "an unknown order is answered with {status#} and {shape~}: deleted orders cannot be told by it":
    "на неизвестный заказ ответ {status} и {shape}: удалённые заказы по нему не распознать",
  "a kept batch is {shape~}: no list of orders was recognised": "сохранённая пачка — {shape}: список заказов не найден",
  "a kept batch keeps its orders under {path=}": "заказы в сохранённой пачке лежат в {path}",
  "and its own id under {path}": "а её идентификатор — в {path}",
  "GET /orders is read as configured: no batch is kept unread":
    "GET /orders читается по настройкам: непрочитанных пачек нет",
  "GET /orders/{order_id}: no order is known yet that could be read":
    "GET /orders/{order_id}: ещё нет известного заказа, который можно прочитать",
  "GET /orders/{order_id} of a known order is refused with {status#}: {words*}":
    "на GET /orders/{order_id} известного заказа отказ {status}: {words}",
  "GET /orders/{order_id} answers {shape~}: the order was not recognised in it":
    "на GET /orders/{order_id} приходит {shape}: заказ в нём не найден",
  "GET /orders/{order_id} keeps the order under {path=}": "в GET /orders/{order_id} заказ лежит в {path}",
  "{fact!}, as configured": "{fact}, как в настройках",
  "a change holds every field of the whole order: whole saves a request each":
    "изменение содержит все поля заказа: значение whole сэкономит по запросу на каждое",
  "a change lacks {count#} field[s] of the whole order, so each changed order is read whole":
    "в изменении нет части полей заказа ({count}), поэтому каждый изменённый заказ читается целиком",
  "no order has been seen yet: pull first, with erp-bridge sync orders":
    "заказов ещё не было: сначала получите их командой erp-bridge sync orders",
  "an order is {shape~}": "заказ — {shape}",
  "a line is {shape~}": "строка заказа — {shape}",
  "nothing stands under {path} ({key}); {found} looks like it": "в {path} ({key}) ничего нет; похоже на {found}",
  "nothing looks like it": "ничего похожего нет",
  "it may be one of {names}": "возможно, одно из: {names}",
  "nothing stands under {path} ({key}); {choices!}": "в {path} ({key}) ничего нет; {choices}",
  "the service sends no Date header, so clocks cannot be compared":
    "сервис не присылает заголовок Date, сравнить часы нельзя",
  agree: "сходятся",
  "are {minutes#} min apart": "расходятся на {minutes} мин",
  "the clocks of this machine and of the service {words~}": "часы этой машины и сервиса {words}",
  "changes: asking with different forms of since": "изменения: запросы с разным видом since",
  "GET /orders/updates refuses a since that is no time with {status#}: {words*}":
    "если since — не время, GET /orders/updates отказывает с {status}: {words}",
  "{form}: refused": "{form}: отказ",
  "{form}: answered without changes, which tells little, but a since that is no time is refused":
    "{form}: в ответе нет изменений, это мало о чём говорит, но since, который не время, отклоняется",
  "{form}: answered without changes, which tells little": "{form}: в ответе нет изменений, это мало о чём говорит",
  "{form}: understood (the past brings changes, tomorrow brings none)":
    "{form}: понято (с прошлого изменения есть, с завтрашнего дня нет)",
  "{form}: not heeded, tomorrow brings changes too": "{form}: не учитывается, изменения есть и с завтрашнего дня",
  "no form could be proved: change an order on the site and run probe again":
    "ни один вид не подтверждён: измените заказ на сайте и запустите probe снова",
  "updates.since should be {form}": "в updates.since должно быть {form}",
  "GET /orders/updates: no list of changes was recognised in {shape~}":
    "GET /orders/updates: список изменений не найден, пришло: {shape}",
  "GET /orders/updates keeps its changes under {path=}": "в GET /orders/updates изменения лежат в {path}",
  "beside the changes stands {names}: if it names the next since, write it as updates.next":
    "рядом с изменениями стоит {names}: если это следующий since, укажите его в updates.next",
  "a change is {shape~}": "изменение — {shape}",
  "a change keeps {field=} under {path=}": "в изменении {field} лежит в {path}",
  "without a zone": "без часового пояса",
  "no timestamp was recognised in a change": "в изменении не найдена метка времени",
  "timestamps are {form*}, without a zone": "метки времени: {form}, без часового пояса",
  "timestamps are {form*}, zone {zone}": "метки времени: {form}, часовой пояс {zone}",
  "timestamps are {form*} with {digits#} digit[s] of a second, without a zone":
    "метки времени: {form}, знаков долей секунды: {digits}, без часового пояса",
  "timestamps are {form*} with {digits#} digit[s] of a second, zone {zone}":
    "метки времени: {form}, знаков долей секунды: {digits}, часовой пояс {zone}",
  "timestamps are {form*} with {digits#} digit[s] of a second": "метки времени: {form}, знаков долей секунды: {digits}",
  "timestamps are {form*}": "метки времени: {form}",
  "timestamps name no zone, and {zone} is assumed: change an order on the site, and compare its timestamp with the clock (service.timezone)":
    "часового пояса в метках нет, принят {zone}: измените заказ на сайте и сравните его метку с часами (service.timezone)",
  "changes come oldest first": "изменения идут от старых к новым",
  "changes do not come in the order of their timestamps": "изменения идут не по порядку меток времени",
  "whether {form} includes its own moment cannot be told: timestamps are finer":
    "входит ли в {form} сам момент, сказать нельзя: метки точнее",
  "a change with exactly the timestamp of since is in the answer (inclusive)":
    "изменение с меткой, равной since, в ответ входит",
  "a change with exactly the timestamp of since is left out (exclusive); the bridge allows for it":
    "изменение с меткой, равной since, в ответ не входит; программа это учитывает",
  "held ({reason}), so nothing was asked; first: erp-bridge resume {area}":
    "остановлено ({reason}), запросов не было; сначала: erp-bridge resume {area}",
} as const;
