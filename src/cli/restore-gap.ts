/*
 * Describes what a restore could not bring back. Pure.
 */
import type { CopyFacts, Replaced } from "../backup/examine.ts";
import type { CarryReport } from "../backup/rows.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { JournalReport } from "./restore-journal.ts";

const OPEN_GAP_CHARACTERS = 1_000;

interface Gap {
  copy: CopyFacts;
  replaced: Replaced;
  report: CarryReport;
  lack: readonly Message[];
  journal: JournalReport;
  /** The text of an earlier gap that is still open. */
  open: Message | null;
  at: string;
  /** The bridge's own tables came over completely. */
  hasOurs: boolean;
}

export function describeGap({ copy, replaced, report, lack, journal, open, at, hasOurs }: Gap): Message {
  const from = copy.copiedAt ?? m.restore.unknownTime;
  const parts: Message[] = [m.restore.restoredAt({ at, from })];
  const areOrdersWhole = hasOurs && journal.damaged === 0;
  if (areOrdersWhole) parts.push(m.restore.ordersWhole);
  else if (replaced.state === "gone") parts.push(m.restore.replaced({ why: replaced.why }));
  else if (!replaced.continues) parts.push(m.restore.replacedForeign);
  else if (lack.length === 0) parts.push(m.restore.replacedPartly);
  parts.push(...lack);
  if (!areOrdersWhole) parts.push(m.restore.ordersMissing({ from, at }));
  if (journal.isOther) parts.push(m.restore.journalUnseen);
  if (journal.batches > 0) parts.push(m.restore.journalBrought({ batches: journal.batches, orders: journal.orders }));
  if (journal.damaged > 0) parts.push(m.restore.entriesDamaged({ entries: journal.damaged, orders: journal.read }));
  const { length } = report.damagedOrders;
  if (length > 0) parts.push(m.restore.ordersUnread({ count: length }));
  if (report.damaged.size > 0) parts.push(m.restore.tablesUnread({ tables: [...report.damaged].sort() }));
  if (open !== null) parts.push(m.restore.openBefore({ text: gapAlone(open) }));
  const steps = areOrdersWhole && open === null ? m.restore.erpObjectsOld : m.restore.erpTablesOld;
  return m.restore.gapAndSteps({ gap: m.common.sentences({ parts }), steps });
}

/** An earlier gap without its steps, which are listed once. */
function gapAlone(open: Message): Message {
  const gap = open.id === "restore.gapAndSteps" ? (open.params["gap"] as Message) : open;
  const text = String(gap);
  return text.length <= OPEN_GAP_CHARACTERS ? gap : m.common.foreign({ text: text.slice(0, OPEN_GAP_CHARACTERS) });
}
