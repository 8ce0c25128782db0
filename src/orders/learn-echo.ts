/*
 * Decides whether a status of the ERP's that comes back was the only change. A service may add keys with it: those that
 * another kind of answer has, `shipped_at`, an entry of a history. A customer's change at the same time looks the same,
 * so a key counts as the service's only after it came with several such statuses, of different orders and an hour
 * apart. Until then the ERP sees an order unnecessarily. Pure; saved in `learned_answers`.
 */

/** Statuses of one name that came back, by kinds of answers; `orderId` and `at`: of the last one counted. */
interface Echoes {
  readonly orderId: string;
  readonly at: string;
  readonly count: number;
  /** How many of them each key came with. */
  readonly keys: Readonly<Record<string, number>>;
}

export type LearnedEchoes = Readonly<Record<string, Echoes>>;

export interface Echo {
  readonly kind: string;
  readonly orderId: string;
  readonly at: string;
  readonly keys: readonly string[];
}

/** Changes of many orders in one moment, such as a recall, count once. */
const APART_MS = 3_600_000;
const TIMES_MIN = 3;
/** At so many, counts are halved, so that a new release of the service is learned too. */
const COUNT_MAX = 10;
/** More than names of statuses times kinds of answers; the one unused for longest is dropped. */
const KINDS_MAX = 30;
/** More or longer keys are not learned: such orders always go to the ERP. */
const KEYS_MAX = 200;
const TEXT_MAX = 200;

/** Whether every key came with at least half of the earlier ones, and with three. */
export function isStatusAlone(learned: LearnedEchoes, { kind, keys }: Echo): boolean {
  const { count = 0, keys: known = {} } = learned[kind] ?? {};
  return keys.every((key) => (known[key] ?? 0) >= Math.max(TIMES_MIN, count / 2));
}

/** @returns the same object where nothing is learned */
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
