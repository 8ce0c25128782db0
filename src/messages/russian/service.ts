/** What happens between the program and the service: requests, answers, records, statuses. */
export const service = {
  // requests
  "Stopped while asking the service.": "Остановлено во время запроса к сервису.",
  "{method=} {path=} was stopped before it left": "{method} {path}: остановлено до отправки",
  "{method=} {path=} came compressed ({how}) although that was not asked for":
    "{method} {path}: ответ сжат ({how}), хотя об этом не просили",
  "{method=} {path=} is larger than answer_bytes_max ({max#} bytes)":
    "{method} {path}: ответ больше answer_bytes_max ({max} байт)",
  "{method=} {path=} is larger than an answer to a POST may be ({max#} bytes)":
    "{method} {path}: ответ больше, чем допустимо для ответа на POST ({max} байт)",
  "{method=} {path=} holds more values than an answer to a POST may ({max#})":
    "{method} {path}: значений больше, чем допустимо для ответа на POST ({max})",
  "The answer could not be read within {seconds#} s.": "Ответ не удалось прочитать за {seconds} с.",
  "Lower service.answer_bytes_max, or raise service.timeouts.total.":
    "Уменьшите service.answer_bytes_max или увеличьте service.timeouts.total.",
  "Another erp-bridge of this machine works for {id} at {url}.":
    "Другой erp-bridge на этой машине работает с {id} на {url}.",
  "Each would take the other's orders: stop one of them, or give each an account of its own.":
    "Они забирали бы заказы друг у друга: остановите один из них или дайте каждому свою учётную запись.",
  "This machine's clock agrees with the service's again.": "Часы этой машины снова сходятся с часами сервиса.",
  "This machine's clock is far from the service's; times in the log and the status are wrong.":
    "Часы этой машины сильно расходятся с часами сервиса; время в журнале и в состоянии показано неверно.",
  "{file} was written after systemd handed the Client Secret over.":
    "{file} записан уже после того, как systemd передал Client Secret.",
  "A reload reads the old copy; take the new one over with: systemctl restart erp-bridge (or erp-bridge@NAME)":
    "При перечитывании берётся старая копия; чтобы взять новую: systemctl restart erp-bridge (или erp-bridge@NAME)",
  "{method=} {path=} shows a certificate for {subject}, which is another name":
    "{method} {path}: показан сертификат для {subject}, а это другое имя",
  "{method=} {path=} shows a certificate for {subject} that is out of date (valid from {from} to {to})":
    "{method} {path}: показан сертификат для {subject}, срок действия не подходит (с {from} по {to})",
  "{method=} {path=} shows a certificate for {subject}, issued by {issuer}, which no authority known here vouches for":
    "{method} {path}: показан сертификат для {subject}, выданный {issuer}; здесь этому центру не доверяют",
  "Put service.base_url right; somebody else may answer at this address.":
    "Исправьте service.base_url; возможно, по этому адресу отвечает кто-то другой.",
  "Compare this machine's clock; where it is right, the service must renew its certificate.":
    "Сверьте часы этой машины; если они верны, обновить сертификат должен сервис.",
  "Where the network inspects TLS, put the certificate of its authority into service.ca_file.":
    "Если сеть проверяет TLS, укажите сертификат её центра в service.ca_file.",
  "service.ca_file: {file} holds no certificate in PEM form.":
    "service.ca_file: в {file} нет сертификата в формате PEM.",
  "service.ca_file: {file} {problem!}.": "service.ca_file: {file} {problem}.",
  "Ask the network's administrator for the authority's certificate; it begins with -----BEGIN CERTIFICATE-----":
    "Возьмите сертификат центра у администратора сети; он начинается с -----BEGIN CERTIFICATE-----",
  "{method=} {path=} was answered with {status#} to {place}: {words*}":
    "{method} {path}: ответ {status}, отсылает к {place}: {words}",
  "{method=} {path=} was answered with {status#} to {place}": "{method} {path}: ответ {status}, отсылает к {place}",
  "{method=} {path=} was answered with {status#}": "{method} {path}: ответ {status}",
  "{method=} {path=} was not finished within {seconds} s": "{method} {path}: не завершён за {seconds} с",
  "{method=} {path=} found no connection in time": "{method} {path}: соединение не установлено вовремя",
  "{method=} {path=} was not answered in time": "{method} {path}: нет ответа вовремя",
  "{method=} {path=} did not reach the service ({code})": "{method} {path}: не дошёл до сервиса ({code})",
  "{method=} {path=} was answered with something that is not HTTP as it should be ({code})":
    "{method} {path}: ответ не соответствует HTTP ({code})",
  "{method=} {path=} was cut off on the way ({code})": "{method} {path}: соединение оборвалось ({code})",
  // failures in one sentence
  "the service refuses the credentials ({what~})": "сервис не принимает учётные данные ({what})",
  "the import subscription is not paid ({what~})": "подписка на импорт не оплачена ({what})",
  "the service asks to wait ({what~})": "сервис просит подождать ({what})",
  "the service cannot be reached ({what~})": "нет связи с сервисом ({what})",
  "the service is out of order ({what~})": "сервис неисправен ({what})",
  // answers
  "{feed}: the service has counted fewer than {size#} records as taken ({said~}).":
    "{feed}: по счёту сервиса принято меньше записей, чем {size} ({said}).",
  "the answer has {path} more than once": "в ответе {path} встречается больше одного раза",
  "The answer is a web page instead of JSON (a captive portal, a proxy or a wrong base_url?): {text*}":
    "Вместо JSON пришла веб-страница (страница входа в сеть, прокси или неверный base_url?): {text}",
  "The answer is no complete JSON (at byte {at#} of {size#}: {what!}): {text*}":
    "Ответ — не полный JSON (байт {at} из {size}: {what}): {text}",
  "The answer is no complete JSON (at byte {at#} of {size#}, record {nth#}: {what!}): {text*}":
    "Ответ — не полный JSON (байт {at} из {size}, запись {nth}: {what}): {text}",
  "The answer is empty: {text*}": "Ответ пуст: {text}",
  "a list of strings": "список строк",
  "a list of numbers": "список чисел",
  "a list of objects": "список объектов",
  "a list of arrays": "список списков",
  "a list of booleans": "список логических значений",
  "a list of nulls": "список из null",
  "an empty list": "пустой список",
  "an empty object": "пустой объект",
  "a list of {count#}: {first!}": "список из {count}: {first}",
  "an object with {keys}, …": "объект с ключами {keys}, …",
  "an object with {keys}": "объект с ключами {keys}",
  // records of orders
  "{path} (status) is missing": "{path}: не указан статус",
  "{path} (lines) is missing": "{path}: нет строк заказа",
  "line {line#}: {reason~} ({field})": "строка {line}: {reason} ({field})",
  "{path=} is {what!}": "{path} — {what}",
  "the stored payload is not what was stored (its hash does not match)":
    "сохранённое содержимое не то, что сохраняли (не сходится контрольная сумма)",
  // rows of feeds and values in templates
  "is no number ({value~})": "не число ({value})",
  "two rows have this key ({keys})": "такой ключ у двух строк ({keys})",
  "{keys}: the key is NULL": "{keys}: ключ равен NULL",
  "{keys}: the key is binary data or no valid text": "{keys}: ключ — двоичные данные или неверный текст",
  // confirms
  // statuses
  // what was noticed
  "{count#} field[s] of orders that nothing reads ({names})":
    "{count:поле заказов, которое|поля заказов, которые|полей заказов, которые} никто не читает: {count} ({names})",
  "{count#} status name[s] ({names})":
    "{count:название статуса|названия статусов|названий статусов}: {count} ({names})",
  "{count#} path[s] that stopped matching ({names})":
    "{count:путь, который перестал|пути, которые перестали|путей, которые перестали} подходить: {count} ({names})",
  "{count#} return[s] to an earlier state ({names})":
    "{count:возврат|возврата|возвратов} к более раннему состоянию: {count} ({names})",
  "return to an earlier state": "возврат к более раннему состоянию",
  "several orders had lost their newest version": "несколько заказов лишились последней версии",
  "{count#} new form[s] of acceptance ({names})":
    "{count:новый вид согласия|новых вида согласия|новых видов согласия}: {count} ({names})",
  "new form of acceptance": "новый вид согласия",
  "new forms of acceptance": "новые виды согласия",
  "field of orders that nothing reads": "поле заказов, которое никто не читает",
  "fields of orders that nothing reads": "поля заказов, которые никто не читает",
  "status name": "название статуса",
  "status names": "названия статусов",
  "path that stopped matching": "путь, который перестал подходить",
  "paths that stopped matching": "пути, которые перестали подходить",
  "Noticed about the service: {what~}. When you have seen it: erp-bridge resume observations":
    "Замечено у сервиса: {what}. Когда это учтено: erp-bridge resume observations",
  "Noticed about the service: a new {kind}.": "Замечено у сервиса: новое ({kind}).",
  "the configuration names no meaning for it": "в настройках его смысл не указан",
  "fields there now: {names*}": "поля, которые там сейчас: {names}",
  "{method=} {path=} was answered with {status#}: {words*}": "{method} {path}: ответ {status}: {words}",
} as const;
