// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits hold source text, template strings included
import { type Edit, hostile, one, type PlantedBug } from "./bug.ts";
import { DECISION_BUGS } from "./decisions.ts";
import { FOUND_BUGS } from "./found.ts";
import { GUARD_BUGS } from "./guards.ts";
import { LASTING_BUGS } from "./lasting.ts";
import { MIRROR_BUGS } from "./mirror.ts";
import { USUAL_BUGS } from "./usual.ts";

const PULL = "src/orders/pull-orders.ts";
const FOLLOW_JOB = "src/updates/pages/store-pass.ts";
const FOLLOW = "src/updates/pages/follow.ts";
const SEND = "src/feeds/send/send-rows.ts";
const OUTBOX = "src/feeds/feed-outbox.ts";
const CLIENT = "src/service/client.ts";

/** A watermark that is not what the service sent, made by `how` from what it sent. */
const otherWatermark = (name: string, how: string): PlantedBug =>
  one(
    name,
    FOLLOW_JOB,
    "            saveWatermark(store, UPDATES_STREAM, watermark, pass.at);",
    `            saveWatermark(store, UPDATES_STREAM, ${how}, pass.at);`,
  );

const CONFIRM_IMPORT: Edit = {
  file: PULL,
  find: 'import { fetchBatch, turnOfBatch } from "../service/orders.ts";',
  replace: 'import { confirmBatch, fetchBatch, turnOfBatch } from "../service/orders.ts";',
};

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "confirm before commit",
    foundBy: "simulation",
    edits: [
      CONFIRM_IMPORT,
      {
        file: PULL,
        find: "    const stored = await this.#batches.store(answer, pass, follows).finally(() => {",
        replace: `    const id = /"batch_id":("[^"]*"|[0-9]+)/.exec(answer.body.toString("utf8"))?.[1];
    if (id !== undefined) await confirmBatch(this.#context.client, \`{"batch_id":\${id}}\`, pass.signal);
    const stored = await this.#batches.store(answer, pass, follows).finally(() => {`,
      },
    ],
  },
  {
    name: "synchronous=NORMAL",
    foundBy: "simulation",
    edits: [
      {
        file: "src/database/connection.ts",
        find: 'db.pragma("synchronous = FULL");',
        replace: 'db.pragma("synchronous = NORMAL");',
      },
      {
        file: "src/database/connection.ts",
        find: "const expected = { synchronous: 2,",
        replace: "const expected = { synchronous: 1,",
      },
    ],
  },
  {
    name: "confirm of an empty answer",
    foundBy: "simulation",
    edits: [
      CONFIRM_IMPORT,
      {
        file: PULL,
        find: "    if (stored === undefined) return undefined;",
        replace: `    if (stored === undefined) {
      await confirmBatch(this.#context.client, '{"order_ids":[]}', pass.signal);
      return undefined;
    }`,
      },
    ],
  },
  one(
    "missing key read as empty",
    "src/records/read-list.ts",
    'if (found.state === "null") return undefined;',
    'if (found.state !== "value") return undefined;',
  ),
  {
    name: "> instead of >=",
    foundBy: "simulation",
    draws: {
      forms: { precision: "min", lookBackMs: [30_000, 600_000], page: 5 },
      step: { do: "change", order: 5, after: 2_000 },
    },
    edits: [
      {
        file: FOLLOW,
        find: "ns -= BigInt(lookBackMs) * MS_NS + uncertaintyNs(own, form);",
        replace: "ns -= BigInt(lookBackMs) * MS_NS + uncertaintyNs(own, form);\n  ns += unitOf(form, rules);",
      },
      {
        file: FOLLOW,
        find: "  const asked = askAt(timestamp.ns, how.form, rules);\n",
        replace: "  const asked = askAt(timestamp.ns + how.unit, how.form, rules);\n",
      },
    ],
  },
  otherWatermark("watermark from the local clock", "pass.at"),
  otherWatermark(
    "watermark through Date",
    "Number.isNaN(Date.parse(watermark)) ? watermark : new Date(watermark).toISOString()",
  ),
  otherWatermark(
    "watermark rounded up",
    'watermark.replace(/([0-9])([.][0-9]+)?(Z|[+-][0-9:]+)?$/, (_text, digit, _fraction, zone) => `${digit}.999999${zone ?? ""}`)',
  ),
  one(
    "watermark outside the transaction",
    FOLLOW_JOB,
    "    for (let from = 0; from === 0 || from < news.length; from += RECORDS_PER_COMMIT) {",
    `    if (watermark !== undefined) {
      await commit(this.#context, pass.signal, () => saveWatermark(store, UPDATES_STREAM, watermark, pass.at));
    }
    for (let from = 0; from === 0 || from < news.length; from += RECORDS_PER_COMMIT) {`,
  ),
  {
    ...one(
      "no overlap",
      FOLLOW,
      "ns -= BigInt(lookBackMs) * MS_NS + uncertaintyNs(own, form);",
      "ns -= uncertaintyNs(own, form);",
    ),
    draws: { forms: { lookBackMs: [30_000, 600_000], page: 100 }, step: { do: "change", order: 8, timestamp: "late" } },
  },
  one(
    "older over newer",
    "src/orders/plan-order.ts",
    'const isNewer = source === "snapshot" || isSurelyNewer(incoming.values.updatedAt, stored.updatedAt, rules.timezone);',
    "const isNewer = isSurelyNewer(incoming.values.updatedAt, stored.updatedAt, rules.timezone) || source !== null;",
  ),
  {
    name: "lines upserted but not replaced",
    foundBy: "simulation",
    edits: [
      {
        file: "src/orders/order-rows.ts",
        find: '  store.prepare("DELETE FROM order_line_rows WHERE order_key = ?").run(order.orderKey);\n',
        replace: "",
      },
      {
        file: "src/orders/order-rows.ts",
        find: "`INSERT INTO order_line_rows (order_key, line_no, sku, name, quantity, price, payload) VALUES (?, ?, ?, ?, ?, ?, ?)`",
        replace:
          "`INSERT OR REPLACE INTO order_line_rows (order_key, line_no, sku, name, quantity, price, payload) VALUES (?, ?, ?, ?, ?, ?, ?)`",
      },
    ],
  },
  one(
    "pending cleared without its revision",
    OUTBOX,
    "  // Fenced by the value that was sent: a row with a newer value keeps waiting.\n",
    '  store.prepare("DELETE FROM feed_dirty WHERE feed_id = ? AND k0 IN (SELECT k0 FROM feed_outbox WHERE doubt_record IS NOT NULL)").run(rules.feedId);\n',
  ),
  one(
    "413 drops the chunk",
    SEND,
    "    if (short !== undefined) sizes.short += 1;",
    `    if (status === 413) {
      const { store } = this.#context;
      const save = () => store.db.prepare("DELETE FROM feed_outbox WHERE id IN (SELECT value FROM json_each(?))").run(JSON.stringify(part.map(({ id }) => id)));
      return await commit(this.#context, pass.signal, save);
    }`,
  ),
  one(
    "poison blocks the chunk",
    SEND,
    "      const standing = part.map(inFlight);\n",
    `      if (outcome.status === 422) throw Object.assign(this.#trouble(pass), { code: "answer_unreadable" });
      const standing = part.map(inFlight);\n`,
  ),
  {
    ...one(
      "Retry-After unclamped",
      "src/service/retry-after.ts",
      "  return Math.min(Math.max(Math.ceil(Math.max(...waits)), RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS);",
      "  return Math.ceil(Math.max(...waits));",
    ),
    draws: { step: { do: "net", fate: { kind: "status", retryAfter: "999999999999" } } },
  },
  one(
    "401 retried at once",
    "src/pass/holds.ts",
    '      return { ...ofRefusal, reason: "credentials", probeAfterMs: HOLDS.credentials.blocks.probeMs };',
    "      return undefined;",
  ),
  one(
    "one hold for both areas",
    "src/pass/holds.ts",
    "  const area: Area = error.area;",
    '  const area: Area = error.area === "imports" ? "orders" : error.area;',
  ),
  one(
    "redirects followed",
    CLIENT,
    "      const tookMs = this.clock.monotonicMs() - sentMs;",
    `      const tookMs = this.clock.monotonicMs() - sentMs;
      const location = firstOf(response.headers["location"]);
      if (response.statusCode >= 300 && response.statusCode < 400 && location !== undefined) {
        const { origin, pathname } = new URL(location);
        const next = { origin, path: pathname, method: request.method, headers: this.#headersOf(request), signal };
        return await this.#read(request, await this.#dispatcher.request(next), totalMs);
      }`,
  ),
  {
    ...one(
      "status repeated blindly",
      "src/statuses/settle-status.ts",
      '    if (request.state === "sending") return await this.#resolveFound(request, counts, signal);\n',
      `    if (request.state === "sending") {
        await commit(this.#context, signal, () => markPendingAgain(this.#context.store, request.id, null));
        return { kind: "again" };
      }
  `,
    ),
    draws: { step: { do: "net", on: "status", fate: { when: "after" } } },
  },
  one(
    "odd value not named",
    "src/feeds/diff/absorb-feed.ts",
    "  saveQuarantinedRow(store, { kind: rules.name, reference, reason, payload, hash: digest, at });\n",
    "",
  ),
  {
    name: "id not encoded",
    foundBy: "encoded id",
    edits: [
      {
        file: "src/service/orders.ts",
        find: "path: `${ORDERS}/${encodeURIComponent(serviceId)}`",
        replace: "path: `${ORDERS}/${serviceId}`",
      },
    ],
  },
  {
    name: "secret in an error text",
    foundBy: "secret",
    edits: [
      {
        file: CLIENT,
        find: "const words = shortWords(this.hideSecrets(preview));",
        replace: "const words = shortWords(preview);",
      },
    ],
  },
  {
    name: "second instance allowed",
    foundBy: "second instance",
    edits: [{ file: "src/database/file/instance-lock.ts", find: '    db.exec("BEGIN EXCLUSIVE");\n', replace: "" }],
  },
  one(
    "no monotonic guard",
    FOLLOW,
    "  if (isLater(candidate, watermark, rules)) return true;\n",
    "  if (candidate !== watermark) return true;\n",
  ),
  ...LASTING_BUGS,
  ...USUAL_BUGS,
  ...MIRROR_BUGS,
  ...GUARD_BUGS,
  ...DECISION_BUGS,
  ...FOUND_BUGS,
  hostile("a count below the number of records accepts them all", "src/service/outcome/answer-counts.ts", [
    "    if (isOfElse(known, name) || taken >= size) continue;",
    "    if (size >= 0 || taken >= size) continue;",
  ]),
];
