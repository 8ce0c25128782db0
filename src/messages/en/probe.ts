import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

export const probe = {
  updatesAnswered: "GET /orders/updates is answered",
  sinceRefused: ({ text }: { text: Said }) => `${text}: the service takes updates.since in another form`,
  unknownIsUnknown: "an unknown order is answered as unknown",
  importLetIn: "an import is let in",
  noDate: "the service sends no Date, so clocks cannot be compared",
  clockAway: ({ minutes }: { minutes: number }) => `this machine's clock is ${minutes} min away from the service's`,
  clocksAgree: "this machine and the service agree on the time",
  emptyList: "an empty list",
  list: ({ count, first }: { count: number; first: Said }) => `a list of ${count}: ${first}`,
  emptyObject: "an empty object",
  askingImports: "imports: a body without its array",
  nothingAccepted: ({ feed, status, shape }: { feed: string; status: number; shape: Said }) =>
    `${feed}: a body without its array is accepted with ${status} and ${shape}: the status code does not show a refusal`,
  mayEmpty: ({ body, path }: { body: string; path: string }) =>
    `Send ${body} to ${path}? A service that takes each request for the whole table would empty the stock on the site.`,
  emptyNotSent: "the empty array was not sent: it was not approved",
  emptyArray: ({ body }: { body: string }) => `the empty array ${body}`,
  lookAtStock: "look at the site: if its stock is gone now, write imports.stocks.scope: whole",
  noStock: "no stock was sent yet: put one article into the table stock, then erp-bridge sync stocks",
  bridgeIsRunning:
    "one record was not sent: a bridge is running, and the record could arrive after a newer one; stop it first",
  maySendOne: ({ record }: { record: string }) =>
    `Send one record that the service has taken before (${record}) again? A service that takes each request for the whole table would drop all others.`,
  oneNotSent: "one record was not sent: it was not approved",
  oneRecord: "one record",
  recordTaken: "a record made by imports.stocks.record is taken",
  lookAtArticle: "look at the site: if only this one article is left there, write imports.stocks.scope: whole",
  refusedWith: ({ what, status, words }: { what: Said; status: number; words: string }) =>
    `${what} is refused with ${status}: ${words}`,
  emptyBody: "an empty body",
  answeredWith: ({ what, verdict, status, shape }: { what: Said; verdict: Said; status: number; shape: Said }) =>
    `${what} is ${verdict} with ${status} and ${shape}`,
  roomForResult: "the answer has room for single records: write imports.stocks.result once you know how it names them",
  noDatabase: "there is no database yet: pull first, with erp-bridge sync orders",
  askForPaths: ({ feeds }: { feeds: readonly string[] }) =>
    `ask the service for the paths of ${feeds.join(", ")}; none is tried that was not named`,
  askForParameters:
    "ask the service whether GET /orders takes parameters; probe never calls it, because a call may hand out a batch",
  askForVersion: "ask the service; a change of shape shows as an error, not as silence",
  askForStatusChange: "ask the service for the method, the path and the body; any try would change an order",
  noConfirm: "no batch has been confirmed yet: the first pull of an order shows what a confirm answers",
  noOrder: "no order is stored yet",
  statusesSeen: ({ statuses }: { statuses: readonly string[] }) => `statuses seen so far: ${statuses.join(", ")}`,
  noStatus: ({ count }: { count: number }) => `none (${count})`,
  likeEnds: "some of them look like ends of an order; check the proposal",
  lastRefusal: ({ words }: { words: string }) => `the last refusal: ${words}`,
  largestBatch: ({ orders }: { orders: number }) => `the largest batch so far held ${counted(orders, "order")}`,
  longestPage: ({ changes }: { changes: number }) => `the longest page of changes so far held ${changes}`,
  tooManyRecords: ({ feed, records }: { feed: string; records: number }) =>
    `${feed}: requests of more than ${counted(records, "record")} were too large`,
  tooManyRequests: ({ jobs }: { jobs: readonly string[] }) =>
    `${jobs.join(", ")} answered with 429: lower service.requests_per_second`,
  errorsMet: ({ errors }: { errors: readonly string[] }) => `met so far: ${errors.join(", ")}`,
  askingOrders: "orders: an unknown one, a known one, and what is stored",
  unknownRefused: ({ status, words }: { status: number; words: string }) =>
    `an unknown order is answered with ${status}: ${words}`,
  unknownAnswered: ({ status, shape }: { status: number; shape: Said }) =>
    `an unknown order is answered with ${status} and ${shape}: such an answer does not show that an order was deleted`,
  batchUnrecognised: ({ shape }: { shape: Said }) => `a kept batch is ${shape}: no list of orders was recognised`,
  batchOrders: ({ path }: { path: string }) => `a kept batch keeps its orders under ${path}`,
  batchId: ({ path }: { path: string }) => `and its own id under ${path}`,
  batchesRead: "GET /orders is read as configured: no batch is kept unread",
  noOrderToRead: "GET /orders/{order_id}: no order is known yet that could be read",
  knownRefused: ({ status, words }: { status: number; words: string }) =>
    `GET /orders/{order_id} of a known order is refused with ${status}: ${words}`,
  orderUnrecognised: ({ shape }: { shape: Said }) =>
    `GET /orders/{order_id} answers ${shape}: the order was not recognised in it`,
  orderUnder: ({ path }: { path: string }) => `GET /orders/{order_id} keeps the order under ${path}`,
  asConfigured: ({ fact }: { fact: Said }) => `${fact}, as configured`,
  changeIsWhole: "a change holds every field of the whole order: whole saves a request each",
  changeLacks: ({ fields }: { fields: number }) =>
    `a change lacks ${counted(fields, "field")} of the whole order, so each changed order is read whole`,
  noOrderSeen: "no order has been seen yet: pull first, with erp-bridge sync orders",
  orderShape: ({ shape }: { shape: Said }) => `an order is ${shape}`,
  lineShape: ({ shape }: { shape: Said }) => `a line is ${shape}`,
  fieldLike: ({ configured, key, path }: { configured: string; key: string; path: string }) =>
    `nothing was found at ${configured} (${key}); ${path} looks like it`,
  noDateHeader: "the service sends no Date header, so clocks cannot be compared",
  askingUpdates: "changes: asking with different forms of since",
  badSinceRefused: ({ status, words }: { status: number; words: string }) =>
    `GET /orders/updates refuses a since that is no time with ${status}: ${words}`,
  formRefused: ({ form }: { form: string }) => `${form}: refused`,
  formUnderstood: ({ form }: { form: string }) => `${form}: understood (the past brings changes, tomorrow brings none)`,
  formIgnored: ({ form }: { form: string }) => `${form}: ignored, tomorrow brings changes too`,
  noFormProved: "no form could be proved: change an order on the site and run probe again",
  sinceShouldBe: ({ form }: { form: string }) => `updates.since should be ${form}`,
  changesUnrecognised: ({ shape }: { shape: Said }) =>
    `GET /orders/updates: no list of changes was recognised in ${shape}`,
  changesUnder: ({ path }: { path: string }) => `GET /orders/updates keeps its changes under ${path}`,
  besideChanges: ({ paths }: { paths: readonly string[] }) =>
    `beside the changes stands ${paths.join(", ")}: if it names the next since, write it as updates.next`,
  changeShape: ({ shape }: { shape: Said }) => `a change is ${shape}`,
  changeField: ({ field, path }: { field: string; path: string }) => `a change keeps ${field} under ${path}`,
  noTimestamp: "no timestamp was recognised in a change",
  zoneAssumed: ({ zone }: { zone: string }) =>
    `timestamps name no zone, and ${zone} is assumed: change an order on the site, and compare its timestamp with the clock (service.timezone)`,
  oldestFirst: "changes come oldest first",
  unordered: "changes do not come in the order of their timestamps",
  boundaryUnknown: ({ form }: { form: string }) =>
    `whether ${form} includes a change of exactly that time is unknown: timestamps are finer`,
  inclusive: "a change with exactly the timestamp of since is in the answer (inclusive)",
  exclusive: "a change with exactly the timestamp of since is left out (exclusive); the bridge allows for it",
  areaHeld: ({ reason, area }: { reason: string; area: string }) =>
    `held (${reason}), so nothing was asked; first: erp-bridge resume ${area}`,
  notWithoutYes: ({ what }: { what: Said }) => `Not done without --yes: ${what}`,
  yesOrNo: ({ what }: { what: Said }) => `${what} [y/N] `,
  nothingToChange: "Nothing in the configuration needs to be changed by what was found.",
  proposed: ({ lines, command }: { lines: string; command: string }) =>
    `Proposed for the configuration:\n\n${lines}\n\n→ ${command}`,
  yours: ({ lines }: { lines: string }) =>
    `Yours to decide, because no answer shows it; put in what is right:\n\n${lines}`,
  written: ({ file }: { file: string }) => `Written into ${file}:`,
  kept: ({ kept }: { kept: string }) => `As it was before: ${kept}`,
  daemonReads: "The daemon reads it now. Kept batches are stored and confirmed at its next pass.",
  reloadDaemon: ({ command }: { command: string }) => `The daemon still works with the old one. Next: ${command}`,
  thenSync: ({ command }: { command: string }) => `Next: ${command}`,
  notWritable: ({ file }: { file: string }) =>
    `The proposal cannot be written into ${file} without changing something else of it.`,
  writeByHand: ({ lines }: { lines: string }) => `Put these lines in by hand:\n\n${lines}`,
  confirmLike: ({ body }: { body: string }) => `the refused confirms may have to look like ${body}`,
  requestsMade: ({ requests }: { requests: number }) =>
    `${counted(requests, "request")} made, and no GET /orders among them.`,
  answeredAs: ({ text, status }: { text: Said; status: number }) => `${text} (${status})`,
  object: ({ members }: { members: readonly string[] }) => `an object with ${members.join(", ")}`,
  largeObject: ({ members }: { members: readonly string[] }) => `an object with ${members.join(", ")}, …`,
  /** The type of a JSON value, by its JavaScript name. */
  value: ({ type }: { type: string }) => `a ${type}`,
  credentialsAnswer: ({ feed, status, words }: { feed: string; status: number; words: string }) =>
    `${feed}: the answer is ${status}: ${words}`,
  badBodyAnswer: ({ feed, status, words }: { feed: string; status: number; words: string }) =>
    `${feed}: a body without its array is ${status}: ${words}`,
  accepted: "accepted",
  doubted: ({ words }: { words: string }) => `answered with words that speak against it (${words})`,
  refusedInWords: ({ words }: { words: string }) => `refused in words (${words})`,
  webPage: "answered by a web page",
  cutJson: "answered by JSON that breaks off",
  confirmedWithId: ({ count, form }: { count: number; form: "auto" | "configured" }) =>
    `batches with an id: ${count} confirmed (${form === "auto" ? "auto" : "as configured"})`,
  confirmedWithoutId: ({ count, form }: { count: number; form: "auto" | "configured" }) =>
    `batches without an id: ${count} confirmed (${form === "auto" ? "auto" : "as configured"})`,
  refusedWithId: ({ count, words }: { count: number; words: string | null }) =>
    `batches with an id: ${count} refused: ${words ?? "without words"}`,
  refusedWithoutId: ({ count, words }: { count: number; words: string | null }) =>
    `batches without an id: ${count} refused: ${words ?? "without words"}`,
  requestsAccepted: ({ count, request }: { count: number; request: string }) =>
    `${counted(count, "status request")} accepted as ${request}`,
  fieldUnlike: ({ configured, key }: { configured: string; key: string }) =>
    `nothing was found at ${configured} (${key}); nothing looks like it`,
  fieldChoices: ({ configured, key, paths }: { configured: string; key: string; paths: readonly string[] }) =>
    `nothing was found at ${configured} (${key}); it may be one of ${paths.join(", ")}`,
  clocksSame: "the clocks of this machine and of the service agree",
  clocksApart: ({ minutes }: { minutes: number }) =>
    `the clocks of this machine and of the service are ${minutes} min apart`,
  formEmpty: ({ form }: { form: string }) => `${form}: answered without changes, which shows little`,
  formEmptyLikely: ({ form }: { form: string }) =>
    `${form}: answered without changes, which shows little, but a since that is no time is refused`,
  timestamps: ({ form, digits, zone }: { form: string; digits: number; zone: string | null }) =>
    `timestamps are ${form}${digits > 0 ? ` with ${counted(digits, "digit")} of a second` : ""}${zone === null ? "" : zone === "" ? ", without a zone" : `, zone ${zone}`}`,
  found: ({ question }: { question: Said }) => `found      ${question}`,
  notFound: ({ question }: { question: Said }) => `not found  ${question}`,
  needsYou: ({ question }: { question: Said }) => `needs you  ${question}`,
  skipped: ({ question }: { question: Said }) => `skipped    ${question}`,
  noticedNew: ({
    kind,
  }: {
    kind:
      | "field"
      | "status"
      | "path"
      | "answer"
      | "return"
      | "zone"
      | "times"
      | "steps"
      | "ahead"
      | "cancelled"
      | "short";
  }) => `Noticed about the service: a new ${kind}.`,
  newFields: ({ count, names }: { count: number; names: string }) =>
    `${count} ${count === 1 ? "field" : "fields"} of orders that nothing reads (${names})`,
  newStatuses: ({ count, names }: { count: number; names: string }) => `${counted(count, "status name")} (${names})`,
  stoppedPaths: ({ count, names }: { count: number; names: string }) =>
    `${counted(count, "path")} that stopped matching (${names})`,
  returns: ({ count, names }: { count: number; names: string }) =>
    `${counted(count, "return")} to an earlier state (${names})`,
  zoneLost: ({ names }: { names: string }) =>
    `the times of orders name no zone any more, since ${names} (service.timezone must be the zone of the service)`,
  twoForms: ({ names }: { names: string }) =>
    `times of orders in a second form (${names}): changes are asked for in both`,
  longSteps: ({ names }: { names: string }) =>
    `timestamps in long steps (${names}): a second change within one may come an hour late`,
  aheads: ({ names }: { names: string }) =>
    `a watermark ahead of this machine's clock (${names}), and no Date to compare with: the clock of the service, of this machine or the time of an order was wrong`,
  shortBatches: ({ names }: { names: string }) =>
    `a batch was confirmed that may have held more orders than came (${names}): compare the orders of that day with the site`,
  calledCancelled: ({ count, names }: { count: number; names: string }) =>
    `${counted(count, "order")} that a change calls cancelled and whose own status says otherwise (${names}): not cancelled here unless orders.statuses.cancelled names that status`,
  newAnswers: ({ count, names }: { count: number; names: string }) =>
    `${counted(count, "new form")} of acceptance (${names})`,
  noticed: ({ parts }: { parts: readonly string[] }) =>
    `Noticed about the service: ${parts.join("; ")}. When you have seen it: erp-bridge resume observations`,
};
