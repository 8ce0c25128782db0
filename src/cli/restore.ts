import path from "node:path";
import { MIGRATIONS_FOLDER } from "../database/migrations.ts";
import { describeCounts } from "../messages/describe-counts.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { systemClock } from "../platform/clock.ts";
import { BridgeError, EXIT } from "../platform/errors.ts";
import { createTerminalLog } from "../platform/logger.ts";
import { asTyped } from "./call.ts";
import { type Call, isYes, load } from "./command.ts";
import { withProgress } from "./progress.ts";
import { type RestorePlan, type RestoreReport, restoreDatabase } from "./restore-bridge.ts";
import { jsonLine } from "./terminal.ts";

/** Puts a copy in the database's place and brings over what it lacks. The daemon must not be running. */
export const restore = withProgress<{ file: string; yes?: boolean }>(async (call, { file, yes }) => {
  const loaded = await load(call);
  const isAsking = yes !== true;
  if (isAsking && call.terminal.input?.isInteractive !== true) {
    throw new BridgeError("usage", m.restore.nobodyToAsk, { hint: m.restore.sayYes });
  }
  const report = await restoreDatabase({
    loaded,
    file: path.resolve(file),
    migrationsFolder: MIGRATIONS_FOLDER,
    clock: systemClock,
    log: createTerminalLog(loaded.config, call.terminal),
    // Without a terminal each step is written as a line, so that the output shows how far an interrupted restore came.
    onStep: (what) => {
      if (!call.progress.announce(what)) call.terminal.err(m.progress.step({ what }));
    },
    agree: async (plan) => {
      for (const line of describePlan(plan)) call.terminal.err(line);
      return !isAsking || isYes(await call.terminal.input?.ask(m.restore.goOn));
    },
  });
  if (report === undefined) {
    call.terminal.err(m.restore.nothingChanged);
    return EXIT.failed;
  }
  printReport(call, report);
  return report.gap === null ? EXIT.ok : EXIT.attention;
});

function describePlan({ copy, database, replaced, newer }: RestorePlan): Message[] {
  const lines: Message[] = [
    m.restore.copyShows({
      at: copy.copiedAt ?? m.restore.unknownTime,
      orders: copy.orders,
      last: copy.lastOrderAt ?? m.restore.never,
    }),
  ];
  if (replaced.state === "gone") {
    lines.push(m.restore.replacesGone({ database, why: replaced.why }));
  } else {
    const orders =
      replaced.orders === null ? m.restore.notReadInFull : m.restore.hasOrders({ orders: replaced.orders });
    lines.push(m.restore.replacedKept({ database, orders, at: replaced.activeAt ?? m.restore.atUnknownTime }));
    if (replaced.damage !== null) lines.push(m.restore.replacedDamaged({ database, damage: replaced.damage }));
    lines.push(replaced.continues ? m.restore.carriesOver : m.restore.carriesLack);
  }
  if (newer !== undefined) lines.push(m.restore.newerCopy({ file: newer }));
  return lines;
}

function printReport(call: Call, report: RestoreReport): void {
  const { json, terminal } = call;
  if (json) {
    terminal.out(jsonLine(report));
    return;
  }
  const { database, copiedAt } = report;
  terminal.out(m.restore.restored({ database, at: copiedAt ?? m.restore.unknownTime }));
  if (report.replaced !== null) terminal.out(m.restore.replacedIs({ replaced: report.replaced }));
  const carried = describeCounts(report.carried);
  if (Object.keys(report.carried).length > 0) terminal.out(m.restore.broughtOver({ carried }));
  const { batches, orders, unread, torn, named } = report.journal;
  if (unread > 0) terminal.out(m.restore.journalPartly({ batches, orders, unread }));
  else if (batches > 0) terminal.out(m.restore.fromJournal({ batches, orders }));
  if (named > 0) terminal.out(m.restore.journalNamed({ orders: named }));
  if (torn > 0) terminal.out(m.restore.tornFiles({ torn }));
  for (const note of report.notes) terminal.out(note);
  if (report.gap === null) terminal.out(m.restore.complete({ command: asTyped("systemctl start erp-bridge", call) }));
  else terminal.out(m.restore.gap({ gap: report.gap }));
  terminal.out(m.restore.reopen);
}
