/*
 * Whether a status of the ERP's that comes back with its order has come alone. A service may bring keys with it: those that answers of
 * another kind have, `shipped_at`, an entry of a history. What a customer adds to the order meanwhile looks the same, so a key is the service's
 * only where it has come with several such statuses before, of different orders and with an hour between them. The ERP
 * sees one order too many until then. Pure; kept in `learned_answers`.
 */

/** Statuses of one name that came back, from the same kind of answer to the same; by `orderId` and `at` the last that was counted. */
interface Echoes {
  readonly orderId: string;
  readonly at: string;
  readonly count: number;
  /** With how many of them each key came. */
  readonly keys: Readonly<Record<string, number>>;
}

export type LearnedEchoes = Readonly<Record<string, Echoes>>;

export interface Echo {
  readonly kind: string;
  readonly orderId: string;
  readonly at: string;
  readonly keys: readonly string[];
}

/** What the service does to many orders in one moment, such as a recall, counts once. */
const APART_MS = 3_600_000;
const TIMES_MIN = 3;
/** Then each counts half, so that a later release of the service is learned as well. */
const COUNT_MAX = 10;
/** More than the names of statuses times the kinds of answers; what was not met for longest goes first. */
const KINDS_MAX = 30;
/** More, and longer ones, are not learned: such an order always comes to the ERP. */
const KEYS_MAX = 200;
const TEXT_MAX = 200;

/** Whether nothing came with the status but what came with at least half of the former ones, and with three. */
export function isStatusAlone(learned: LearnedEchoes, { kind, keys }: Echo): boolean {
  const { count = 0, keys: known = {} } = learned[kind] ?? {};
  return keys.every((key) => (known[key] ?? 0) >= Math.max(TIMES_MIN, count / 2));
}

/** @returns the same where it teaches nothing */
export function learnEcho(learned: LearnedEchoes, { kind, orderId, at, keys }: Echo): LearnedEchoes {
  const { [kind]: before, ...others } = learned;
  if (before === undefined && keys.length === 0) return learned;
  if (keys.length > KEYS_MAX || [kind, ...keys].some((text) => text.length > TEXT_MAX)) return learned;
  if (before?.orderId === orderId || Math.abs(Date.parse(at) - Date.parse(before?.at ?? "")) < APART_MS) return learned;
  const share = (before?.count ?? 0) < COUNT_MAX ? 1 : 2;
  const former = Object.entries(before?.keys ?? {}).map(([key, times]) => [key, Math.floor(times / share)] as const);
  const times = new Map(former.filter((each) => each[1] > 0));
  for (const key of keys) times.set(key, (times.get(key) ?? 0) + 1);
  const count = Math.floor((before?.count ?? 0) / share) + 1;
  const kept = Object.entries(others).slice(1 - KINDS_MAX);
  return {
    ...Object.fromEntries(kept),
    [kind]: { orderId, at, count, keys: Object.fromEntries([...times].slice(-KEYS_MAX)) },
  };
}
