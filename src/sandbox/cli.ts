import { readFile } from "node:fs/promises";
import type { LedgerEntry } from "./ledger.ts";
import { startLiveOrders } from "./live-orders.ts";
import { defaultOptions, mergeOptions, type SandboxOptionsPatch } from "./options.ts";
import { seededRandom } from "./random.ts";
import { startSandbox } from "./start-sandbox.ts";

/** The minimum number of entries kept for `/_sandbox/ledger`; without a limit, memory would grow for weeks. */
const LEDGER_ENTRIES = 10_000;

export interface RunSandboxOptions {
  /** 0 selects a free port. */
  readonly port: number;
  /** The same seed generates the same orders. */
  readonly seed: number;
  /** 0: only orders created through `/_sandbox/orders`. */
  readonly ordersPerMinute: number;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A JSON file of switches. */
  readonly switchesFile?: string;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

function effectText(entry: LedgerEntry): string {
  const { effect } = entry;
  switch (effect?.kind) {
    case undefined:
      return "";
    case "handed-out":
      return `  batch ${effect.batchId ?? "without id"}, ${effect.orderIds.length} orders`;
    case "confirmed":
      return `  confirmed ${effect.orderIds.length} orders`;
    case "status":
      return `  ${effect.orderId} is ${effect.status}`;
    case "import":
      return `  ${effect.feed}: ${effect.accepted.length} accepted, ${effect.rejected.length} rejected`;
  }
}

/** Escapes control characters in paths and statuses for the terminal. */
function printable(text: string): string {
  return text.replace(/\p{C}/gu, "?");
}

/** One request as a line: time, request, status, effect and fault. */
function entryLine(entry: LedgerEntry): string {
  const query = entry.query === "" ? "" : `?${entry.query}`;
  const fault = entry.faultApplied === null ? "" : `  [fault: ${entry.faultApplied}]`;
  const request = `${entry.method} ${entry.path}${query}`;
  const outcome = `${entry.status ?? "no answer"}${effectText(entry)}${fault}`;
  return printable(`${new Date(entry.at).toISOString()}  ${request}  ${outcome}`);
}

async function readSwitches(file: string | undefined): Promise<SandboxOptionsPatch> {
  if (file === undefined) return {};
  try {
    return mergeOptions(defaultOptions(), JSON.parse(await readFile(file, "utf8")));
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** Serves until the signal and generates orders meanwhile. Rejects where the port is in use or a switch is invalid. */
export async function runSandbox(run: RunSandboxOptions): Promise<void> {
  const random = seededRandom(run.seed);
  const sandbox = await startSandbox({
    options: await readSwitches(run.switchesFile),
    clientId: run.clientId,
    clientSecret: run.clientSecret,
    port: run.port,
    random,
    control: true,
    limit: LEDGER_ENTRIES,
    onEntry: (entry) => run.log(entryLine(entry)),
  });
  run.log(
    `serving on ${sandbox.url} for client ${run.clientId}; faults and orders by hand under ${sandbox.url}/_sandbox/`,
  );
  const stopOrders = startLiveOrders({ service: sandbox.service, random, perMinute: run.ordersPerMinute });
  if (!run.signal.aborted) {
    await new Promise<void>((resolve) => run.signal.addEventListener("abort", () => resolve(), { once: true }));
  }
  stopOrders();
  await sandbox.close();
}
