// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits hold source text, template strings included

/* Guards of the files, and of what starts and restores conclude from them, each left out once. */
import { direct, type PlantedBug } from "./bug.ts";

const STORE = "src/database/store.ts";
const FILES = "src/database/store-files.ts";
const LOG_CHECK = "src/database/log/log-check.ts";
const PROGRESS = "src/database/log/progress.ts";
const LACK = "src/backup/find-lack.ts";
const RESTORE = "src/cli/restore-bridge.ts";

const OF_FILES: readonly PlantedBug[] = [
  direct("emptied log", "an emptied log is no cut one", LOG_CHECK, [
    "if (header.length < HEADER_BYTES || (header.readUInt32BE(0) & ~1) !== MAGIC) return true;",
    "if (header.length < HEADER_BYTES || (header.readUInt32BE(0) & ~1) !== MAGIC) return false;",
  ]),
  direct("torn log", "a log that ends in its last frame is no cut one", LOG_CHECK, [
    "    if (this.#log.size() < HEADER_BYTES + frames * frameBytes) return true;\n",
    "",
  ]),
  direct("log with a hole", "a hole in the log is no cut", LOG_CHECK, [
    "if (own.readUInt32BE(0) === 0 || ownSalts !== salts) return true;",
    "if (ownSalts === own.toString()) return true;",
  ]),
  direct("emptied log", "a commit beside a log that was cut", FILES, [
    "return this.#keeper?.isCut() === true || this.#isOverwritten();",
    "return this.#isOverwritten();",
  ]),
  direct("overwritten database", "a commit into an overwritten database", FILES, [
    "return this.#keeper?.isCut() === true || this.#isOverwritten();",
    "return this.#keeper?.isCut() === true;",
  ]),
  direct("overwritten database", "pages that nobody moved are no damage", "src/database/file/database-check.ts", [
    "if (!isMovedBetween(this.#known.moved, after) && now.pages !== this.#known.pages) return true;",
    "",
  ]),
  direct("foreign journal", "a foreign journal keeps nobody out", STORE, [
    "      if (journalSince(this.path) !== undefined) throw foreignJournalError(this.path);\n",
    "",
  ]),
  direct("foreign journal", "a foreign journal is never seen", "src/database/file/foreign-journal.ts", [
    "return stat === undefined || stat.size === 0 ? undefined : stat.ctime.toISOString();",
    "return stat?.size === -1 ? stat.ctime.toISOString() : undefined;",
  ]),
  direct("unclean end", "a database that was left unclean is trusted", "src/database/open.ts", [
    "(isWrittenAfterLog(file) || (isSmall && isLogLeft(file)))",
    "(isWrittenAfterLog(file) || (isSmall && size === -1))",
  ]),
  direct("own trouble", "what the daemon meets is forgotten", STORE, [
    '      if (error !== thrown) this.noteTrouble("write", error);\n',
    "",
  ]),
  direct("own trouble", "what the daemon meets is not said", "src/health/conditions.ts", [
    "  if (met !== undefined) {\n",
    '  if (met?.code === "internal") {\n',
  ]),
  direct("copy of nothing", "a copy of nothing counts", "src/backup/save-unlinked.ts", [
    "if ((await store.db.backup(partial)).totalPages === 0) return undefined;",
    "await store.db.backup(partial);",
  ]),
];

const OF_PROGRESS: readonly PlantedBug[] = [
  direct("note before a confirm", "how far it is stands nowhere before a confirm", STORE, [
    "this.files?.secure();\n      this.progress?.save();\n",
    "this.files?.secure();",
  ]),
  direct("lost order", "an order that is gone is not behind", PROGRESS, [
    "return own.lacksRow === true || own.batches",
    "return own.batches",
  ]),
  direct("lost events", "events that are gone are not behind", PROGRESS, [" || own.events < note.events;", ";"]),
  direct("another database", "another database has nothing to be behind", "src/database/log/progress-check.ts", [
    "if (isAnother || (own !== undefined && isBehind(own, last))) {",
    "if (own !== undefined && isBehind(own, last)) {",
  ]),
];

const OF_STORED: readonly PlantedBug[] = [
  direct("swallowing trigger", "a commit beside a trigger that swallows", "src/pass/commit.ts", [
    "        objects?.refuseSwallowing();\n        return done;",
    "        return done;",
  ]),
  direct("same body", "a longer body is the same", "src/batches/keep-body.ts", [
    "  return at === other.length;",
    "  return at <= other.length;",
  ]),
  direct("open body", "parts that are being written are removed", "src/database/body-parts.ts", [
    "AND p.body_id NOT IN (SELECT value FROM json_each(?)) LIMIT ?",
    "AND json_valid(?) LIMIT ?",
  ]),
];

const OF_RESTORE: readonly PlantedBug[] = [
  direct("restore onto damage", "a restore trusts a damaged file", "src/backup/examine.ts", [
    "return { damage: problems.length === 0 ? undefined : ",
    "return { damage: problems.length >= 0 ? undefined : ",
  ]),
  direct("restore onto damage", "a restore ignores what it verified", LACK, [
    "const words = replaced.damage === undefined ? [] : [damaged(replaced.damage)];",
    "const words: string[] = [];",
  ]),
  direct("restore onto an earlier copy", "a restore trusts an earlier copy", LACK, [
    "if (isBehind(own, note) || lacksNoted(progressOf(result.db, note), note))",
    'if (isBehind({ ...own, mark: "settled" }, note))',
  ]),
  direct("restore beside no note", "a restore needs no note", LACK, [
    "if (isUnnoted(own, note))",
    "if (own === undefined)",
  ]),
  direct("restore onto lost orders", "a restore drops history without a word", LACK, [
    "if (nameless > 0) words.push(",
    "if (nameless < 0) words.push(",
  ]),
  direct("restore onto lost events", "a restore overlooks numbers that were given", LACK, [
    "return newest > 0n && missing > 0n &&",
    "return newest < 0n && missing > 0n &&",
  ]),
  direct("restore onto a former version's", "a restore overlooks batches without their orders", LACK, [
    "if (orders > 0) words.push(",
    "if (orders < 0) words.push(",
  ]),
  direct("restore beside an open gap", "a restore lifts what nobody has answered", RESTORE, [
    "const gap = isWhole ? open :",
    "const gap = isWhole ? null :",
  ]),
];

export const GUARD_BUGS: readonly PlantedBug[] = [...OF_FILES, ...OF_PROGRESS, ...OF_STORED, ...OF_RESTORE];
