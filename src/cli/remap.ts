import { refuseOtherAccount } from "../daemon/account.ts";
import { type RemapReport, remap } from "../daemon/repair.ts";
import { countOrders } from "../health/work-left.ts";
import { counted } from "../messages/counted.ts";
import type { ColumnChange } from "../orders/remap-order.ts";
import { openDatabase } from "../pass/open-database.ts";
import { systemClock } from "../platform/clock.ts";
import { EXIT } from "../platform/errors.ts";
import { createTerminalLog } from "../platform/logger.ts";
import { shortWords } from "../service/service-error.ts";
import { type Call, type Command, load, requireDatabase } from "./command.ts";
import { jsonLine } from "./terminal.ts";

const CHANGES_SHOWN = 4;

/** Derives columns and lines of all stored orders again from their payloads, without asking the service. */
export const remapCommand: Command<{ dryRun?: boolean }> = async (call, { dryRun = false }) => {
  const loaded = load(call);
  requireDatabase(loaded);
  const store = openDatabase(loaded, dryRun ? "readonly" : "command");
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  try {
    refuseOtherAccount(store, loaded);
    const total = countOrders(store);
    const report = await remap(store, loaded, {
      dryRun,
      clock: systemClock,
      log: createTerminalLog(loaded.config, call.terminal),
      signal: stop.signal,
      onProgress: ({ orders }) => call.progress.show({ what: "remap", unit: "orders", done: orders, total }),
    });
    call.progress.end();
    show(call, report, dryRun);
    return report.unreadable + report.held > 0 ? EXIT.attention : EXIT.ok;
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
    store.close();
  }
};

function show({ json, terminal }: Call, report: RemapReport, dryRun: boolean): void {
  if (json) {
    terminal.out(jsonLine({ dryRun, ...report }));
    return;
  }
  const would = dryRun ? "would " : "";
  terminal.out(
    `${counted(report.orders, "order")} looked at: ${report.changed} ${dryRun ? "would change" : "changed"}, ` +
      `${report.unreadable} cannot be read with this mapping and ${would}stay as they are.`,
  );
  if (report.released + report.held > 0) {
    terminal.out(
      `${counted(report.released, "quarantined record")} ${dryRun ? "would be released" : "released"}, ${report.held} ${would}stay.`,
    );
  }
  for (const { orderId, number, changes } of report.firstChanged) {
    const more = changes.length > CHANGES_SHOWN ? `; and ${changes.length - CHANGES_SHOWN} more` : "";
    terminal.out(`  ${nameOf(orderId, number)}: ${changes.slice(0, CHANGES_SHOWN).map(changeText).join("; ")}${more}`);
  }
  if (report.changed > report.firstChanged.length)
    terminal.out(`  and ${report.changed - report.firstChanged.length} more`);
  for (const { orderId, number, reason } of report.firstUnreadable) {
    terminal.out(`! ${nameOf(orderId, number)}: ${shortWords(reason)}`);
  }
  if (report.unreadable > report.firstUnreadable.length) {
    terminal.out(`! and ${report.unreadable - report.firstUnreadable.length} more`);
  }
}

function nameOf(orderId: string, number: string | null): string {
  return number === null ? orderId : `${shortWords(number)} (${orderId})`;
}

function changeText({ column, was, is }: ColumnChange): string {
  return `${column}: ${valueText(was)} → ${valueText(is)}`;
}

function valueText(value: string | null): string {
  return value === null ? "nothing" : shortWords(value);
}
