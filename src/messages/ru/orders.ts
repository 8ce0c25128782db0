import type * as en from "../en/orders.ts";
import { plural } from "../numbers.ts";

export const orders = {
  noRecordHas: ({ misses }) => `Ни в одной записи ответа нет ${misses}.`,
  fixFields: "Исправьте orders.fields или updates.fields; ничего не подтверждено, отметка не сдвинута.",
  confirmsWait:
    "Ответ на GET /orders не дошёл. Подтверждения более ранних пачек ждут, пока сервис выдаст их снова или не будет выдавать час.",
  serviceSetBack:
    "Сервис снова выдаёт подтверждённую пачку или другую под прежним именем, как после отката к прежнему состоянию. Подтверждения более ранних пачек ждут, пока сервис выдаст их снова или не будет выдавать час.",
  countsAsConfirmed:
    "Пачка считается подтверждённой: исход первого подтверждения неизвестен, но с тех пор сервис её не выдавал.",
  repeatCountsAsConfirmed:
    "Пачка с отклонённым подтверждением считается подтверждённой: все её заказы подтверждены раньше и с тех пор не менялись, и сервис час ни одного из них не выдавал.",
  goneCountsAsConfirmed:
    "Пачка с отклонённым подтверждением считается подтверждённой: на повторы с промежутком в час сервис ответил, что такой пачки нет, другое подтверждение он тем временем принял и ничего из этой пачки не выдал.",
  confirmRefused: ({ words }) => `Подтверждение отклонено: ${words}`,
  confirmAnsweredWith: ({ what }) => `В ответ на подтверждение пришло: ${what}.`,
  confirmCounted: ({ size, name, count }) =>
    `На подтверждение пачки из ${size} ${plural("ru", size, { one: "заказа", few: "заказов", many: "заказов" })} сервис ответил: ${name}: ${count}.`,
  confirmedMore: ({ size, name, count }) =>
    `На подтверждение пачки (записей: ${size}) сервис ответил: ${name}: ${count}. Возможно, подтверждён заказ, который сервис не выдавал: сверьте с сайтом.`,
  confirmTooLarge:
    "Сервис отклоняет подтверждение как слишком большое (413), хотя в нём названа одна пачка или один заказ.",
  confirmDivided: ({ size }) =>
    `Сервис отклоняет подтверждение как слишком большое (413). Оно отправляется частями, не больше ${size} ${plural("ru", size, { one: "заказа", few: "заказов", many: "заказов" })} в каждой.`,
  servedAgain:
    "Сервис принимает подтверждение пачки, но выдаёт её снова. Проверьте, того ли он ожидает, что указано в orders.confirm.body.",
  servedAgainHint:
    "За этой пачкой могут ждать новые заказы. Сверьтесь с сайтом и узнайте у сервиса, почему подтверждение не действует.",
  unnamedBatch: "Ни у одной записи пачки нет идентификатора, по которому её можно подтвердить.",
  noConfirm: ({ reason }) => `Для этой пачки нельзя составить подтверждение: ${reason}.`,
  lostStatus: "в записи нет статуса, а почти у всех прежних заказов он был",
  oddStatus: ({ status }) =>
    `в записи статус ${status}: число, а почти у всех прежних заказов было слово, или слово вместо числа`,
  lostLines: "в записи нет строк с артикулом, а почти у всех прежних заказов они были",
  lostValue: ({ field }) => `в записи нет поля ${field}, а почти у всех прежних заказов оно было`,
  lostLineValue: ({ field }) => `в строке нет поля ${field}, а в строках почти всех прежних заказов оно было`,
  lostCounted: "по записи у неё больше строк, чем в ней есть",
  mappingChanged:
    "orders.fields, orders.line или orders.statuses изменены после сохранения заказов. Новые заказы читаются по ним; столбцы и строки сохранённых исправит: erp-bridge remap",
  idMissing: ({ path }) => `${path}: идентификатора заказа нет`,
  idNull: ({ path }) => `${path}: идентификатор заказа — null`,
  idRepeated: ({ place }) => `${place}: идентификатор заказа встречается больше одного раза, с разными значениями`,
  idNotUuid: ({ path }) => `${path}: идентификатор заказа — не UUID`,
  idOfOtherOrder: ({ path, number, createdAt }) =>
    `${path}: это идентификатор другого сохранённого заказа; у этого номер ${number}, время создания ${createdAt} и другие строки`,
  replacedByOther: ({ number, createdAt }) =>
    `сам заказ дважды прочитан как другой, с номером ${number} и временем создания ${createdAt}, и теперь сохранён он; это то, что было сохранено под его идентификатором раньше`,
  idOfNothing: ({ path }) => `${path}: вместо идентификатора заказа пустой UUID (все нули или все f)`,
  idNotText: ({ path }) => `${path}: идентификатор заказа — не текст`,
  fieldMissing: ({ path, field }) => `нет ${path} (${field})`,
  fieldIs: ({ path, what, field }) => `вместо значения ${path} (${field}) стоит ${what}`,
  fieldRepeated: ({ place, field }) => `${place} (${field}) встречается больше одного раза, с разными значениями`,
  noRecords: "записей нет",
  itIsThere: "он там есть",
  standsAt: ({ at, found }) => `в ${at} стоит ${found}`,
  standsAtWithKeys: ({ at, found, keys }) => `в ${at} стоит ${found}: ${keys}`,
  pathMissing: ({ path, field, found }) => `${path} (${field}): ${found}`,
  linesNotList: ({ path }) => `${path}: строки заказа — не список`,
  lineIs: ({ line, path, what }) => `элемент ${line} в ${path} — ${what}, а не строка заказа (lines)`,
  lineFieldIs: ({ line, path, what, field }) =>
    `строка заказа ${line}: вместо значения ${path} (${field}) стоит ${what}`,
  lineFieldRepeated: ({ line, place, field }) =>
    `строка заказа ${line}: ${place} (${field}) встречается больше одного раза, с разными значениями`,
  answerLost: ({ at }) =>
    `Ответ на GET /orders в ${at} потерян, и сервис его больше не выдавал. Подтверждения приостановлены: иначе были бы подтверждены непрочитанные заказы. Сверьте заказы на сайте с базой, затем: erp-bridge resume orders --hold "hand-out lost"`,
  answersLost: ({ at, last }) =>
    `Ответы на GET /orders с ${at} по ${last} потеряны, и сервис их больше не выдавал. Подтверждения приостановлены: иначе были бы подтверждены непрочитанные заказы. Сверьте заказы на сайте с базой, затем: erp-bridge resume orders --hold "hand-out lost"`,
  confirmMayArrive:
    "Чем закончилось последнее подтверждение, неизвестно, а относится оно ко всему выданному. Пока не истечёт его время, заказы не запрашиваются.",
  tooManyKeys: ({ max }) => `Ответ — объект, в котором больше ${max} ключей.`,
  reportsError: ({ words }) => `В ответе сообщение об ошибке: ${words}`,
  notList: ({ path, what }) => `${path} в ответе — не список, а ${what}.`,
  noList: ({ path, miss }) => `В ответе нет ${path}: ${miss}.`,
  noListBut: ({ path, miss, words }) => `В ответе нет ${path}: ${miss} (в нём сказано: ${words}).`,
  comparePath: "Тело ответа сохранено. Подходящий путь найдёт проба, и тело будет прочитано: erp-bridge probe --write",
  moreThanOnce: ({ place }) => `В ответе ${place} встречается больше одного раза.`,
  webPage: "Вместо JSON пришла веб-страница (страница входа в сеть, прокси или неверный base_url?)",
  noBody: "Ответ пуст",
  incomplete: ({ at, size, found }) => `Ответ — не полный JSON (байт ${at} из ${size}: ${found})`,
  incompleteRecord: ({ at, size, record, found }) =>
    `Ответ — не полный JSON (байт ${at} из ${size}, запись ${record}: ${found})`,
  textEnds: "текст обрывается",
  lineBreak: "неэкранированный перевод строки",
  controlCharacter: "неэкранированный управляющий символ",
  unexpectedCharacter: "неожиданный знак",
  tooManyRecords: ({ max }) => `В ответе больше записей, чем позволяет service.answer_records_max (${max}).`,
  tooManyValues: ({ max }) => `В ответе больше значений, чем позволяет service.answer_values_max (${max}).`,
  textTooLong: ({ max }) => `В ответе вне записей есть текст или число длиннее ${max} байт.`,
  tooMuchSpace: ({ max }) => `В ответе больше ${max} байт пробелов подряд.`,
  raiseKey: "Если магазину нужно больше и на машине хватает памяти, увеличьте этот ключ; ничего не подтверждено.",
  sendLess: "Ничего не подтверждено. Никакие настройки больше не допускают: сервис должен присылать меньше.",
  recordTooLarge: ({ max }) => `запись больше ${max} байт`,
  recordNotObject: ({ what }) => `запись — не объект, а ${what}`,
  recordNotUtf8: "запись не в UTF-8",
  recordTooDeep: ({ max }) => `вложенность записи больше ${max} уровней`,
  recordTooManyValues: ({ max }) => `в записи больше ${max} значений`,
  recordNotJson: ({ flaw, at }) => `запись — не JSON: ${flaw}, байт ${at}`,
  payloadDamaged: "сохранённое содержимое повреждено; erp-bridge sync reconcile прочитает заказ заново",
  idOfAnother: ({ path }) => `${path}: идентификатор другого заказа`,
  keptNamesNone: "Сохранённый ответ, который не удалось прочитать, не называет ни одного заказа.",
  keptUnknown: "Сервис не знает ни одного идентификатора из сохранённого ответа, который не удалось прочитать.",
  keptStored: "Заказы из сохранённого ответа, который не удалось прочитать, с тех пор сохранены.",
  emptyNow: "При этих настройках пачка пуста.",
  keptUnread: ({ count }) =>
    `Сохранено: ${count} ${plural("ru", count, { one: "непрочитанная пачка", few: "непрочитанные пачки", many: "непрочитанных пачек" })}. Раз в пять минут один запрос проверяет, читаются ли ответы снова.`,
  keptUnreadFull: ({ count, at }) =>
    `Сохранено: ${count} ${plural("ru", count, { one: "непрочитанная пачка", few: "непрочитанные пачки", many: "непрочитанных пачек" })}, для следующих места нет. Пришедшее в ${at} не сохранено и не подтверждено.`,
  itIsNull: "там null",
  noBatchId: ({ path, what }) => `В ответе нет ${path} (идентификатор пачки): ${what}.`,
  fixBatchId: "Исправьте orders.batch.id; тело сохранено и будет прочитано после исправления.",
  emptyContradicted: ({ path, what }) =>
    `Список ${path} в ответе пуст, но сам ответ говорит, что данные есть: ${what}.`,
  emptyUnusual: ({ path, what }) =>
    `Список ${path} в ответе пуст, и в ответе сказано то, чего в пустых ответах раньше не бывало: ${what}.`,
  emptyAdopted: ({ path, what }) =>
    `Ответы с пустым списком ${path} теперь каждый раз такие и считаются обычными: ${what}.`,
  emptyBatch:
    "Сервис выдаёт пачку без заказов, а за ней ничего. Она будет подтверждена по имени, если сервис будет выдавать её в таком виде целый час.",
  emptyBatchHint: "Если заказов не хватает, узнайте у сервиса, что стало с заказами этой пачки.",
  moreAfterEnd: ({ what, path }) =>
    `Ответ говорит, что записи ещё есть (${what}), но запрос от самой новой из ${path} ничего не приносит.`,
  batchNotWhole: ({ size, what, hours }) =>
    `Ответ говорит, что в пачке больше записей, чем пришло (${size}): ${what}; пачка не подтверждена.${
      hours === undefined
        ? ""
        : ` Она будет подтверждена, если сервис будет выдавать её в таком виде ${waitWords(hours)}.`
    }`,
  nextPageUnread: ({ size, reason }) =>
    `Ответ называет следующую страницу пачки (записей: ${size}), а прочитать её нельзя; пачка не подтверждена. ${reason}`,
  pageRepeated: "Она повторяет одну из прежних страниц.",
  pagesEndless: "За ней идут всё новые страницы.",
  pagesDiffer: "При каждом чтении на её страницах были другие заказы.",
  pageOld: "Ответил кэш.",
  pageElsewhere: "Её ссылка на следующую страницу ведёт на другой адрес, к которому мост не обращается.",
  pagePart: "Страница пачки.",
  partConfirmed: ({ size, what, hours }) =>
    `Сервис ${waitWords(hours)} выдавал пачку (записей: ${size}), хотя в ответе сказано, что их, возможно, больше: ${what}. Пачка подтверждена как есть.`,
  emptyConfirmed:
    "Сервис целый час выдавал пачку с пустыми записями или страницами либо со страницами прежней пачки. Она подтверждена как есть; пустые записи — в карантине.",
  emptyRecords: ({ empty, size }) =>
    `Пустые записи (null, {} или []) или страницы в пачке либо страницы прежней пачки: ${empty} из ${size}. Она будет подтверждена, если сервис будет выдавать её в таком виде целый час.`,
  emptyMeansNothing: ({ area }) => `Если за ними нет заказов: erp-bridge resume ${area} --hold answer`,
  besideSaysNothing: "Если то, что ответ говорит рядом со списком, ничего не значит, укажите это:",
  compareAnswer: ({ area }) =>
    `Сверьте ответ с настройками. Если так сказано в любом ответе, что бы в нём ни было: erp-bridge resume ${area} --hold answer`,
} satisfies typeof en.orders;

export const remap = {
  changed: ({ orders, changed, unreadable }) =>
    `Просмотрено заказов: ${orders}; изменено: ${changed}; не читаются по этому сопоставлению и остаются как есть: ${unreadable}.`,
  wouldChange: ({ orders, changed, unreadable }) =>
    `Просмотрено заказов: ${orders}; изменилось бы: ${changed}; не читаются по этому сопоставлению и остались бы как есть: ${unreadable}.`,
  released: ({ released, held }) => `Выпущено из карантина записей: ${released}; осталось: ${held}.`,
  wouldRelease: ({ released, held }) => `Вышло бы из карантина записей: ${released}; осталось бы: ${held}.`,
  change: ({ column, was, is }) => `${column}: ${was} → ${is}`,
  problem: ({ text }) => `! ${text}`,
} satisfies typeof en.remap;

const ORDERS = { one: "заказа", few: "заказов", many: "заказов" };

export const story = {
  inBatch: ({ orders }) => `в пачке из ${orders} ${plural("ru", orders, ORDERS)}`,
  inNamedBatch: ({ id, orders }) => `в пачке ${id} из ${orders} ${plural("ru", orders, ORDERS)}`,
  quarantined: ({ id, kind, state, reason }) => `запись ${id} (${kind}), состояние ${state}: ${reason}`,
  readQueued: ({ at }) => `об изменении сообщено ${at}, заказ предстоит прочитать`,
  noStatus: "без статуса",
  removed: "у сервиса его больше нет",
  open: "открыт",
  closed: "закрыт",
  revision: ({ revision }) => `ревизия ${revision}`,
  fromBatch: "из пачки",
  fromUpdates: "из изменений",
  fromService: "прочитано у сервиса",
  own: "отправлено этой программой",
  byRemap: "командой remap",
  stored: ({ revision, from }) => `как ревизия ${revision} (${from})`,
  storedWith: ({ revision, from, status }) => `как ревизия ${revision} (${from}), статус ${status}`,
  changed: ({ revision, from }) => `ревизия ${revision} (${from})`,
  status: ({ was, is }) => `статус ${was} → ${is}`,
  change: ({ place, was, is }) => `${place} ${was} → ${is}`,
  nothing: "пусто",
  binary: "двоичные данные",
  confirmed: "пачка подтверждена",
  confirmRefused: "сервис отклонил подтверждение",
  confirmDue: "подтверждение пачки ещё не принято",
  wanted: ({ id, status }) => `запрос ${id}: ERP просит статус ${status}`,
  waiting: ({ id, status, state }) => `запрос ${id}: ERP просит статус ${status}, ${state}`,
  settled: ({ id, status, state }) => `запрос ${id}: статус ${status}: ${state}`,
  answered: ({ id, status, state, code }) => `запрос ${id}: статус ${status}: ${state} (${code})`,
  blocked: ({ since }) => `отложен в ERP с ${since}`,
  notTaken: "в ERP ещё не забран",
  takenUpTo: ({ seen }) => `забран в ERP по ревизию ${seen}`,
  takenUpToAs: ({ number, seen }) => `забран в ERP как ${number} по ревизию ${seen}`,
  waits: ({ before, revision, since }) => `${before}; ревизия ${revision} ждёт с ${since}`,
  taken: ({ seen, last }) => `забран в ERP, ревизия ${seen} из ${last}`,
  takenAs: ({ number, seen, last }) => `забран в ERP как ${number}, ревизия ${seen} из ${last}`,
} satisfies typeof en.story;

/** How long a batch is served before it counts as whole. */
function waitWords(hours: number): string {
  if (hours < 1) return `${Math.round(hours * 60)} минут`;
  return hours === 1 ? "целый час" : "целые сутки";
}
