import { STATUS_FLOW } from "./order-generator.ts";
import { integerBetween, type Random } from "./random.ts";
import type { SandboxService } from "./service.ts";

const TICK_MS = 250;
const MINUTE_MS = 60_000;
/** The number of orders that still change; without a limit, a long run would search all of them. */
const ACTIVE_MAX = 200;
const CANCEL_SHARE = 0.1;

export interface LiveOrdersOptions {
  readonly service: SandboxService;
  readonly random: Random;
  readonly perMinute: number;
}

function nextStatus(current: string, random: Random): string | undefined {
  const place = STATUS_FLOW.indexOf(current);
  if (place === -1 || place === STATUS_FLOW.length - 1) return undefined;
  return random() < CANCEL_SHARE ? "cancelled" : STATUS_FLOW[place + 1];
}

/** Advances one of the given orders by a status. */
function changeOne(active: string[], { service, random }: LiveOrdersOptions): void {
  const index = integerBetween(random, 0, active.length - 1);
  const id = active[index];
  if (id === undefined) return;
  const status = nextStatus(service.statusOf(id) ?? "", random);
  if (status === undefined) active.splice(index, 1);
  else service.changeOrder(id, { status });
}

/**
 * Creates orders at an even rate, and advances an earlier one for about every second new one. Returns a function that
 * stops it.
 */
export function startLiveOrders(options: LiveOrdersOptions): () => void {
  const { service, random, perMinute } = options;
  const active: string[] = [];
  let owed = 0;
  const timer = setInterval(() => {
    owed += (perMinute * TICK_MS) / MINUTE_MS;
    for (; owed >= 1; owed--) {
      active.push(service.createOrder());
      if (active.length > ACTIVE_MAX) active.shift();
      if (random() < 0.5) changeOne(active, options);
    }
  }, TICK_MS);
  return () => clearInterval(timer);
}
