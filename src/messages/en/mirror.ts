import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

/** The orders that this machine received at the same time as the other one. */
function straysLeft(strays: number | null): string {
  if (strays === null) return " Orders that were taken here since may be in this database alone.";
  if (strays === 0) return "";
  return ` ${counted(strays, "order")} taken here since ${strays === 1 ? "was" : "were"} left for it in PostgreSQL.`;
}

/** `isHere`: its machine has this machine's name. */
const bridgeOn = (host: string, isHere: boolean) =>
  isHere ? `Another bridge on this machine, or on one that is also called ${host},` : `The bridge on ${host}`;

export const mirror = {
  connecting: "connecting",
  reading: "reading",
  writing: "writing",
  committing: "the commit",
  failed: ({ at, doing, why }: { at: string; doing: Said; why: string }) => `PostgreSQL at ${at}: ${doing}: ${why}`,
  away: ({ at, why }: { at: string; why: string }) => `PostgreSQL at ${at} cannot be reached (${why}).`,
  awayHint:
    "Orders, changes and feeds go on without it; the mirror catches up by itself. Is the server running, and the way to it open?",
  slow: ({ at, why }: { at: string; why: string }) => `PostgreSQL at ${at} does not answer in time (${why}).`,
  slowHint: "The next pass connects anew. Is the server overloaded, or the way to it interrupted?",
  tooLong: ({ at, seconds }: { at: string; seconds: number }) =>
    `PostgreSQL at ${at} has broken off a statement that took longer than ${seconds} s.`,
  tooLongHint:
    "The next pass takes a quarter as much. Where it stays so, look there for what keeps the server busy (pg_stat_activity), or raise mirror.timeout.",
  locked: ({ at, seconds }: { at: string; seconds: number }) =>
    `In PostgreSQL at ${at} another transaction keeps rows of the mirror's locked (longer than ${seconds} s).`,
  lockedHint:
    "The next pass tries again. Where it stays so, look there for a transaction that nobody ends: SELECT pid, usename, xact_start, query FROM pg_stat_activity ORDER BY xact_start; pg_terminate_backend(pid) ends it.",
  cancelled: ({ at, why }: { at: string; why: string }) =>
    `Somebody has cancelled a statement of the mirror's in PostgreSQL at ${at} (${why}).`,
  cancelledHint:
    "The next pass repeats it. Where it stays so, find the person or the program there that calls pg_cancel_backend, and have it spare application_name erp-bridge.",
  silentHere: ({ at, why }: { at: string; why: string }) =>
    `PostgreSQL at ${at} has ended a transaction in which nothing came from this machine for long (${why}).`,
  silentHereHint: "The next pass repeats it. Was this machine suspended, or short of processor time?",
  gaveWay: ({ at, why }: { at: string; why: string }) =>
    `PostgreSQL at ${at} has broken off a transaction in favour of another one (${why}).`,
  gaveWayHint: "The next pass repeats it; nothing is to be done.",
  full: ({ at, why }: { at: string; why: string }) => `PostgreSQL at ${at} has no room: ${why}.`,
  fullHint: "Its disk or memory is full, or max_connections is reached: each shop keeps one connection.",
  readOnly: ({ at }: { at: string }) => `PostgreSQL at ${at} takes no writes: it is a standby, or set to read only.`,
  readOnlyHint: "Name the primary server in the mirror's address, or lift default_transaction_read_only there.",
  access: ({ at, user, why }: { at: string; user: string; why: string }) =>
    `PostgreSQL at ${at} does not let ${user} in: ${why}.`,
  noAddressHint: "Write the address that head office hands out into that file; then: systemctl restart erp-bridge",
  accessHint: "Compare user, password and database in the mirror's address with those there, and pg_hba.conf.",
  certificate: ({ at, why }: { at: string; why: string }) =>
    `The certificate of PostgreSQL at ${at} is not trusted: ${why}.`,
  certificateHint:
    "Name its authority in mirror.ca_file, and the host in the mirror's address as the certificate does.",
  right: ({ at, user, why }: { at: string; user: string; why: string }) =>
    `At PostgreSQL at ${at} ${user} lacks a right: ${why}.`,
  rightHint: ({ shop }: { shop: string }) =>
    `Whoever may create roles there gives it: erp-bridge mirror init --url ADDRESS --shop ${shop}`,
  tooOld: ({ at, version, needed }: { at: string; version: string; needed: number }) =>
    `PostgreSQL at ${at} is version ${version}; the mirror needs ${needed} or newer.`,
  tooOldHint: "Upgrade PostgreSQL there, or name another server.",
  noSchema: ({ at, schema }: { at: string; schema: string }) =>
    `PostgreSQL at ${at} has no schema ${schema} of the mirror.`,
  olderSchema: ({ at, schema }: { at: string; schema: string }) =>
    `The schema ${schema} of PostgreSQL at ${at} is of an older version than this program.`,
  newerSchema: ({ at, schema }: { at: string; schema: string }) =>
    `The schema ${schema} of PostgreSQL at ${at} is of a newer version than this program.`,
  otherSchema: ({ at, schema }: { at: string; schema: string }) =>
    `The schema ${schema} of PostgreSQL at ${at} is not as this program made it.`,
  initHint: "Whoever owns the schema runs: erp-bridge mirror init --url ADDRESS",
  notUtf8: ({ at, encoding }: { at: string; encoding: string }) =>
    `The database at ${at} has the encoding ${encoding}; the mirror needs UTF8.`,
  utf8Hint: ({ database }: { database: string }) =>
    `Make another one: CREATE DATABASE ${database} ENCODING 'UTF8' TEMPLATE template0.`,
  newerHint: "Install the version of erp-bridge that the other shops have.",
  disarmed: ({ at, schema, tables }: { at: string; schema: string; tables: string }) =>
    `In the schema ${schema} of PostgreSQL at ${at} tables lack triggers or row-level security: ${tables}.`,
  takeoverOtherAccount: ({ shop, id, url, orders }: { shop: string; id: string; url: string; orders: number }) =>
    `In the mirror the shop ${shop} with its orders (${orders}) belongs to another account than ${id} at ${url}.`,
  takeoverOtherAccountHint:
    "Compare mirror.shop and the mirror's address with service.base_url and service.client_id. Where the account itself has changed, take over from a copy that was started with it.",
  otherDatabase: ({ shop, host }: { shop: string; host: string }) =>
    `In the mirror the shop ${shop} belongs to another database (last written from ${host}).`,
  otherDatabaseHint:
    "Give this shop a key of its own in mirror.shop; where this database is to go on for the other one: erp-bridge takeover.",
  unknownShop: ({ at, shop, user }: { at: string; shop: string; user: string }) =>
    `PostgreSQL at ${at} does not know a shop ${shop}, or ${user} may not see it.`,
  fenced: ({ shop, host, isHere, strays }: { shop: string; host: string; isHere: boolean; strays: number | null }) =>
    `${bridgeOn(host, isHere)} works for the shop ${shop}.${straysLeft(strays)}`,
  fencedHint:
    "Two bridges on one account take orders from each other: leave one of them off. If this one is to go on, stop the other one, then type erp-bridge takeover here.",
  otherHeard: ({ shop, host, isHere }: { shop: string; host: string; isHere: boolean }) =>
    `${bridgeOn(host, isHere)} may work for the shop ${shop}: PostgreSQL has heard of it lately, or this database is an older copy. This bridge asks the service nothing until that one has been silent for some minutes, and ends where it is heard of again. Nothing is to be done unless both run: then stop one of them.`,
  reached: ({ at, shop }: { at: string; shop: string }) => `PostgreSQL at ${at} answers, and knows the shop ${shop}.`,
  badUrl: ({ problem }: { problem: Said }) => `The address of PostgreSQL ${problem}.`,
  badShop: ({ shop }: { shop: string }) => `${shop} is no key of a shop: 1 to 40 lower-case letters, digits, _ and -.`,
  badSchema: ({ schema }: { schema: string }) => `${schema} is no name of a schema: lower-case letters, digits and _.`,
  schemaMade: ({ schema }: { schema: string }) => `The schema ${schema} is ready.`,
  schemaCurrent: ({ schema }: { schema: string }) => `The schema ${schema} was up to date; rights were given anew.`,
  roleMade: ({ role, isShop, url }: { role: string; isShop: boolean; url: string }) =>
    `The role ${role} was made. ${isShop ? "For mirror.url_file of the shop" : "Its address"}, shown only now: ${url}`,
  roleStays: ({ role }: { role: string }) => `The role ${role} was there; its password stays as it was.`,
  removeUnknown: ({ shop }: { shop: string }) => `PostgreSQL does not know a shop ${shop}.`,
  removeHeard: ({ shop, host }: { shop: string; host: string }) =>
    `The shop ${shop} works (on ${host}): stop its bridge, and try again when the view shops shows it as silent.`,
  removed: ({ shop, rows }: { shop: string; rows: number }) =>
    `The shop ${shop} was removed with ${counted(rows, "row")}. Its orders and events stay.`,
  takenOver: ({ shop, host, isHere, strays }: { shop: string; host: string; isHere: boolean; strays: number | null }) =>
    `${bridgeOn(host, isHere)} has taken over the shop ${shop}.${straysLeft(strays)}`,
  straysHint:
    "Start this bridge once more with PostgreSQL in reach (erp-bridge run): it leaves them there for the other one, asks the service nothing, and ends.",
  straysNotLeft: ({ why }: { why: Said }) =>
    `Orders that were taken here while another machine worked for the shop could not be left for it: ${why}`,
  straysTaken: ({ host, orders }: { host: string; orders: number }) =>
    `${host} worked for this shop beside this machine until it heard of the takeover: ${counted(orders, "order")} of its own ${orders === 1 ? "is" : "are"} read from the service, and the feeds are sent anew.`,
  takenOverHint:
    "This bridge stays off. To bring the shop back here, stop the other one, then type erp-bridge takeover here.",
  takeoverNoMirror: "The configuration names no mirror.",
  takeoverNoMirrorHint: "Set mirror.url and mirror.shop as on the machine that worked for the shop.",
  takeoverNobodyToAsk: "takeover claims the shop for this machine, and nobody can be asked here.",
  takeoverUnknownShop: ({ shop }: { shop: string }) => `PostgreSQL knows nothing of a shop ${shop} yet.`,
  takeoverUnknownShopHint: "Compare mirror.shop; a new shop begins with erp-bridge run.",
  takeoverOtherDatabase: ({ database }: { database: string }) => `${database} is the database of another shop.`,
  takeoverOtherDatabaseHint: "Name another place in database.path, or move that file away.",
  takeoverFromHere: "The database on this machine goes on; what PostgreSQL has more comes into it.",
  takeoverFromCopy: ({ file }: { file: string }) =>
    `The database is made from ${file}, the journal where there is one, and what PostgreSQL has more.`,
  takeoverFromMirror: ({ orders }: { orders: number }) =>
    `There is no copy in backup.dir: the database is made from ${counted(orders, "order")} in PostgreSQL, and the journal where there is one.`,
  takeoverIsHeard: ({ shop, host, isHere, at }: { shop: string; host: string; isHere: boolean; at: string }) =>
    `${bridgeOn(host, isHere)} works for the shop ${shop}; PostgreSQL heard of it at ${at}.`,
  takeoverIsSilent: ({ shop, host, isHere, at }: { shop: string; host: string; isHere: boolean; at: string }) =>
    `${bridgeOn(host, isHere)} worked for the shop ${shop}; PostgreSQL last heard of it at ${at}.`,
  takeoverStopIt:
    "Stop it first. If it still runs, it ends by itself once it reaches PostgreSQL, within five minutes; until then it takes orders from the service beside this one, which come over later.",
  takeoverIsItOff:
    "It may still run without reaching PostgreSQL, and then takes orders from the service beside this one. Go on only if it is off and stays off.",
  takeoverIsOwn: ({ shop, database }: { shop: string; database: string }) =>
    `${database} has the shop ${shop} already: nothing was changed.`,
  takeoverWasElsewhere: "another machine worked for the shop",
  takeoverDone: ({
    shop,
    database,
    orders,
    unread,
    command,
  }: {
    shop: string;
    database: string;
    orders: number;
    unread: number;
    command: string;
  }) =>
    `${database} goes on for the shop ${shop}: ${counted(orders, "order")} brought from PostgreSQL, ${unread} to be read from the service. Start it: ${command}`,
  orderUnknown: "There is no order with this order_id in the shop's database.",
  requestLeft: "The request has left already, as it was: insert a new row with a new id.",
  unreadable: ({ why }: { why: string }) => `PostgreSQL has the row and cannot give it: ${why}`,
  tooLarge: ({ megabytes }: { megabytes: number }) => `The row is larger than ${megabytes} MB.`,
  dropped: "PostgreSQL took the row and did not keep it: a trigger or a rule there drops it.",
  requestDeleted: "It was deleted in the shop's database before it left.",
};
