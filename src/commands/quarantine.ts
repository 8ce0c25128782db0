import { openDatabase } from "../daemon.ts";
import { EXIT } from "../domain/errors.ts";
import { shortWords } from "../domain/service-error.ts";
import { jsonLine } from "../platform/terminal.ts";
import { loadQuarantine } from "../store/quarantine.ts";
import { type Command, load, requireDatabase } from "./command.ts";

const SHOWN_MAX = 1_000;

/** Records that could not be used, with the reason. */
export const quarantineList: Command = (call) => {
  const loaded = load(call);
  requireDatabase(loaded);
  const store = openDatabase(loaded, "readonly");
  try {
    const rows = loadQuarantine(store, SHOWN_MAX);
    if (call.json) {
      call.terminal.out(jsonLine({ records: rows }));
    } else if (rows.length === 0) {
      call.terminal.out("Nothing is in quarantine.");
    } else {
      for (const row of rows) {
        const reference = row.reference === null ? "" : ` ${shortWords(row.reference)}`;
        call.terminal.out(
          `${row.id}  ${row.kind}${reference}: ${shortWords(row.reason)} (since ${row.firstSeenAt}, seen ${row.times}×)`,
        );
      }
    }
    return rows.length === 0 ? EXIT.ok : EXIT.attention;
  } finally {
    store.close();
  }
};
