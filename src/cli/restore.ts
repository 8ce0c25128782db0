import path from "node:path";
import { MIGRATIONS_FOLDER } from "../database/migrate.ts";
import { counted, describeCounts } from "../messages/counted.ts";
import { systemClock } from "../platform/clock.ts";
import { BridgeError, EXIT } from "../platform/errors.ts";
import { createTerminalLog } from "../platform/logger.ts";
import { type Call, type Command, load } from "./command.ts";
import { type RestorePlan, type RestoreReport, restoreDatabase } from "./restore-bridge.ts";
import { jsonLine } from "./terminal.ts";

/** Puts a copy in the database's place and brings over what it lacks. The daemon must not be running. */
export const restore: Command<{ file: string; yes?: boolean }> = async (call, { file, yes }) => {
  const loaded = load(call);
  const isAsking = yes !== true;
  if (isAsking && call.terminal.input?.isInteractive !== true) {
    throw new BridgeError("usage", "restore replaces the database, and nobody can be asked here.", {
      hint: "Say so with --yes.",
    });
  }
  const report = await restoreDatabase({
    loaded,
    file: path.resolve(file),
    migrationsFolder: MIGRATIONS_FOLDER,
    clock: systemClock,
    log: createTerminalLog(loaded.config, call.terminal),
    // Without a terminal a line for each step stays: it says how far a restore came that was broken off.
    onStep: (words) => {
      if (!call.progress.announce(words)) call.terminal.err(`${words}…`);
    },
    agree: async (plan) => {
      for (const line of describePlan(plan)) call.terminal.err(line);
      return !isAsking || isYes(await call.terminal.input?.ask("Go on? [y/N] "));
    },
  });
  if (report === undefined) {
    call.terminal.err("Nothing was changed.");
    return EXIT.failed;
  }
  tell(call, report);
  return report.gap === null ? EXIT.ok : EXIT.attention;
};

function isYes(answer: string | undefined): boolean {
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}

function describePlan({ copy, database, replaced }: RestorePlan): string[] {
  const lines = [
    `The copy shows ${copy.copiedAt ?? "an unknown time"}: ${counted(copy.orders, "order")}, the last received ${copy.lastOrderAt ?? "never"}.`,
  ];
  if (replaced.state === "gone") {
    lines.push(
      `${database} ${replaced.why}: what was received since the copy is not brought back, except from a journal.`,
    );
  } else {
    const orders = replaced.orders === null ? "cannot be read in full" : `has ${counted(replaced.orders, "order")}`;
    lines.push(
      `${database} ${orders}, last written ${replaced.activeAt ?? "at an unknown time"}; it is kept under another name.`,
    );
    if (replaced.damage !== null)
      lines.push(`${database} is damaged (${replaced.damage}): something of it may be missing.`);
    lines.push(
      replaced.continues
        ? "What the copy lacks is brought over from it, the ERP's tables as they are there."
        : "It was not made from the one that was copied: only what the copy lacks is brought over from it.",
    );
  }
  return lines;
}

function tell({ json, terminal }: Call, report: RestoreReport): void {
  if (json) {
    terminal.out(jsonLine(report));
    return;
  }
  terminal.out(`${report.database} was restored from the copy of ${report.copiedAt ?? "an unknown time"}.`);
  if (report.replaced !== null) terminal.out(`The replaced database is ${report.replaced}.`);
  const carried = describeCounts(report.carried);
  if (Object.keys(report.carried).length > 0) terminal.out(`Brought over from it: ${carried}.`);
  const { batches, orders, unread, torn } = report.journal;
  if (batches + unread > 0)
    terminal.out(
      `From the journal: ${counted(batches, "batch", "batches")} with ${counted(orders, "new order")}${unread > 0 ? `, ${unread} that cannot be read yet` : ""}.`,
    );
  if (torn > 0)
    terminal.out(
      `${counted(torn, "journal file")} with an unfinished entry at the end; its batch was never confirmed.`,
    );
  for (const note of report.notes) terminal.out(note);
  if (report.gap === null) terminal.out("Nothing is missing. Start the daemon: systemctl start erp-bridge");
  else terminal.out(`! ${report.gap}`);
  terminal.out("Programs that had the database open, such as the ERP, must open it again.");
}
