import { refuseOtherAccount } from "../daemon/account.ts";
import { type RemapReport, remap } from "../daemon/repair.ts";
import { countOrders } from "../health/work-left.ts";
import { shortWords } from "../messages/inert-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { ColumnChange } from "../orders/remap-order.ts";
import { systemClock } from "../platform/clock.ts";
import { EXIT } from "../platform/errors.ts";
import { createTerminalLog } from "../platform/logger.ts";
import { type Call, load, readExisting } from "./command.ts";
import { openExisting } from "./open-existing.ts";
import { withProgress } from "./progress.ts";
import { interruption } from "./signals.ts";
import { jsonLine } from "./terminal.ts";

const CHANGES_SHOWN = 4;

/** Derives columns and lines of all stored orders again from their payloads, without any request. */
export const remapCommand = withProgress<{ dryRun?: boolean }>(async (call, { dryRun = false }) => {
  const loaded = await load(call);
  using store = dryRun ? readExisting(loaded) : openExisting(loaded);
  using stop = interruption();
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
});

function show({ json, terminal }: Call, report: RemapReport, dryRun: boolean): void {
  if (json) {
    terminal.out(jsonLine({ dryRun, ...report }));
    return;
  }
  const { orders, changed, unreadable, released, held } = report;
  const looked = { orders, changed, unreadable };
  terminal.out(dryRun ? m.remap.wouldChange(looked) : m.remap.changed(looked));
  if (released + held > 0) {
    terminal.out(dryRun ? m.remap.wouldRelease({ released, held }) : m.remap.released({ released, held }));
  }
  for (const { orderId, number, changes } of report.firstChanged) {
    const parts: (Message | string)[] = changes.slice(0, CHANGES_SHOWN).map(changeText);
    if (changes.length > CHANGES_SHOWN) parts.push(m.config.more({ count: changes.length - CHANGES_SHOWN }));
    const text = m.common.about({ subject: nameOf(orderId, number), text: m.common.joined({ parts }) });
    terminal.out(m.common.indented({ text }));
  }
  const rest = changed - report.firstChanged.length;
  if (rest > 0) terminal.out(m.common.indented({ text: m.config.more({ count: rest }) }));
  for (const { orderId, number, reason } of report.firstUnreadable) {
    terminal.out(m.remap.problem({ text: m.common.about({ subject: nameOf(orderId, number), text: reason }) }));
  }
  const unnamed = unreadable - report.firstUnreadable.length;
  if (unnamed > 0) terminal.out(m.remap.problem({ text: m.config.more({ count: unnamed }) }));
}

function nameOf(orderId: string, number: string | null): string {
  return number === null ? orderId : `${shortWords(number)} (${orderId})`;
}

function changeText({ column, was, is }: ColumnChange): Message {
  return m.remap.change({ column, was: shownValue(was), is: shownValue(is) });
}

function shownValue(value: string | null): Message | string {
  return value === null ? m.sync.nothing : shortWords(value);
}
