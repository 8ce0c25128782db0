/*
 * Restores batches from the journal. Makes no request.
 */
import { existsSync } from "node:fs";
import { type FoundDamage, settleDamaged } from "../backup/damaged-entries.ts";
import { readJournal } from "../backup/journal-files.ts";
import { readMark } from "../backup/journal-mark.ts";
import { type Replayed, ReplayJournal } from "../backup/replay-journal.ts";
import type { CarryReport } from "../backup/rows.ts";
import { knownMark } from "../batches/journal-batches.ts";
import { ownerOf } from "../daemon/account.ts";
import { orderRulesOf } from "../daemon/build-jobs.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { createClient } from "../pass/build-client.ts";
import { isForeign } from "../platform/owner.ts";
import { isoTime } from "../platform/ports.ts";
import type { RestoreOptions } from "./restore-bridge.ts";

/**
 * `torn`: incomplete last entries; `damaged`: other unreadable entries, whose batches may have been confirmed; `read`:
 * orders recovered from those.
 */
export interface JournalReport extends Replayed {
  torn: number;
  damaged: number;
  read: number;
  /** The folder is not the one that the journal was written to. */
  isOther: boolean;
}

/** Stores the batches that were received after the copy and that neither file has. */
export async function replayJournal(
  options: Pick<RestoreOptions, "loaded" | "clock" | "log" | "onStep"> & { store: Store },
  report: CarryReport,
): Promise<JournalReport> {
  const { loaded, store, clock, log } = options;
  const folder = loaded.config.backup.journal;
  const totals = { batches: 0, orders: 0, unread: 0, named: 0, torn: 0, damaged: 0, read: 0, isOther: false };
  if (folder === null) return totals;
  const known = knownMark(store, folder);
  const isOther = known !== undefined && readMark(folder) !== known;
  if (isOther) report.notes.push(m.restore.journalOther({ folder }));
  if (!existsSync(folder)) return { ...totals, isOther };
  options.onStep(m.restore.readingJournal);
  const client = createClient({ loaded, clock, admit: undefined });
  const { signal } = new AbortController();
  const owner = ownerOf(store, loaded);
  const rules = orderRulesOf(loaded);
  const foreign = new Set<string>();
  try {
    const job = new ReplayJournal({ store, client, clock, log, isStopping: () => false }, rules);
    const damaged: FoundDamage[] = [];
    let newest = "";
    for (const { file, startedMs, entries, damaged: parts } of readJournal(folder)) {
      newest = file;
      damaged.push(...parts.map((part) => ({ ...part, file, at: part.note?.receivedAt ?? isoTime(startedMs) })));
      for (const entry of entries) {
        if (isForeign({ account: entry.note.account, database: entry.note.database }, owner)) foreign.add(file);
        else await job.store(entry, signal);
      }
    }
    job.queueNamed();
    const found = settleDamaged(store, damaged, { newest, owner, rules, at: isoTime(clock.nowMs()) });
    report.notes.push(...found.notes);
    if (foreign.size > 0) report.notes.push(m.restore.journalForeign({ files: [...foreign] }));
    const { torn, read } = found;
    return { ...job.replayed, torn, damaged: found.notes.length, read, isOther };
  } finally {
    await client.close();
  }
}
