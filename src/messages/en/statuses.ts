import type { Said } from "../message.ts";

export const statuses = {
  tooLarge: "status, comment and data are too large together",
  notUtf8: ({ column }: { column: string }) => `${column} is not valid UTF-8 or UTF-16`,
  idNotUuid: "order_id is not a UUID",
  notStored:
    "the table orders has no order with this order_id; the service is asked for it, and the request waits for that",
  noSuchOrder: ({ status }: { status: number }) =>
    `the service has no order with this order_id: GET /orders/{id} was answered with ${status}, twice in ten minutes, while another order was read`,
  empty: "is empty",
  isNull: "is NULL",
  noNumber: ({ value }: { value: string }) => `${value} is no number that can be sent`,
  binary: "binary data cannot be sent",
  dataNotText: "is no text with a JSON object",
  dataNotObject: "is JSON but no object",
  dataNotJson: "is not valid JSON",
  answeredWith: ({ method, path, what }: { method: string; path: string; what: Said }) =>
    `${method} ${path} was answered with ${what}.`,
  answered: ({ method, path, status, words }: { method: string; path: string; status: number; words: string }) =>
    `${method} ${path} was answered with ${status}: ${words}`,
  answeredStatus: ({ method, path, status, words }: { method: string; path: string; status: number; words: string }) =>
    `${method} ${path} was answered with ${status}, and with the order in the status ${JSON.stringify(words)}`,
  wrongPath: "the order exists, so statuses.path or statuses.method is wrong",
  readAgain: ({ reason }: { reason: Said }) => `${reason}; to be read again`,
  beforeAccepted: "the order was read as it was before the status that was accepted before this one; to be read again",
  refused: ({ id, reason }: { id: string; reason: Said }) => `Status request ${id} is refused: ${reason}.`,
  noStatus: ({ orderId, text }: { orderId: string; text: string }) =>
    `The answer of GET /orders/${orderId} has no status but ${text}.`,
  changedBack: ({ now, sent }: { now: string; sent: string }) =>
    `changed meanwhile: the order is ${now} again and was changed in between; whether ${sent} was there is not known`,
  changed: ({ before, now, sent }: { before: string; now: string; sent: string }) =>
    `changed meanwhile: the order was ${before} and is ${now} now; whether ${sent} was there in between is not known`,
  cancelledSince: ({ status, at }: { status: string; at: string }) =>
    `the order was cancelled after this request was made: ${status} at ${at}; insert a new request if it is to be sent all the same`,
  otherOrder:
    "the service answers with another order under this id, which is read again and again to be sure; the request waits for that",
  replacedSince: ({ number }: { number: string }) =>
    `the service has another order under this id since (${number}), and this request was made for the former one; insert a new request if it is to be sent to that one`,
  kept: ({ status, since }: { status: string; since: string }) =>
    `the service has named the status ${status} for this order (waiting to be read since ${since}), and the order was not read since; the request waits for that`,
  keptUnread: ({ since }: { since: string }) =>
    `the service has served a record that may be of this order, in which no status can be read (waiting to be read since ${since}), and the order was not read since; the request waits for that`,
  keptForLong: ({ status, since }: { status: string; since: string }) =>
    `the service has named the status ${status} for this order, which could not be read since ${since}; insert a new request once it can be`,
  unshown: ({ answeredAt, status }: { answeredAt: string; status: string }) =>
    `accepted at ${answeredAt}, and the order, read again since, still has the status ${status}`,
  withoutStatus: "without a status",
  notSeen: ({ shape, at }: { shape: string; at: string }) =>
    `answered in a new form, ${shape}, and not seen at the order since ${at}; it is not sent again by itself`,
  stillShown: ({ at }: { at: string }) =>
    `the answer at ${at} showed the order in its former status, and so it has stayed; the request is sent again once another status is accepted`,
  notSeenYet: ({ shape, at, again }: { shape: string; at: string; again: string }) =>
    `answered in a new form, ${shape}, and not seen at the order since ${at}; if that stays so, it is sent once more at ${again}`,
};
