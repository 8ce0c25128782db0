/*
 * The words with which services say what became of a request: by meaning and language, then by the place in which they are
 * looked for, as the name of a member, as a whole value, or inside a text. No list covers every service, so what is usual
 * for an endpoint is learned as well (`usual-forms.ts`, `usual-reports.ts`).
 */

/** Words that several places share, as alternatives of a regular expression: in English, then in Russian. */
const WORDS = {
  yes: `ok|okay|success|successful|succeeded|true|yes|1|2\\d\\d|успех|успешно|да`,
  success: "success|successful|ok|успех|успешно",
  no: "err|fail|failed|failure|rejected|refused|declined|denied|invalid|nok|ko|not[ _-]?(?:found|accepted|saved|applied)|ошибка|отказ|отклонено|не принято",
  accepted: "accepted|imported|processed|saved",
  changed: "updated|created|inserted|upserted|added|changed",
  stored: "received|stored|queued|applied|written|succeeded",
  skipped: "skipped|ignored|omitted|dropped|lost",
  skippedRu: "пропущен[оы]?",
  missing: "missing|absent|unknown|unmatched|unrecogni[sz]ed",
  /** After "not". */
  done: "found|matched|known|recogni[sz]ed|accepted|saved|stored|updated|imported|processed|applied|loaded|exported",
  state: "status|state|result|outcome|статус|результат",
  verdict:
    "status|state|code|result|outcome|errno|error|errorcode|statuscode|resultcode|success|successful|succeeded|ok|accepted|saved|stored|applied|done|res|ret|rc",
  message: "message|msg|detail|сообщение",
  envelope: "response|result|meta|status|reply|answer|return",
};

/** Refused and missing records in a text; of Russian words the endings vary. */
const REFUSED = `not ?(?:${WORDS.done})|could ?n[o']t|can ?not|can't|unable to|${WORDS.missing}|nonexistent|fail(?:ed|ures?|s)?|reject(?:ed|ions?)|refused|declined|denied|invalid|err(?:ors?)?|не ?(?:найден|обновл|принят|обработан|загру[жз]|выгру[жз]|сохран|записан|распозна|опозна|сопостав|импортир|экспортир|передан)\\p{L}*|отсутству\\p{L}*|неизвестн\\p{L}*|не удалось|отклон\\p{L}*|отказ\\p{L}*|отвергнут\\p{L}*|ошиб\\p{L}*|сбо[йяюеи]\\p{L}*|неверн\\p{L}*|некорректн\\p{L}*`;

/** These words and no others, between an optional beginning and an optional end. */
function whole(words: string, { before = "", after = "" } = {}): RegExp {
  return new RegExp(`^(?:${before})?(?:${words})(?:${after})?$`);
}

const OF = "(?:num|number|total|count)?(?:of)?";
const RECORDS = "count|total|records|items|rows";
const THINGS = "records?|items?|rows?|lines?";
const ARTICLES = "skus?|keys?|ids?|articles?|products?|offers?|goods|positions?|variants?";
const LEFT_OUT = `${WORDS.skipped}|excluded|discarded|failed|failures?|refused|declined|rejected|invalid|${WORDS.missing}|unprocessed|not(?:${WORDS.done})|errors?|${WORDS.skippedRu}|пропущенные|проигнорирован[оы]|отклонен[оы]|отброшен[оы]|неизвестн(?:о|ы|ые)|отсутству(?:ет|ют|ющие)|не(?:найден|принят|обновлен|обработан|загружен|выгружен|сохранен|распознан|сопоставлен)(?:о|ы|ные)`;

/** The name of a count of such records: `accepted`, `num_of_accepted`, `acceptedRows`. */
const count = (words: string) => whole(words, { before: OF, after: RECORDS });
/** `accepted`, `is_accepted` */
const flag = (words: string) => whole(words, { before: "is|was|has" });

/** Names of members, as `plainName` gives them. */
export const NAMES = {
  /** Counts of accepted records. All 0 beside a count of skipped ones means that none was accepted. */
  taken: count(`${WORDS.accepted}|${WORDS.changed}|${WORDS.stored}`),
  /** Of these a 0 alone means that none was accepted; a count of changes is also 0 where nothing differs. */
  takenAtAll: count(WORDS.accepted),
  takenOrSame: count(`${WORDS.accepted}|${WORDS.changed}|${WORDS.stored}|unchanged|ok`),
  same: count("unchanged|same|equal|uptodate|identical|existing|duplicates?|matched|found|already[a-z]*"),
  /** Of these, counts of records that the service has found unchanged. */
  unchanged: count("unchanged|same|equal|uptodate|identical|already[a-z]*"),
  changed: count(`${WORDS.changed}|modified|affected|edited|replaced|new`),
  received: count("received"),
  /** All records, accepted or not. */
  all: count("received|processed|total|count|size|all|sent|submitted|requested|records|items|rows|всего|получено"),
  /** Accepted records beside a count of all. They may also be flags. */
  good: whole("ok|success|successful|successfully|good|valid|done|completed?|passed|успешно", { after: RECORDS }),
  /** Counts, lists and texts of what was not accepted. */
  leftOut: whole(LEFT_OUT, {
    before: `${OF}(?:${THINGS}|${ARTICLES})?`,
    after: `count|total|${THINGS}|${ARTICLES}|list`,
  }),
  /** The same of a batch of orders. */
  leftOutOrders: whole(
    `${WORDS.skipped}|excluded|discarded|deferred|postponed|failed|rejected|unavailable|leftout|not(?:loaded|exported|included|sent)|errors?|${WORDS.skippedRu}|пропущенные|не(?:загружен|выгружен)(?:о|ы|ные)|отложен[оы]`,
    { before: `${OF}(?:orders?|${THINGS})?`, after: `count|total|orders?|${THINGS}|ids?|list` },
  ),
  /** Counts that may also count unchanged records where nothing else is counted. */
  leftOutOrSame: whole(`${WORDS.skipped}|${WORDS.skippedRu}`, {
    ...{ before: `${OF}(?:${THINGS})?`, after: `count|total|${THINGS}` },
  }),
  /** A list or count of records that were not accepted, or a flag that there are any. */
  failed:
    /^(?:is|has|num|number|numberof|total|count|countof)?(?:failed|failures?|rejected|refused|invalid|declined|denied|notaccepted|notsaved|notapplied)(?:count|total|records|items|rows|keys|ids|skus)?$/,
  /** Lists and texts that may be about anything, and counts of these. */
  warning: whole("warnings?|problems?|issues?|notices?|messages|предупреждени[ея]|замечани[ея]|проблемы", {
    before: OF,
    after: "count|total|list|text",
  }),
  /** Counts of confirmed orders. */
  confirmed:
    /^(?:orders?|records?|items?)?(?:confirmed|acknowledged|accepted|processed|exported|подтверждено)(?:count|total|orders|records|items)?$/,
  /** Flags that are false where nothing was accepted. "Not processed yet" is no refusal. */
  takenFlag: flag("queued|received|stored|saved|imported|updated|applied|acknowledged|delivered|committed"),
  downFlag:
    /^(?:is|in|under)?(?:maintenance|offline|unavailable|outage|degraded|readonly|locked|blocked|busy|down)(?:mode)?$/,
  /** Fields in which 0 means false. */
  success: flag(`${WORDS.success}|successfully`),
  /** Fields in which a number is a count: 0 may mean that nothing differs. */
  accepted: flag("accepted|succeeded|saved|acknowledged|ack"),
  /** Fields in which a word for success is a yes. */
  yes: flag(`${WORDS.success}|${WORDS.state}|accepted`),
  /** Fields in which 0 or one letter may mean a failure. */
  state: whole(`${WORDS.state}|response|состояние`),
  stateOrCode: whole(
    `${WORDS.state}|response|состояние|type|code|ret|код|(?:status|state|result|response|return|ret|http|httpstatus)(?:code|status|text)`,
  ),
  /** Fields in which a code that is none of success may mean a failure. */
  code: /^(?:err(?:or)?no|(?:err(?:or)?|status|state|result|response|return|ret|sub)?code|ret|код)$/,
  error:
    /^(?:has|is|any)?(?:errors?|exceptions?|faults?|err|errno|errcode|errmsg|errtext|ошибк[аи]|естьошибки|текстошибки|кодошибки|исключение)$|^(?:error|exception|fault(?:code|string|message|detail|actor)).*(?<!url|link|href|rate|level|policy|mode|at|tolerance)$/,
  /** Fields that report the outcome of a whole request, and beside a record's key. */
  verdict: whole(
    `${WORDS.verdict}|response|acknowledged|ack|received|queued|valid|available|ready|online|maintenance`,
    { before: "is|was|has|http" },
  ),
  recordVerdict: whole(
    `${WORDS.verdict}|errors|errortext|errormessage|updated|created|processed|found|skipped|ignored|rejected|message|msg|reason|details?|warnings?|note`,
    { before: "is|was|has|http" },
  ),
  /** Flags of an article, which say nothing of the request. */
  articleFlag: /stock|avail|activ|visib|enabl|publish|sale|show|hidden|archiv|delet|preorder/,
  /** The service's own id of a record: null where it knows none. */
  recordId: /^(?:product|offer|item|article|goods?|record|internal|variant|товар)?(?:u?u?id|guid)$/,
  message: whole(WORDS.message),
  text: whole(
    `${WORDS.message}|messages|details|reason|description|info|notes?|title|text|hint|warning|сообщения|причина|описание`,
  ),
  /** Objects that wrap the answer's content. Those of `data` may also repeat a record. */
  envelope: whole(WORDS.envelope),
  data: /^(?:data|body|payload)$/,
  /** Envelopes of a state or a code. */
  envelopeOfCode: whole(`${WORDS.envelope}|header|head|ответ|результат`),
  /** Envelopes of counts and states; objects with other names are data of the shop. */
  envelopeOfCounts:
    /^(?:data|response|results?|meta|body|payload|summary|stats|report|counts?|import|status|answer|ответ|результат|данные)$/,
  /** Lists of results, one per record. */
  results: /^(?:data|response|results?|items|records|reply|answer)$/,
} as const;

/** Names in words, with blanks: `not found count`. */
export const LABELS = {
  /** Counts of refused records, and nothing else. */
  refused: new RegExp(
    `^(?:(?:num|number|count|total)(?: of)? )?(?:${REFUSED})(?: (?:${RECORDS}|articles|products|skus|keys))?$`,
    "iu",
  ),
  partial: /^(?:is )?(?:partial|incomplete|truncated)$/,
};

/** Whole values, in lower case. */
export const VALUES = {
  yes: whole(`${WORDS.yes}|done|accepted|created|saved|queued|processed|completed?|принято|готово`),
  /** Of one record of an import: accepted, in whichever way. */
  taken: whole(
    `${WORDS.accepted}|${WORDS.changed}|${WORDS.stored}|modified|imported|loaded|обновл[её]н[оа]?|создан[оа]?|добавлен[оа]?|загружен[оа]?|сохран[её]н[оа]?|принят[оа]?`,
  ),
  /** Words for a successful request, which are no order statuses. */
  onlyYes: whole(WORDS.yes),
  /** The end of a value that means a failure. */
  failure: new RegExp(
    `(?:errors?|exceptions?)$|(?:^|[^a-z])(?:${WORDS.no}|failures|false|unauthori[sz]ed|unauthenticated|forbidden|faults?|fatal|ng|unavailable|not[ _-]?(?:ok|allowed|authori[sz]ed)|ошибки|сбой|отказано|неудача|неуспешно)$`,
  ),
  /** Refuses one record, wherever it stands. */
  refusal: whole(`${WORDS.no}|error|ignored|skipped|not[ _-]?updated|unknown|не найдено?`),
  /** Values of `success` or `ok` that mean a failure. */
  notDone: /^(?:no|n|f|нет|0+(?:\.0+)?)$/,
  /** Values of `error` that mean no error, such as `no_error`. */
  noError:
    /^(?:ok|okay|success|successful|successfully|succeeded|done|accepted|none|null|nil|false|n\/a|-*|0+(?:\.0+)?|(?:no|without|zero|0)[ _-]?(?:errors?|exceptions?|faults?|failures?))[.!]*$/,
  errorCode: /^(?:-[1-9]\d*|(?:e|err|error)[-_ ]?\d+)$/,
  httpError: /^[45]\d\d$/,
  httpSuccess: /^2\d\d$/,
  successCode: /^(?:0+|2\d\d)$/,
  /** Partial acceptance, in any case. */
  partial:
    /^\W*(?:partial(?:ly)?(?:[ _-](?:success|succeeded|accepted|processed|updated|imported|saved|completed?|ok|content))?|частичн\p{L}*(?: \p{L}+)?)\W*$/iu,
};

/** Inside texts. */
export const TEXTS = {
  failure:
    /(?<![\p{L}\d_])(?:errors?|err|[a-z]*exception|fail|failed|failures?|failing|faults?|fatal|panic|traceback|refused|denied|rejected|forbidden|unauthori[sz]ed|unavailable|unreachable|time(?:d)?[ -]?out|timeout|down|offline|maintenance|overload(?:ed)?|aborted|broken|crash(?:ed)?|cannot|can't|could not|unable|not (?:found|available|allowed|accepted|saved|processed|possible|ready|responding)|bad (?:request|gateway)|no (?:connection|route|space|such)|too many|try (?:again|later)|please wait|starting|ошибк\p{L}*|сбо[йяюе]\p{L}*|отказ\p{L}*|отклон\p{L}*|неудач\p{L}*|недоступ\p{L}*|невозможно|запрещ\p{L}*|нет (?:связи|соединения|доступа|подключения|места)|не (?:удалось|найден\p{L}*|принят\p{L}*|отвечает|доступ\p{L}*|сохран\p{L}*|выполн\p{L}*|загруж\p{L}*|обработ\p{L}*)|обслуживани\p{L}*|технически\p{L}*|повторите|попробуйте|время ожидания|тайм-?аут\p{L}*)(?![\p{L}\d_])/giu,
  /** Records or a request that were accepted, in a sentence. */
  accepted:
    /(?<!\p{L})(?:(?:updat|process|accept|import|sav|stor|creat|insert|load|receiv|complet|chang)ed|applied|written|done|ok|success\p{L}*|(?:обновл|сохран|измен)[её]н\p{L}*|(?:обработа|импортирова|созда|загруже|получе|записа|выполне)н\p{L}*|принят\p{L}*|успешн\p{L}*|готово)(?!\p{L})/iu,
  negation:
    /(?<!\p{L})(?:no|not|none|nothing|never|without|нет|не|ни|ничего|никакой|без|пока)(?!\p{L})|n['’]t(?!\p{L})/iu,
  /** Before and after a word of failure: negates it. */
  noneBefore: /(?:^|[^\p{L}\d])(?:no|not|without|zero|0|нет|без|не было)[ _-]*$/iu,
  noneAfter:
    /^(?:[ _-]*\p{L}+){0,2}["']?\s*[:=-]\s*(?:""|''|["']?(?:0+(?![\d.])|none|no|null|nil|false|нет|\[\s*\]|\{\s*\}))/iu,
  /** The same at the beginning of a sentence: `no orders were`. */
  noneFirst: /^[^\p{L}\d]*(?:no|none|nothing|zero|ни)(?:[ _-]+\p{L}+){0,4}[ _-]*$/iu,
  /** The same with a verb: `ошибок не обнаружено`. */
  notFound:
    /(?<!\p{L})(?:(?:errors?|failures?) (?:(?:was|were) )?not (?:found|detected)|(?:ошибок|сбоев|отказов|пропусков|(?:пропущ|отклон|отлож|исключ)[её]нных)(?: \p{L}+)? (?:нет|не (?:было|найдено|обнаружено|выявлено|возникло)))(?!\p{L})/giu,
  /** An HTTP status: alone, with its reason, or labelled as one. A mere number may be a count. */
  httpError:
    /^[^\p{L}\d]*[45]\d\d[^\p{L}\d]*$|(?<!\p{L})(?:http|status|code|код|статус)[ \t:=/\d.]*[ :=/][45]\d\d(?!\d)|^[^\p{L}\d]*[45]\d\d[ :-]+(?:conflict|gone|payment)/iu,
  /** The beginning of an error of 1C (`failure`), PHP (`Fatal error: …`) and others, and the rest. */
  error:
    /^[^\p{L}\d]*(?:(?:php|fatal|parse|uncaught|internal|unexpected|unhandled|unknown|database|server|system|runtime|critical|syntax|application|validation)[ \t]+)*(?:[\w.\\$]*(?:errors?|exception)|fail|failed|failures?|faults?|warnings?|fatal|panic|traceback|false)(?![\p{L}\d_])(.*)/iu,
  refusal:
    /^[^\p{L}\d]*(?:unauthori[sz]ed|unauthenticated|forbidden|(?:access|permission) denied|not (?:allowed|authori[sz]ed|accepted|saved)|bad (?:request|gateway)|(?:service|temporarily) unavailable|gateway time-?out|too many (?:requests|connections)|rejected|refused|denied|could not|cannot|can't|unable to|invalid)(?![\p{L}\d])(.*)/iu,
  no: /^\W*(?:no|nok|ko|not ok|false)\W*$/i,
  /** Follows the word for an error where there was none: `Errors: 0`. */
  noErrorsLeft:
    /^(?:[ \t]+\p{L}+){0,2}["']?[\s:=-]*["']?(?:none|no|null|nil|нет|false|0+|\[\s*\]|\{\s*\})[\s"'\]}]*(?:[,;.\r\n]|$)/iu,
  /** A delay: beside a yes it means that it is not accepted yet. */
  putOff:
    /(?<![\p{L}\d_])(?:until|later|soon|works|postponed|deferred|delayed|paused|suspended|migrat\p{L}*|upgrad\p{L}*|регламент\p{L}*|работы|работ|позже|позднее|приостановлен\p{L}*|отложен\p{L}*|временно)(?![\p{L}\d_])/iu,
  /** A text that begins with the number of accepted records: `updated 2 of 2`, `Обновлено: 2`. */
  takenFirst:
    /^[\s\ufeff"]*(?:updated|accepted|imported|processed|saved|stored|обновлено|принято|загружено|обработано|сохранено|записано)\s*[:=]?\s*([1-9]\d{0,8})(?![\p{L}\d_%]|[.,:/-]\d)/iu,
  /** Refused, missing and skipped records; a bare count of skipped ones may be of unchanged records. */
  failed: new RegExp(
    `(?<![\\p{L}\\d_])(?:${REFUSED}|${WORDS.skipped}|left out|excluded|postponed|deferred|пропу(?:щен|ск)\\p{L}*|исключ[её]н\\p{L}*|отлож\\p{L}*|проигнорирован\\p{L}*|потерян\\p{L}*)(?![\\p{L}\\d_])`,
    "giu",
  ),
  /** The whole text says that nothing differs: `unchanged`, `No changes`, `Остатки не изменились`. An order's status that has not changed was refused. */
  allSame:
    /^(?=.*(?:chang|modif|same|up\P{L}?to\P{L}?date|измен|актуальн))(?:[^\p{L}]*(?<!\p{L})(?:no|not|none|nothing|without|unchanged|chang\p{L}*|modif\p{L}*|same|already|uptodate|up|to|date|for|of|in|the|all|is|are|was|were|has|have|been|rows?|records?|items?|products?|stocks?|prices?|data|нет|не|ничего|без|измен\p{L}*|актуальн\p{L}*|уже|все|был\p{L}*|остат\p{L}*|цен\p{L}*|товар\p{L}*|позици\p{L}*|запис\p{L}*|строк\p{L}*|данны\p{L}*)(?!\p{L}))+[^\p{L}]*$/iu,
  /** Orders that are not in their batch. What is wrong with an order that is there has other words. */
  lost: new RegExp(
    `(?<![\\p{L}\\d_])(?:${WORDS.skipped}|left out|excluded|postponed|deferred|failed|(?:not|could ?n[o']t|can ?not|can't|unable to)(?: be)? (?:export|load|read|serial|includ|sen[dt]|transfer|writ|process|generat|prepar|deliver)\\p{L}*|пропу(?:щен|ск)\\p{L}*|исключ[её]н\\p{L}*|отлож\\p{L}*|проигнорирован\\p{L}*|потерян\\p{L}*|не ?(?:выгру[жз]|загру[жз]|передан|экспортир|обработан|сформирован|прочитан|отправлен|включ[её]н)\\p{L}*|не удалось)(?![\\p{L}\\d_])`,
    "giu",
  ),
  /** Unchanged records, which a count of changes does not include. */
  same: /(?<!\p{L})(?:unchanged|changed|same|identical|equal|up[ -]to[ -]date|already|без изменени\p{L}*|(?:не ?)?изменил\p{L}*|(?:не ?)?измен[её]н\p{L}*|совпада\p{L}*|актуальн\p{L}*|уже)(?!\p{L})/giu,
  /** Created, updated and unchanged records: their counts add up to the request. */
  either:
    /(?<!\p{L})(?:creat|insert|add|new|updat|созда|добавл|нов|обновл)\p{L}*|(?<!\p{L})(?:unchanged|same|identical|без изменени\p{L}*|не ?измен\p{L}*)(?!\p{L})/giu,
  counted:
    /(?<!\p{L})(?:updat|process|accept|import|sav|stor|creat|insert|load|receiv|appl|writ|complet|succe|done|ok|progress|обновл|обработ|принят|импорт|сохран|созда|загру|получ|запис|успе|готов|выполн|прогресс)\p{L}*/iu,
  /** `0 of 4`, `none` */
  notAny: /^[^\p{L}\d]*0(?!\d)|^[^\p{L}\d]*(?:no|none|zero|нет)[^\p{L}\d]*$/iu,
  none: /(?<!\p{L})(?:no|not|none|without|zero|нет|без|ни)(?!\p{L})/iu,
};

/** What a fraction may be of besides records: `page 1 of 3`. */
export const OTHER_THINGS =
  "(?:pages?|parts?|chunks?|batch(?:es)?|steps?|stages?|attempts?|tr(?:y|ies)|retr(?:y|ies)|requests?|limits?|quota|rate|version|level|score|date|day|month|time|files?|shops?|stores?|warehouses?|workers?|threads?|queue|nodes?|страниц|част|пакет|шаг|этап|попыт|запрос|лимит|верси|дат|день|месяц|врем|файл|магазин|склад|поток|очеред)";
