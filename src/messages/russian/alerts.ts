/** What is told to whoever receives alerts. */
export const alerts = {
  "{area} held ({reason}): {what!}.": "{area}: остановлено ({reason}): {what}.",
  "{area} held ({reason}): {what!}. Let it through with: erp-bridge approve {name}":
    "{area}: остановлено ({reason}): {what}. Разрешить: erp-bridge approve {name}",
  "{area} is no longer held ({reason}).": "{area}: больше не остановлено ({reason}).",
  "the service answers in a new form, and whether it accepted is not known":
    "сервис отвечает в новом виде, и неизвестно, принят ли запрос",
  "the service refuses the credentials": "сервис не принимает учётные данные",
  "the subscription is not paid": "подписка не оплачена",
  "the service asks for a pause": "сервис просит подождать",
  "the service refuses the request": "сервис отклоняет запрос",
  "an answer with orders was lost, and confirms wait": "ответ с заказами потерян, подтверждения ждут",
  "more changes wait than one pass may read": "изменений больше, чем читается за один проход",
  "changes may be cut, because the service answers the newest first":
    "часть изменений может быть не показана: сервис отдаёт сначала новые",
  "the answers cannot be read, and no more of them can be kept":
    "ответы не удаётся прочитать, и места для них больше нет",
  "changes with one stamp may be out of reach": "часть изменений с одинаковой меткой времени может быть недоступна",
  "a sudden emptying waits for approval": "внезапное обнуление ждёт разрешения",
  "a table of the ERP is missing, changed or empty": "таблица ERP отсутствует, изменена или пуста",
  "the disk does not take what is written": "запись на диск не удаётся",
  "the account is another one": "учётная запись другая",
  "Triggers or indexes of the ERP's stand on the bridge's tables. Their names: erp-bridge status":
    "На таблицах моста стоят триггеры или индексы ERP. Как они называются: erp-bridge status",
  "orders that were confirmed earlier may be missing": "часть ранее подтверждённых заказов может отсутствовать",
  "This machine's clock is far from the service's. Set it right, for example with: timedatectl set-ntp true":
    "Часы этой машины сильно расходятся с часами сервиса. Выставьте их, например: timedatectl set-ntp true",
  "The Client Secret was replaced, and systemd hands it over at a start only: systemctl restart erp-bridge":
    "Client Secret заменён, а systemd передаёт его только при запуске: systemctl restart erp-bridge",
  "The Client Secret in use is the one in its file again.": "Снова используется Client Secret из файла.",
  "it waits for a person": "нужно вмешательство человека",
  "{flow} has not succeeded yet.": "{flow}: удачного обмена ещё не было.",
  "{flow} has not succeeded yet ({code}).": "{flow}: удачного обмена ещё не было ({code}).",
  "{flow} has not succeeded for {span!}.": "{flow}: нет удачного обмена уже {span}.",
  "{flow} has not succeeded for {span!} ({code}).": "{flow}: нет удачного обмена уже {span} ({code}).",
  "has not succeeded yet": "удачного обмена ещё не было",
  "has not succeeded for {span!}": "нет удачного обмена уже {span}",
  "{flow} works again.": "{flow}: снова работает.",
  "{subject}: nothing is left of it.": "{subject}: больше ничего нет.",
  "{count#} record[s] ({kind}) in quarantine. {look!}":
    "В карантине {count} {count:запись|записи|записей} ({kind}). {look}",
  "{count#} batch[es] kept unread: the configuration does not fit the answers. {look!}":
    "{count} {count:пачка заказов не прочитана|пачки заказов не прочитаны|пачек заказов не прочитано}: настройки не подходят к ответам сервиса. {look}",
  "{count#} batch[es] cannot be confirmed, because none of the records has an id. {look!}":
    "{count} {count:пачку|пачки|пачек} заказов нельзя подтвердить: ни в одной записи нет id. {look}",
  "{count#} confirm[s] refused by the service. {look!}":
    "{count} {count:подтверждение отклонено|подтверждения отклонены|подтверждений отклонено} сервисом. {look}",
  "{count#} status request[s] refused by the service. {look!}":
    "{count} {count:смена статуса отклонена|смены статуса отклонены|смен статуса отклонено} сервисом. {look}",
  "{count#} order[s] blocked by the ERP. {look!}":
    "{count} {count:заказ отложен|заказа отложены|заказов отложено} в ERP. {look}",
  "See: erp-bridge quarantine list": "См.: erp-bridge quarantine list",
  "See: erp-bridge status": "См.: erp-bridge status",
  "See: table batches": "См.: таблица batches",
  "See: table status_requests": "См.: таблица status_requests",
  "See: orders_blocked": "См.: orders_blocked",
  "The ERP has left orders untaken for {span!}.": "ERP не забирает заказы уже {span}.",
  "The ERP takes orders again.": "ERP снова забирает заказы.",
  "The ERP has not written its table of {feed} for {span!}.": "ERP не обновляла свою таблицу ({feed}) уже {span}.",
  "The ERP writes its table of {feed} again.": "ERP снова обновляет свою таблицу ({feed}).",
  "The write-ahead log has grown large: some program keeps the database open for reading.":
    "Журнал базы сильно вырос: какая-то программа держит базу открытой для чтения.",
  "The write-ahead log is small again.": "Журнал базы снова невелик.",
  "{count#} change[s] at once:": "Изменений сразу: {count}:",
  "The configuration was taken over.": "Настройки приняты.",
  "The database can be used again.": "Базой снова можно пользоваться.",
} as const;
