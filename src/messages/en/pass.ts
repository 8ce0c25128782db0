import type { Said } from "../message.ts";

export const pass = {
  unknownForm: ({ method, path, words }: { method: string; path: string; words: string }) =>
    `${method} ${path} was answered with ${words}, which is not known to be an acceptance.`,
  unknownFormUsual: ({ method, path, words, usual }: { method: string; path: string; words: string; usual: string }) =>
    `${method} ${path} was answered with ${words}, which is not known to be an acceptance; usual is ${usual}.`,
  writableAgain: "The database can be written again.",
  waitsForLock: "Another program holds the database's write lock; waiting for it.",
  stoppedWaiting: "Stopped while waiting for the database's write lock.",
  refusesCredentials: ({ what }: { what: Said }) => `the service refuses the credentials (${what})`,
  notPaid: ({ what }: { what: Said }) => `the import subscription is not paid (${what})`,
  asksToWait: ({ what }: { what: Said }) => `the service asks to wait (${what})`,
  notReached: ({ what }: { what: Said }) => `the service cannot be reached (${what})`,
  outOfOrder: ({ what }: { what: Said }) => `the service is out of order (${what})`,
  holdEnded: "the hold that stopped it has ended; the next pass is to come",
  causePutRight: "that its cause was corrected",
  ordersCompared: "that the orders on the site were compared with the database",
  ordersLookedFor: "that what may be missing was looked for",
  sourceLookedAt: "that what the feed reads is what the ERP has now",
  changesLookedFor: "that the changes that may be missing were looked for",
  areAcceptances: "that these answers of the service are acceptances",
  notReadInTime: ({ seconds }: { seconds: number }) => `The answer could not be read within ${seconds} s.`,
  lowerAnswerBytes: "Lower service.answer_bytes_max, or raise service.timeouts.total.",
};
