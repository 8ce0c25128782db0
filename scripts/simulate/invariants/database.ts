/* What is shown of foreign data is one line and no secret. The file itself: sound, durable on every connection, and with the ERP's own columns as the ERP wrote them. */

import { inspect } from "node:util";
import type Database from "better-sqlite3";
import { stringify } from "yaml";
import { parseConfig } from "../../../src/config/load.ts";
import { showConfig } from "../../../src/config/show.ts";
import { measureAges } from "../../../src/health/conditions.ts";
import { loadFacts } from "../../../src/health/fact-rows.ts";
import { describeStatus } from "../../../src/health/status.ts";
import { asError } from "../../../src/platform/errors.ts";
import { CREDENTIALS } from "../configurations.ts";
import { NIL } from "../deeds.ts";
import { REFERRING } from "../erp.ts";
import type { ProgramLife } from "../life.ts";
import type { Scene } from "../scene.ts";
import type { Deed } from "../schedule.ts";
import { mistyped, PASSWORD } from "../slips.ts";

/** Written by every pass, or when only time has passed. */
const BOOKKEEPING = new Set([
  "owed_reads",
  "later_reads",
  "repeat_reads",
  "first_looks",
  "runs",
  "stored_messages",
  "learned_answers",
  "flows",
  "watermarks",
  "holds",
  "sync_requests",
  "meta",
  "pull_mark",
  "observations",
]);

/** Orders that the ERP has not taken according to its marks, compared with those it is shown. */
const MISQUEUED = `SELECT o.order_id FROM orders o LEFT JOIN erp_orders e USING (order_id) LEFT JOIN orders_pending p USING (order_id)
  WHERE (p.order_id IS NOT NULL) <> (o.erp_revision > coalesce(e.seen_revision, 0))`;

/** Foreign keys of the ERP to columns that are not unique cannot be checked. */
const UNCLEAN = `SELECT 1 FROM sqlite_schema s, pragma_foreign_key_check(s.name) WHERE s.type = 'table' AND s.name <> '${REFERRING}'`;

/** Orders without an id may share the nil UUID; a value in braces is no id either, nor is that of another order. Each such record is kept. */
const DOUBLED = `SELECT kind || ' ' || reference FROM quarantine
  WHERE state = 'held' AND kind IN ('order', 'change', 'snapshot') AND reference IS NOT NULL AND reference NOT LIKE '%${NIL}%'
    AND NOT (kind IN ('order', 'change') AND (reference LIKE '{%' OR reference LIKE '% %'))
  GROUP BY kind, reference HAVING count(*) > 1`;

const TABLES =
  "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '__*' AND name NOT GLOB 'sqlite_*'";

/** Learned words have other letters and digits. */
const REPEATED = new RegExp(CREDENTIALS.clientSecret.replace(/[^a-z]+/g, ".{0,2}"), "i");

/** What moves the cursor, begins a line or changes the direction of a text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const NO_LINE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

export class DatabaseInvariants {
  readonly #scene: Scene;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  onStart(db: Database.Database): void {
    const synchronous = db.pragma("synchronous", { simple: true });
    if (synchronous !== 2) this.#scene.fail(13, `synchronous is ${synchronous}`);
    const mode = db.pragma("journal_mode", { simple: true });
    if (mode !== "wal") this.#scene.fail(13, `journal_mode is ${mode}`);
  }

  /** A bad record of an order is held once, however it changes. */
  checkHeld(): void {
    const doubled = this.#scene.auditor.prepare(DOUBLED).pluck().all() as string[];
    if (doubled.length > 0) this.#scene.fail(18, `held more than once: ${doubled.join(", ")}`);
  }

  /** Each condition of `status` is one line, whatever the ERP and the service call what it names. */
  checkLines({ store, context }: ProgramLife): void {
    const nowMs = context.clock.nowMs();
    const facts = measureAges(loadFacts(store), { nowMs, startedAtMs: nowMs });
    for (const language of ["en", "ru"] as const) {
      const { sentence, conditions } = describeStatus(
        facts,
        { nowMs, isRunning: true },
        { erpReadWithinMs: 0 },
        language,
      );
      const texts = [sentence, ...conditions.flatMap(({ text, next, command }) => [text, next, command ?? ""])];
      for (const text of texts)
        if (NO_LINE.test(text)) this.#scene.fail(13, `status shows more than a line: ${JSON.stringify(text)}`);
    }
  }

  /** Whether the address is refused or not, its password is shown nowhere. */
  checkMistyped({ key, slip }: Extract<Deed, { do: "mistype" }>): void {
    const shown: string[] = [];
    try {
      const loaded = parseConfig({ text: stringify(mistyped(key, slip)), file: "/srv/config.yaml", env: {} });
      shown.push(showConfig(loaded), ...loaded.warnings.map(String));
    } catch (error) {
      shown.push(String(asError(error).text), inspect(error, { depth: 20 }));
    }
    for (const text of shown)
      if (text.includes(PASSWORD))
        this.#scene.fail(13, `${key} with ${slip} shows its password: ${text.slice(0, 300)}`);
  }

  /** A secret repeated by the service is in no log, in any spelling. */
  checkLine(line: string): void {
    if (REPEATED.test(line)) this.#scene.fail(13, `the secret is logged: ${line}`);
  }

  /** Nor in the file. */
  #checkSecret(): void {
    const { auditor, fail } = this.#scene;
    for (const name of auditor.prepare(TABLES).pluck().all() as string[])
      for (const row of auditor.prepare(`SELECT * FROM "${name}"`).raw().iterate() as Iterable<unknown[]>) {
        const text = row.map((value) => (Buffer.isBuffer(value) ? value.toString("latin1") : String(value))).join(" ");
        if (REPEATED.test(text)) fail(13, `the secret stands in ${name}: ${text.slice(0, 200)}`);
      }
  }

  checkImage(): void {
    const { auditor, erp, fail } = this.#scene;
    if (this.#scene.forms.repeatsSecret) this.#checkSecret();
    const integrity = erp.asItself(() => auditor.db.pragma("integrity_check", { simple: true }));
    if (integrity !== "ok") fail(13, `integrity_check: ${integrity}`);
    if (auditor.prepare(UNCLEAN).get() !== undefined) fail(13, "foreign keys are not clean");
    try {
      const wrong = auditor.prepare(MISQUEUED).pluck().all();
      if (wrong.length > 0) fail(13, `orders_pending is wrong of ${wrong.join(", ")}`);
      auditor.prepare("SELECT count(*) FROM sync_status").get();
    } catch (error) {
      fail(13, `what the ERP reads cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Everything that must not change where nothing happens, one line per row. */
  dump(): string {
    const { auditor } = this.#scene;
    const tables = auditor.prepare(TABLES).pluck().all() as string[];
    return tables
      .filter((name) => !BOOKKEEPING.has(name))
      .flatMap((name) =>
        auditor
          .prepare(`SELECT * FROM "${name}"`)
          .all()
          .map((row) => `${name} ${JSON.stringify(row)}`),
      )
      .join("\n");
  }
}
