import { openDatabase } from "../daemon.ts";
import { describeStatus } from "../domain/status.ts";
import { jsonLine } from "../platform/terminal.ts";
import { isLocked } from "../store/instance-lock.ts";
import { loadStatusFacts } from "../store/status.ts";
import { type Command, load, requireDatabase } from "./command.ts";

/** Is all well? One sentence, then a line a flow. */
export const status: Command = (call) => {
  const loaded = load(call);
  requireDatabase(loaded);
  const store = openDatabase(loaded, "readonly");
  try {
    const facts = loadStatusFacts(store);
    const now = { nowMs: Date.now(), isRunning: isLocked(loaded.config.database.path) !== undefined };
    const report = describeStatus(facts, now, { erpReadWithinMs: loaded.config.erp.read_within });
    if (call.json) {
      const { flows, holds } = facts;
      call.terminal.out(jsonLine({ ok: report.exitCode === 0, running: now.isRunning, ...report, flows, holds }));
      return report.exitCode;
    }
    call.terminal.out(report.sentence);
    for (const line of report.attention.slice(1)) call.terminal.out(`! ${line}`);
    for (const flow of facts.flows.filter(({ enabled }) => enabled)) {
      call.terminal.out(`  ${flow.flow.padEnd(10)} ${flow.sentence}`);
    }
    for (const hold of facts.holds)
      if (hold.detail !== null) call.terminal.out(`  hold: ${hold.area} (${hold.reason}): ${hold.detail}`);
    if (facts.acceptedByStatusOnly.length > 0) {
      call.terminal.out(`  ${facts.acceptedByStatusOnly.join(", ")}: accepted by status code only.`);
    }
    return report.exitCode;
  } finally {
    store.close();
  }
};
