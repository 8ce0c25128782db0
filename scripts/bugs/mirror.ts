import { type PlantedBug, tested } from "./bug.ts";

const REMOTE_ROWS = "src/mirror/up/remote-rows.ts";
const CONNECTION = "src/mirror/connection.ts";

/** Of the mirror, which the simulation does not play: its tests have a real PostgreSQL. */
export const MIRROR_BUGS: readonly PlantedBug[] = [
  {
    name: "touched rows are followed by a watermark over their notes",
    foundBy: "test/mirror/up.test.ts",
    edits: [
      {
        file: REMOTE_ROWS,
        find: "AS turn FROM touched WHERE shop = $1",
        replace: "AS turn FROM touched WHERE shop = $1 AND id > $3",
      },
      {
        file: REMOTE_ROWS,
        find: "READ_TOUCHED_OF_ORDERS : READ_TOUCHED, [shop, limit])",
        replace: "READ_TOUCHED_OF_ORDERS : READ_TOUCHED, [shop, limit, newest])",
      },
      {
        file: REMOTE_ROWS,
        find: "const ids = JSON.parse(found.ids) as string[];",
        replace: "const ids = JSON.parse(found.ids) as string[]; newest = Math.max(newest, ...ids.map(Number));",
      },
      {
        file: REMOTE_ROWS,
        find: "interface FoundNote extends",
        replace: "let newest = 0;\ninterface FoundNote extends",
      },
    ],
  },
  {
    name: "a row that PostgreSQL cannot give stops those beside it",
    foundBy: "test/mirror/up-readable.test.ts",
    edits: [{ file: "src/mirror/up/up.ts", find: "this.#isCareful ||= mayBeOfValue(error);", replace: "" }],
  },
  {
    name: "a status request of the mirror's is not known again by its id",
    foundBy: "test/mirror/up-requests.test.ts",
    edits: [
      {
        file: "src/mirror/up/apply-requests.ts",
        find: 'AS requestId FROM mirror_requests WHERE request_uuid = ?")',
        replace: 'AS requestId FROM mirror_requests WHERE request_uuid = ? AND 0")',
      },
      {
        file: "src/mirror/up/apply-requests.ts",
        find: "INSERT INTO mirror_requests",
        replace: "INSERT OR REPLACE INTO mirror_requests",
      },
    ],
  },
  tested(
    "test/mirror/fence.test.ts",
    "an instance claims the shop whoever works for it",
    {
      of: "judgeWriter",
      does: 'return writer === own.writer ? { kind: "ours" } : { kind: "claim", writerNo: writerNo + 1 };',
    },
    "src/mirror/claim/fence.ts",
  ),
  tested(
    "test/mirror/up.test.ts",
    "a TRUNCATE touches nothing",
    {
      find: "INSERT INTO touched (shop, tbl) SELECT shop, TG_TABLE_NAME FROM shop_keys;",
      replace: "NULL;",
    },
    "drizzle/postgres/0008_own_writes.sql",
  ),
  tested(
    "test/mirror/trouble.test.ts",
    "the mirror's position is ahead of its rows",
    {
      find: "const written = await this.#write(to, read, {",
      replace: `await savePosition(tx, self.shop, { ordersSeq: read.head, eventsSeq: read.head });
      await tx.run("COMMIT");
      await tx.run("BEGIN");
      const written = await this.#write(to, read, {`,
    },
    "src/mirror/down/down.ts",
  ),
  tested(
    "test/mirror/up.test.ts",
    "what a restored PostgreSQL lacks is deleted in the shop",
    {
      find: 'remote: either.filter(isKept).map((table) => ({ kind: "kept", table }))',
      replace: 'remote: either.filter(isKept).map((table) => ({ kind: "local", table }))',
    },
    "src/mirror/up/plan-walk.ts",
  ),
  ...[
    [
      "stock that was sold out is on sale again after a restore of PostgreSQL",
      'const isLower = isRaised || (because === "remote" && used.includes("stock"));',
      "const isLower = isRaised;",
    ],
    [
      "stock of before a restore of PostgreSQL is on sale again the night after",
      'const isLower = isRaised || (because === "remote" && used.includes("stock"));',
      'const isLower = because === "remote" && used.includes("stock");',
    ],
    [
      "more stock of before a restore of PostgreSQL is sold than a person has seen",
      'return step?.kind === "local" || step?.kind === "raised";',
      'return step?.kind === "local";',
    ],
    [
      "stock of before a restore of PostgreSQL is on sale again with a table that is gone through as a whole",
      "remoteStep(table, isRaised),",
      "remoteStep(table, false),",
    ],
  ].map(([name = "", find = "", replace = ""]) =>
    tested("test/mirror/up.test.ts", name, { find, replace }, "src/mirror/up/plan-walk.ts"),
  ),
  tested(
    "test/mirror/up.test.ts",
    "stock that is reserved there by now counts as stock to sell",
    { find: "this.#sold = soldOf(available);", replace: 'this.#sold = soldOf("quantity");' },
    "src/mirror/up/up.ts",
  ),
  tested(
    "test/mirror/up.test.ts",
    "what the ERP has written in a promoted PostgreSQL counts as of before",
    {
      find: "const kept = await findUnnoted(tx, reading.shop, { table: step.table, keys: [...raised], isHeld });",
      replace: "const kept = [...raised]; void isHeld;",
    },
    "src/mirror/up/up.ts",
  ),
  tested(
    "test/mirror/up.test.ts",
    "what the ERP deletes in a promoted PostgreSQL is forgotten",
    {
      find: 'if (because === "remote" && isBehind(now.store)) await forgetNotes',
      replace: 'if (because === "remote") await forgetNotes',
    },
    "src/mirror/up/up.ts",
  ),
  tested(
    "test/mirror/up.test.ts",
    "rounds that were broken off look like a restored PostgreSQL",
    {
      find: "const known = whoWentBack({ local, remote }) === undefined ? Math.max(local, remote) : remote;",
      replace: "const known = remote;",
    },
    "src/mirror/up/up.ts",
  ),
  tested(
    "test/mirror/turns.test.ts",
    "the mirror's ways begin in the same order each time",
    { find: "(seen.turn + this.#failures) % 2 === 0 ? parts", replace: "seen.turn >= 0 ? parts" },
    "src/mirror/run-mirror.ts",
  ),
  tested(
    "test/mirror/turns.test.ts",
    "that PostgreSQL was restored is known to the process alone",
    { find: 'saveMirrorState(store, "went_back", at);', replace: "" },
    "src/mirror/run-mirror.ts",
  ),
  tested(
    "test/mirror/init-schema.test.ts",
    "temporary tables stand before the mirror's own",
    { find: ", pg_temp`", replace: "`" },
    "src/mirror/schema/init-schema.ts",
  ),
  tested(
    "test/mirror/up-requests.test.ts",
    "a request that the service has answered cannot be corrected in PostgreSQL",
    {
      find: 'if (!isSame && local.state === "pending") {',
      replace:
        'if (!isSame && local.state === "pending" && store.prepare("SELECT 1 FROM status_requests WHERE id = ? AND attempts = 0").get(requestId)) {',
    },
    "src/mirror/up/apply-requests.ts",
  ),
  tested(
    "test/mirror/up-requests.test.ts",
    "a request that is corrected in PostgreSQL does not begin anew",
    { find: "beginAnew(store, requestId, { orderId });", replace: "" },
    "src/mirror/up/apply-requests.ts",
  ),
  tested(
    "test/mirror/up-requests.test.ts",
    "a correction that came while its request was on its way is never read again",
    { find: "WHERE state = 'pending' AND error IS NOT NULL),", replace: "WHERE false)," },
    "src/mirror/up/remote-rows.ts",
  ),
  tested(
    "test/mirror/up-requests.test.ts",
    "a request of the mirror's is of what the shop knows when it arrives",
    { find: "requestedAt ?? rules.at, knownRevision);", replace: "requestedAt ?? rules.at, null);" },
    "src/mirror/up/apply-requests.ts",
  ),
  tested(
    "test/mirror/takeover-requests.test.ts",
    "what an order was before a status of the former server's left is what is read of it first",
    {
      find: 'const before = planFormer({ request: { wanted, hasLeft: request.state === "sending" }, former, own: order });',
      replace: "const before = { status: null, revision: null, updatedAt: null, ...order, hasComeBack: false };",
    },
    "src/mirror/up/apply-requests.ts",
  ),
  tested(
    "test/mirror/takeover-requests.test.ts",
    "a takeover does not show that the former server may have sent more than PostgreSQL has noted",
    { find: "const upNo = position.upNo + 1;", replace: "const { upNo } = position;" },
    "src/mirror/claim/take-over.ts",
  ),
  tested(
    "test/mirror/takeover-requests.test.ts",
    "a database that went back writes over the outcomes that PostgreSQL has",
    { of: "takeOutcome", does: "return false;" },
    "src/mirror/up/apply-requests.ts",
  ),
  tested(
    "test/mirror/takeover-requests.test.ts",
    "what a restored database has as open is written before PostgreSQL's outcomes are read",
    { find: 'const isLate = whoWentBack({ local, remote }) === "local";', replace: "const isLate = false;" },
    "src/mirror/up/up.ts",
  ),
  tested(
    "test/mirror/takeover-requests.test.ts",
    "a restore from a copy of the newest round does not show that outcomes may be missing",
    { find: "max(CAST(value AS INTEGER) - 1, 0)", replace: "value" },
    "src/backup/settle.ts",
  ),
  tested(
    "test/mirror/trouble.test.ts",
    "a row that PostgreSQL drops passes for written",
    { find: "(await write(rows)) < rows.count ?", replace: "(await write(rows)) < 0 ?" },
    "src/mirror/down/write-down.ts",
  ),
  tested(
    "test/mirror/up-requests.test.ts",
    "an outcome that PostgreSQL refuses holds up everything that comes from there",
    { of: "inHalves", does: "await write(rows); return [];" },
    "src/mirror/in-halves.ts",
  ),
  tested(
    "test/mirror/up.test.ts",
    "a block of an earlier revision keeps an order that was taken since",
    { find: 'Number(row.values["seen_revision"] ?? 0) >= before.erpRevision', replace: "false" },
    "src/mirror/up/apply-rows.ts",
  ),
  tested(
    "test/mirror/down.test.ts",
    "an order changed by hand in PostgreSQL is not seen",
    {
      find: "THEN hash END AS hash",
      replace: "THEN hash ELSE hash END AS hash",
    },
    "src/mirror/down/write-down.ts",
  ),
  {
    name: "a lost connection is made anew inside a transaction",
    foundBy: "test/mirror/trouble.test.ts",
    edits: [
      {
        file: CONNECTION,
        find: "const tx = new OpenTransaction(client,",
        replace: `const again = async () => { this.close(); return await this.#open(); };
      const tx = new OpenTransaction(client, again,`,
      },
      {
        file: CONNECTION,
        find: 'const { command } = await client.query("COMMIT");',
        replace: 'const { command } = await tx.client.query("COMMIT");',
      },
      {
        file: CONNECTION,
        find: 'if (command !== "COMMIT") throw',
        replace: 'if (command !== "COMMIT" && tx.client === client) throw',
      },
      {
        file: CONNECTION,
        find: "  readonly #client: Client;\n  readonly #explain",
        replace: "  client: Client;\n  readonly #again: () => Promise<Client>;\n  readonly #explain",
      },
      {
        file: CONNECTION,
        find: "constructor(client: Client, explain: (thrown: unknown) => Error) {\n    this.#client = client;",
        replace:
          "constructor(client: Client, again: () => Promise<Client>, explain: (thrown: unknown) => Error) {\n    this.client = client; this.#again = again;",
      },
      {
        file: CONNECTION,
        find: "return await act(this.#client);",
        replace: `return await act(this.client).catch(async () => {
        this.client = await this.#again();
        return await act(this.client);
      });`,
      },
    ],
  },
];
