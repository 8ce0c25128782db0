import { diffJson } from "../answers/json-value.ts";
import type { LoadedConfig } from "../config/load.ts";
import { refuseOtherAccount } from "../daemon/account.ts";
import type { Store } from "../database/store.ts";
import { inertText, shortWords } from "../messages/inert-text.ts";
import type { Say } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { loadHolds } from "../pass/hold-rows.ts";
import type { JobName } from "../pass/job-names.ts";
import { EXIT, type ExitCode } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { type Call, readExisting } from "./command.ts";
import { countWouldBeGuarded, type PreviewRow, previewSends, proveSourceOf } from "./preview.ts";
import type { LongCall } from "./progress.ts";
import { JSON_VERSION } from "./terminal.ts";

interface Asked {
  names: readonly JobName[];
  /** The only key to show. */
  only: string | undefined;
}

/**
 * Shows what a sync would send: key, old, new and why. Makes no request and writes nothing; prints rows as they are
 * found.
 */
export async function previewSync(call: LongCall, loaded: LoadedConfig, { names, only }: Asked): Promise<ExitCode> {
  using store = readExisting(loaded);
  refuseOtherAccount(store, loaded);
  const { out, say = String } = call.terminal;
  let count = 0;
  if (call.json) out(`{"version":${JSON_VERSION},"rows":[`);
  for (const job of names) {
    const now = isoTime(Date.now());
    const drops = new Map<string, number>();
    let done = 0;
    const onRow = () => {
      done += 1;
      call.progress.show({ what: job, unit: "rowsCompared", done });
    };
    await proveSourceOf(loaded, job);
    for (const row of previewSends(store, loaded, job, onRow)) {
      const at = row.droppedAt ?? now;
      if (row.isDrop) drops.set(at, (drops.get(at) ?? 0) + 1);
      if (only !== undefined && row.key !== only) continue;
      out(call.json ? `${count === 0 ? "" : ","}${jsonOf(job, row)}` : lineOf(job, row, say), "as it is");
      count += 1;
    }
    reportHolds(call, store, job, countWouldBeGuarded(store, loaded, job, drops));
  }
  if (call.json) out("]}");
  else if (count === 0) out(m.sync.nothingToSend);
  return EXIT.ok;
}

function reportHolds({ terminal }: Call, store: Store, job: JobName, guarded: number): void {
  for (const { area, reason } of loadHolds(store)) {
    if (area !== job) continue;
    terminal.err(m.sync.heldNow({ job, reason }));
  }
  if (guarded > 0) terminal.err(m.sync.guardWouldHold({ job, rows: guarded }));
}

function jsonOf(job: JobName, { key, old, new: next, why }: PreviewRow): string {
  const parts = [
    `"job":${JSON.stringify(job)}`,
    `"key":${JSON.stringify(key)}`,
    `"old":${old ?? "null"}`,
    `"new":${next ?? "null"}`,
    `"why":${JSON.stringify(why)}`,
  ];
  return inertText(`{${parts.join(",")}}`);
}

function lineOf(job: JobName, row: PreviewRow, say: Say): string {
  return `${job}  ${shortWords(row.key)}  ${changeOf(row, say)}  ${shortWords(say(row.why))}`;
}

/** Only the differences, where both sides are known. */
function changeOf({ old, new: next }: PreviewRow, say: Say): string {
  if (next === null) return "–";
  if (old === null) return `→ ${shortWords(next)}`;
  const changes = diffJson(old, next).map(({ path, was, is }) => {
    const name = path.replace(/^\$\.?/, "");
    return `${name}${name === "" ? "" : ": "}${was ?? say(m.sync.nothing)} → ${is ?? say(m.sync.nothing)}`;
  });
  return changes.length === 0 ? say(m.sync.again({ record: shortWords(next) })) : shortWords(changes.join(", "));
}
