import type { HoldReason } from "../database/hold-names.ts";
import type { Language } from "../messages/language.ts";
import type { ErrorCode } from "../platform/errors.ts";
import { englishStatus } from "./status-words-en.ts";
import { russianStatus } from "./status-words-ru.ts";

/** Everything that the status is told with. Times come ready to be shown, numbers and spans as they are. */
export interface StatusWords {
  upToDate: string;
  notRunning: string;
  /** Since when a request waits for a daemon that runs. */
  notAnswering(since: string): string;
  /** Columns of stored orders come from a former mapping. */
  remapOwed: string;
  held(area: string, since: string, reason: string): string;
  failing(flow: string, since: string, why: string): string;
  stale(flow: string, ageS: number | null): string;
  unreadBatches(n: number): string;
  refusedConfirms(n: number): string;
  unnamedBatches(n: number, times: number): string;
  failedConfirms(n: number, since: string): string;
  refusedRequests(n: number): string;
  blockedOrders(n: number): string;
  quarantined(n: number, flow: string): string;
  refusedRows(n: number, flow: string): string;
  littleSpace(bytes: number): string;
  unreachable(channel: string, since: string, error: string): string;
  /** `error`: the system's code for why nothing can listen there. */
  pageSilent(address: string, since: string, error: string): string;
  askedAt(at: string | null): string;
  /** What a text says of the time at which it was written. */
  seenAt(at: string, text: string): string;
  /** Seconds ahead of the service's clock. */
  clockOff(offsetS: number): string;
  /** Names of the ERP's triggers and indexes, with their tables. */
  erpObjects(names: string): string;
  credentialReplaced(since: string): string;
  databaseOlder: string;
  logCut: string;
  databaseDamaged: string;
  foreignJournal: string;
  untaken(ageS: number | null): string;
  unwritten(feed: string, ageS: number | null): string;
  logGrown(bytes: number): string;
  /** The parts of the sentence, in small letters. */
  asked(ageS: number | null): string;
  lastOrder(at: string | null): string;
  waitingForErp(n: number, oldestS: number | null): string;
  stockAsOf(at: string | null): string;
  /** `12 s`, `4 min`, `5 h`, `3 days` */
  duration(seconds: number): string;
  bytes(bytes: number): string;
  errors: Record<ErrorCode, string>;
  holds: Record<HoldReason, string>;
}

const WORDS: Record<Language, StatusWords> = { en: englishStatus, ru: russianStatus };

export function statusWords(language: Language): StatusWords {
  return WORDS[language];
}

/** What an error code means, for a person; a code of a later version stays as it is. */
export function errorWords(code: string, { errors }: StatusWords): string {
  return Object.hasOwn(errors, code) ? errors[code as ErrorCode] : code;
}

/** What a hold means, for a person; its `detail` says more. */
export function holdWords(reason: string, { holds }: StatusWords): string {
  return Object.hasOwn(holds, reason) ? holds[reason as HoldReason] : reason;
}
