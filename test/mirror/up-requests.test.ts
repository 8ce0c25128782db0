import { expect, it } from "vitest";
import type { Store } from "../../src/database/store.ts";
import { loadMirrorFacts, switchMirror } from "../../src/mirror/mirror-state.ts";
import { describeWithPostgres } from "../support/postgres.ts";
import { itWhole } from "../support/whole.ts";
import { SHOP, showOrder, startUp, storeOrders } from "./up-support.ts";

const REQUESTS = "SELECT order_id, status, comment, state FROM status_requests ORDER BY id";
const OUTCOMES = "SELECT status, state, http_status, last_error, error FROM status_requests ORDER BY seq";

function switchOn(store: Store): void {
  store.write(() => switchMirror(store, true));
}

describeWithPostgres("status requests of the ERP", () => {
  itWhole("arrive once, in their order, and their outcomes go back", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    const [id = ""] = await storeOrders(bridge, 1);
    const client = crypto.randomUUID();
    await erp.query(
      `INSERT INTO status_requests (id, shop, order_id, status, comment, data) VALUES
         ('${client}', '${SHOP}', '${id}', 'packed', 'box 1', '{"n": 1.50}'), (gen_random_uuid(), '${SHOP}', '${id}', 'shipped', NULL, NULL)`,
    );
    expect(await pass()).toEqual({ erpRequests: 2 });
    expect(bridge.rows(REQUESTS)).toEqual([
      { order_id: id, status: "packed", comment: "box 1", state: "pending" },
      { order_id: id, status: "shipped", comment: null, state: "pending" },
    ]);
    bridge.bridge.store.db.exec(
      `UPDATE status_requests SET state = 'sent', http_status = 200, attempts = 1, answered_at = '2026-06-01T12:00:00.000Z' WHERE status = 'packed';
       UPDATE status_requests SET state = 'refused', http_status = 409, last_error = 'no ' || char(0) || ' way' WHERE status = 'shipped'`,
    );
    expect(await pass()).toEqual({ outcomes: 2 });
    expect(await remote(OUTCOMES)).toEqual([
      { status: "packed", state: "sent", http_status: 200, last_error: null, error: null },
      { status: "shipped", state: "refused", http_status: 409, last_error: "no \uFFFD way", error: null },
    ]);
    expect(await pass()).toEqual({});
  });

  itWhole("say what the ERP knew: the revision that PostgreSQL showed, or the one that it names", async () => {
    const { bridge, erp, pass, remote } = await startUp({
      statuses: { path: "/api/v1/1c/orders/{order_id}/status" },
    });
    const [id = ""] = await storeOrders(bridge, 1);
    const ask = async (more: Record<string, string | number> = {}) => {
      const columns = ["shop", "order_id", "status", ...Object.keys(more)];
      const values = [SHOP, id, "shipped", ...Object.values(more)];
      const places = values.map((_, at) => `$${at + 1}`);
      await erp.query(`INSERT INTO status_requests (${columns.join()}) VALUES (${places.join()})`, values);
    };
    const known = () =>
      bridge
        .rows<{ known_revision: number }>("SELECT known_revision FROM status_requests ORDER BY id")
        .map((row) => row.known_revision);
    await ask();
    await showOrder(erp, id, 1);
    await ask();
    // The customer has cancelled it, and PostgreSQL is behind.
    bridge.sandbox.service.changeOrder(id, { status: "cancelled" });
    bridge.clock.advance(60_000);
    await bridge.run("updates");
    await ask();
    await showOrder(erp, id, 2);
    await ask();
    await ask({ known_revision: 2 });
    await pass();
    expect(known()).toEqual([0, 1, 1, 2, 2]);
    await bridge.run("statuses");
    expect(bridge.rows("SELECT id FROM status_requests WHERE state = 'refused' ORDER BY id")).toEqual(
      [1, 2, 3].map((n) => ({ id: n })),
    );
    await erp.query("UPDATE status_requests SET known_revision = 1 WHERE state = 'pending' AND seq = 5");
    await pass();
    expect(await remote("SELECT error FROM status_requests WHERE seq = 5")).toEqual([
      { error: expect.stringContaining("left already") },
    ]);
  });

  itWhole(
    "know of another order that they are corrected to what PostgreSQL shows of that one, or what is named with it",
    async () => {
      const { bridge, erp, pass } = await startUp({ statuses: { path: "/api/v1/1c/orders/{order_id}/status" } });
      const [former = "", right = "", unseen = ""] = await storeOrders(bridge, 3);
      await showOrder(erp, former, 2);
      await showOrder(erp, right, 1);
      for (let n = 0; n < 6; n++)
        await erp.query("INSERT INTO status_requests (shop, order_id, status) VALUES ($1, $2, 'shipped')", [
          SHOP,
          former,
        ]);
      const known = () =>
        bridge
          .rows<{ known_revision: number }>("SELECT known_revision FROM status_requests ORDER BY id")
          .map((row) => row.known_revision);
      await pass();
      expect(known()).toEqual([2, 2, 2, 2, 2, 2]);
      const correct = (seq: number, set: string, values: unknown[]) =>
        erp.query(`UPDATE status_requests SET ${set} WHERE seq = ${seq}`, values as string[]);
      await correct(1, "order_id = $1", [right]);
      await correct(2, "order_id = $1", [unseen]);
      await correct(3, "order_id = $1, known_revision = $2", [right, 2]);
      await correct(4, "known_revision = $2, order_id = $1", [right, 0]);
      await correct(5, "order_id = $1, comment = 'parcel'", [former]);
      await correct(6, "known_revision = $1", [1]);
      await pass();
      expect(known()).toEqual([1, 0, 2, 0, 2, 1]);
      bridge.sandbox.service.changeOrder(right, { status: "cancelled" });
      bridge.clock.advance(60_000);
      await bridge.run("updates");
      await bridge.run("statuses");
      expect(bridge.rows("SELECT id FROM status_requests WHERE state = 'refused' ORDER BY id")).toEqual([{ id: 1 }]);
    },
  );

  itWhole("know nothing where PostgreSQL has noted no revision, whatever the shop has by now", async () => {
    const { bridge, erp, pass } = await startUp({ statuses: { path: "/api/v1/1c/orders/{order_id}/status" } });
    const [id = ""] = await storeOrders(bridge, 1);
    await erp.query("SET erp_bridge.quiet = 'on'");
    await erp.query("INSERT INTO status_requests (shop, order_id, status) VALUES ($1, $2, 'shipped')", [SHOP, id]);
    await erp.query("RESET erp_bridge.quiet");
    bridge.sandbox.service.changeOrder(id, { status: "cancelled" });
    bridge.clock.advance(60_000);
    await bridge.run("updates");
    await erp.query("UPDATE status_requests SET comment = 'parcel'");
    await pass();
    await bridge.run("statuses");
    expect(bridge.rows("SELECT known_revision, state FROM status_requests")).toEqual([
      { known_revision: 0, state: "refused" },
    ]);
  });

  it("are noted where a trigger of the head office writes them beneath the bridge's own writes, and its stock and marks too", async () => {
    const { bridge, database, erp, pass, remote } = await startUp({
      statuses: { path: "/api/v1/1c/orders/{order_id}/status" },
    });
    const [id = ""] = await storeOrders(bridge, 1);
    await database.cluster.query(
      database.name,
      `CREATE FUNCTION erp_bridge.on_write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = erp_bridge AS $$ BEGIN
         INSERT INTO stock (shop, sku, quantity) VALUES (NEW.shop, TG_TABLE_NAME, 1);
         INSERT INTO erp_orders (shop, order_id, seen_revision) VALUES (NEW.shop, NEW.order_id, 1)
           ON CONFLICT (shop, order_id) DO UPDATE SET erp_number = 'N-1';
         INSERT INTO status_requests (shop, order_id, status) VALUES (NEW.shop, NEW.order_id, 'after ' || TG_TABLE_NAME);
         RETURN NULL; END $$;
       CREATE TRIGGER on_order AFTER INSERT ON erp_bridge.orders FOR EACH ROW EXECUTE FUNCTION erp_bridge.on_write();
       CREATE CONSTRAINT TRIGGER on_outcome AFTER UPDATE ON erp_bridge.status_requests DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW WHEN (NEW.state = 'sent' AND OLD.state = 'pending') EXECUTE FUNCTION erp_bridge.on_write();`,
    );
    await erp.query("SET erp_bridge.quiet = 'on'");
    await showOrder(erp, id, 1);
    await erp.query("RESET erp_bridge.quiet");
    expect(await pass()).toEqual({ erpRequests: 1, erpRows: 2 });
    expect(bridge.rows("SELECT status, known_revision FROM status_requests")).toEqual([
      { status: "after orders", known_revision: 1 },
    ]);
    // The outcome is written by the bridge itself.
    bridge.bridge.store.db.exec("UPDATE status_requests SET state = 'sent', http_status = 200");
    await pass();
    await pass();
    expect(bridge.rows("SELECT status FROM status_requests ORDER BY id")).toEqual([
      { status: "after orders" },
      { status: "after status_requests" },
    ]);
    expect(bridge.rows("SELECT sku FROM stock ORDER BY sku")).toEqual([{ sku: "orders" }, { sku: "status_requests" }]);
    expect(bridge.rows("SELECT erp_number FROM erp_orders")).toEqual([{ erp_number: "N-1" }]);
    expect(await remote("SELECT count(*)::int AS n FROM touched")).toEqual([{ n: 0 }]);
  });

  itWhole("arrive once although PostgreSQL was restored to before they came, and after", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    const [id = ""] = await storeOrders(bridge, 1);
    const client = crypto.randomUUID();
    const insert = () =>
      erp.query(
        `INSERT INTO status_requests (id, shop, order_id, status) VALUES ('${client}', '${SHOP}', '${id}', 'packed')`,
      );
    await insert();
    await pass();
    bridge.bridge.store.db.exec("UPDATE status_requests SET state = 'sent', http_status = 200");
    await pass();
    await erp.query("DELETE FROM status_requests");
    await pass();
    expect(bridge.rows(REQUESTS)).toMatchObject([{ state: "sent" }]);
    // The client inserts it again, from its own outbox.
    await insert();
    expect(await pass()).toEqual({ outcomes: 1 });
    expect(bridge.rows(REQUESTS)).toMatchObject([{ state: "sent" }]);
    expect(await remote(OUTCOMES)).toMatchObject([{ state: "sent", http_status: 200 }]);
  });

  itWhole("keep their order over more of them than are read at a time", async () => {
    const { bridge, erp, up, pass } = await startUp();
    const [id = ""] = await storeOrders(bridge, 1);
    await erp.query("SET erp_bridge.quiet = 'on'");
    await erp.query(
      `INSERT INTO status_requests (shop, order_id, status) SELECT '${SHOP}', '${id}', 'n' || n FROM generate_series(1, 2500) n`,
    );
    up.compareAll();
    expect(await pass()).toMatchObject({ erpRequests: 2500 });
    const statuses = bridge.rows<{ status: string }>("SELECT status FROM status_requests ORDER BY id");
    expect(statuses.map(({ status }) => status)).toEqual(Array.from({ length: 2500 }, (_, n) => `n${n + 1}`));
  });

  itWhole("of a PostgreSQL that lacks them get their outcomes back", async () => {
    const { bridge, database, erp, pass, remote, restart } = await startUp();
    const [id = ""] = await storeOrders(bridge, 1);
    await erp.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'A', 1)`);
    await pass();
    const [{ up_no: then }] = (await remote("SELECT up_no::text FROM positions WHERE shop = 'north'")) as [
      { up_no: string },
    ];
    await erp.query(`INSERT INTO status_requests (shop, order_id, status) VALUES ('${SHOP}', '${id}', 'packed')`);
    await pass();
    await erp.query("UPDATE stock SET quantity = 2");
    await pass();
    bridge.bridge.store.db.exec("UPDATE status_requests SET state = 'sent', http_status = 200");
    await pass();
    await database.cluster.query(
      database.name,
      `SET erp_bridge.quiet = 'on'; DELETE FROM erp_bridge.status_requests; UPDATE erp_bridge.positions SET up_no = ${then} WHERE shop = 'north'`,
    );
    restart();
    await pass();
    await pass();
    expect(await remote(OUTCOMES)).toMatchObject([{ status: "packed", state: "sent", http_status: 200 }]);
    expect(bridge.rows(REQUESTS)).toHaveLength(1);
  });

  itWhole("that a restored shop does not know leave only after their order was read", async () => {
    const { bridge, erp, pass, restart } = await startUp();
    const ids = await storeOrders(bridge, 3);
    const stamps = bridge.rows<{ id: string; at: string }>(
      "SELECT order_id AS id, service_updated_at AS at FROM orders",
    );
    for (const { id, at } of stamps) {
      await showOrder(erp, id, 1);
      await erp.query("UPDATE orders SET status = 'new', service_updated_at = $2 WHERE order_id = $1", [id, at]);
      await erp.query("INSERT INTO status_requests (shop, order_id, status) VALUES ($1, $2, 'parcel')", [SHOP, id]);
    }
    await pass();
    bridge.bridge.store.db.exec(
      "DELETE FROM mirror_requests; DELETE FROM status_requests; UPDATE mirror_state SET value = '0' WHERE key = 'up_no'",
    );
    // Their orders are read before PostgreSQL is, and PostgreSQL may have what was read.
    bridge.clock.advance(60_000);
    bridge.sandbox.service.changeOrder(ids[1] ?? "", { status: "delivered" });
    bridge.sandbox.service.changeOrder(ids[2] ?? "", { status: "packed" });
    await bridge.run("updates");
    await erp.query("UPDATE orders SET status = 'packed', revision = 2 WHERE order_id = $1", [ids[2]]);
    restart();
    await pass();
    expect(
      bridge.rows(
        `SELECT o.status AS now, r.status, status_sent, r.state, status_before, echo, revision_before, stamp_before = service_updated_at AS isSame
         FROM status_requests r JOIN orders o USING (order_id) ORDER BY o.order_key`,
      ),
    ).toEqual(
      [
        { now: "new", echo: "awaited", revision_before: 1, isSame: 1 },
        { now: "delivered", echo: "awaited", revision_before: 1, isSame: 0 },
        { now: "packed", echo: null, revision_before: 2, isSame: 0 },
      ].map((row) => ({ ...row, status: "parcel", status_sent: "packed", state: "sending", status_before: "new" })),
    );
  });

  itWhole(
    "that a database which went back has as open end as PostgreSQL has them, unless it has gone on with them since",
    async () => {
      for (const isBack of [true, false]) {
        const { bridge, erp, pass, remote, restart } = await startUp();
        const [id = "", other = ""] = await storeOrders(bridge, 2);
        const end = "attempts = 2, answered_at = '2026-06-01T12:00:00.000Z'";
        const sent = `${end}, state = 'sent', http_status = 200`;
        const refused = `${end}, state = 'refused', http_status = 404, last_error = 'no'`;
        const ends = {
          waiting: sent,
          doubted: refused,
          "on its way": sent,
          "opened again": refused,
          "sent again": refused,
        };
        const set = (status: keyof typeof ends, values: string) =>
          bridge.bridge.store.db.exec(`UPDATE status_requests SET ${values} WHERE status = '${status}'`);
        const names = Object.keys(ends) as (keyof typeof ends)[];
        for (const status of names)
          await erp.query("INSERT INTO status_requests (shop, order_id, status) VALUES ($1, $2, $3)", [
            SHOP,
            id,
            status,
          ]);
        await pass();
        for (const status of names) set(status, ends[status]);
        expect(await pass()).toEqual({ outcomes: 5 });
        const open = "http_status = NULL, answered_at = NULL, last_error = NULL, state";
        set("waiting", `attempts = 0, ${open} = 'pending'`);
        set("doubted", `status_sent = 'doubted', ${open} = 'sending'`);
        set("on its way", `first_sent_at = '2026-06-01T11:00:00.000Z', ${open} = 'sending'`);
        bridge.bridge.store.db.exec("DELETE FROM mirror_changes");
        // By a rule of this database, since it went back.
        set("opened again", `${open} = 'pending'`);
        set("sent again", `first_sent_at = '2026-06-01T13:00:00.000Z', ${open} = 'sending'`);
        await erp.query("SET erp_bridge.quiet = 'on'");
        await erp.query("UPDATE status_requests SET order_id = $1, comment = 'box 2' WHERE status = 'waiting'", [
          other,
        ]);
        await erp.query("RESET erp_bridge.quiet");
        if (isBack) bridge.bridge.store.db.exec("UPDATE mirror_state SET value = '0' WHERE key = 'up_no'");
        restart();
        await pass();
        await pass();
        const own = "SELECT status, state, attempts, status_sent, echo FROM status_requests ORDER BY id";
        const gone = [
          { status: "opened again", state: "pending", attempts: 2 },
          { status: "sent again", state: "sending", attempts: 2 },
        ];
        expect(bridge.rows(own)).toMatchObject(
          isBack
            ? [
                { status: "waiting", state: "sent", attempts: 2, status_sent: "waiting", echo: "owed" },
                { status: "doubted", state: "refused", attempts: 2, status_sent: "doubted", echo: null },
                { status: "on its way", state: "sent", attempts: 2, status_sent: "on its way", echo: "owed" },
                ...gone,
              ]
            : [{ state: "pending" }, { state: "sending" }, { state: "sending" }, ...gone],
        );
        if (isBack)
          expect(bridge.rows("SELECT order_id, comment FROM status_requests WHERE status = 'waiting'")).toEqual([
            { order_id: other, comment: "box 2" },
          ]);
        const there = "SELECT status, state, http_status, last_error FROM status_requests ORDER BY seq";
        expect(await remote(there)).toMatchObject([
          { status: "waiting", state: "sent", http_status: 200 },
          { status: "doubted", state: "refused", http_status: 404, last_error: "no" },
          { status: "on its way", state: "sent", http_status: 200 },
          { status: "opened again", state: "pending", http_status: null },
          { status: "sent again", state: "sending", http_status: null },
        ]);
      }
    },
  );

  itWhole("come back where their order is unknown, and may be corrected or taken back until they leave", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    const [id = "", other = ""] = await storeOrders(bridge, 2);
    await erp.query(
      `INSERT INTO status_requests (shop, order_id, status) VALUES ('${SHOP}', gen_random_uuid(), 'packed'), ('${SHOP}', '${other}', 'shipped')`,
    );
    expect(await pass()).toEqual({ erpRequests: 1, refused: 1 });
    await pass();
    expect(await remote(OUTCOMES)).toMatchObject([
      { status: "packed", error: expect.stringContaining("no order") },
      { status: "shipped", error: null },
    ]);
    await erp.query(`UPDATE status_requests SET order_id = '${id}' WHERE status = 'packed'`);
    await erp.query("UPDATE status_requests SET comment = 'late' WHERE status = 'shipped'");
    expect(await pass()).toEqual({ erpRequests: 1, outcomes: 1 });
    expect(bridge.rows(REQUESTS)).toEqual([
      { order_id: other, status: "shipped", comment: "late", state: "pending" },
      { order_id: id, status: "packed", comment: null, state: "pending" },
    ]);
    expect(await remote("SELECT error FROM status_requests WHERE error IS NOT NULL")).toEqual([]);
    bridge.bridge.store.db.exec(`UPDATE status_requests SET state = 'sending', attempts = 1 WHERE status = 'packed'`);
    await erp.query("UPDATE status_requests SET comment = 'too late' WHERE status = 'packed'");
    await erp.query("DELETE FROM status_requests WHERE status = 'shipped'");
    await pass();
    expect(bridge.rows(REQUESTS)).toMatchObject([{ status: "packed", comment: null }]);
    expect(await remote(OUTCOMES)).toMatchObject([{ status: "packed", error: expect.stringContaining("has left") }]);
    bridge.bridge.store.db.exec("DELETE FROM status_requests");
    await pass();
    expect(await remote(OUTCOMES)).toMatchObject([
      { state: "refused", last_error: expect.stringContaining("deleted") },
    ]);
  });

  it("may be corrected and taken back while they wait, whatever the service has answered, and begin anew", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    const [id = "", other = ""] = await storeOrders(bridge, 2);
    await showOrder(erp, other, 1);
    const tried = `attempts = 3, http_status = 423, answered_at = '2026-06-01T12:00:00.000Z', last_error = 'locked', status_sent = status,
      status_before = 'new', revision_before = 1, first_sent_at = '2026-06-01T12:00:00.000Z'`;
    const names = ["corrected", "moved", "deleted", "as it was"];
    for (const name of names)
      await erp.query("INSERT INTO status_requests (shop, order_id, status) VALUES ($1, $2, $3)", [SHOP, id, name]);
    await pass();
    bridge.bridge.store.db.exec(`UPDATE status_requests SET ${tried}`);
    await pass();
    await erp.query("UPDATE status_requests SET status = 'shipped' WHERE status = 'corrected'");
    await erp.query("UPDATE status_requests SET order_id = $1 WHERE status = 'moved'", [other]);
    await erp.query("DELETE FROM status_requests WHERE status = 'deleted'");
    await erp.query("UPDATE status_requests SET comment = NULL WHERE status = 'as it was'");
    await pass();
    const anew = { state: "pending", attempts: 0, http_status: null };
    expect(
      bridge.rows(
        "SELECT order_id, status, state, attempts, http_status, status_sent, first_sent_at, known_revision FROM status_requests ORDER BY id",
      ),
    ).toEqual([
      { order_id: id, status: "shipped", ...anew, status_sent: null, first_sent_at: null, known_revision: 0 },
      // What its writer knew of this order is not forgotten when it begins anew.
      { order_id: other, status: "moved", ...anew, status_sent: null, first_sent_at: null, known_revision: 1 },
      expect.objectContaining({ status: "as it was", state: "pending", attempts: 3, http_status: 423 }),
    ]);
    expect(await remote(OUTCOMES)).toEqual([
      { status: "shipped", state: "pending", http_status: null, last_error: null, error: null },
      { status: "moved", state: "pending", http_status: null, last_error: null, error: null },
      { status: "as it was", state: "pending", http_status: 423, last_error: "locked", error: null },
    ]);
    expect(await pass()).toEqual({});
  });

  it("that were corrected on their way are corrected once they wait again; of one that has left `error` says so", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    const [id = ""] = await storeOrders(bridge, 1);
    for (const name of ["waits again", "leaves"])
      await erp.query("INSERT INTO status_requests (shop, order_id, status) VALUES ($1, $2, $3)", [SHOP, id, name]);
    await pass();
    const own = (sql: string) => bridge.bridge.store.db.exec(`UPDATE status_requests SET ${sql}`);
    own("state = 'sending', attempts = 1, status_sent = status");
    await erp.query("UPDATE status_requests SET comment = 'corrected'");
    await pass();
    const left = expect.stringContaining("has left");
    expect(await remote(OUTCOMES)).toMatchObject([{ error: left }, { error: left }]);
    own("state = 'pending', http_status = 423 WHERE status = 'waits again'");
    own("state = 'sent', http_status = 200 WHERE status = 'leaves'");
    await pass();
    expect(bridge.rows(REQUESTS)).toMatchObject([
      { comment: "corrected", state: "pending" },
      { comment: null, state: "sent" },
    ]);
    expect(await remote(OUTCOMES)).toMatchObject([
      { state: "pending", http_status: null, error: null },
      { state: "sent", error: left },
    ]);
    expect(await pass()).toEqual({});
  });

  itWhole.each([
    [
      "a constraint",
      "ALTER TABLE status_requests ADD CONSTRAINT mine CHECK (comment IS NOT NULL) NOT VALID",
      "ALTER TABLE status_requests DROP CONSTRAINT mine",
    ],
    [
      "a trigger that raises an exception",
      `CREATE FUNCTION refuse_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''closed''; END';
       CREATE TRIGGER mine BEFORE UPDATE ON status_requests FOR EACH ROW WHEN (NEW.comment IS NULL) EXECUTE FUNCTION refuse_it()`,
      "DROP TRIGGER mine ON status_requests",
    ],
    [
      "a trigger that returns no row",
      `CREATE FUNCTION drop_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
       CREATE TRIGGER mine BEFORE UPDATE ON status_requests FOR EACH ROW WHEN (NEW.comment IS NULL) EXECUTE FUNCTION drop_it()`,
      "DROP TRIGGER mine ON status_requests",
    ],
  ])("whose outcome %s refuses hold up nothing, and get it with the next comparison", async (_, add, remove) => {
    const { bridge, erp, pass, remote, up } = await startUp();
    const [id = ""] = await storeOrders(bridge, 1);
    const ask = (comment: string | null) =>
      erp.query("INSERT INTO status_requests (shop, order_id, status, comment) VALUES ($1, $2, 'packed', $3)", [
        SHOP,
        id,
        comment,
      ]);
    await ask(null);
    await ask("box 2");
    await pass();
    await erp.query(add);
    bridge.bridge.store.db.exec("UPDATE status_requests SET state = 'sent', attempts = 1");
    await erp.query(`INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'A', 5)`);
    expect(await pass()).toEqual({ erpRows: 1, outcomes: 2, unwritten: 1 });
    const states = async () => (await remote<{ state: string }>(OUTCOMES)).map(({ state }) => state);
    expect(await states()).toEqual(["pending", "sent"]);
    // A later outcome of the same request is no second row.
    bridge.bridge.store.db.exec("UPDATE status_requests SET http_status = 200 WHERE comment IS NULL");
    await pass();
    switchOn(bridge.bridge.store);
    expect(loadMirrorFacts(bridge.bridge.store)).toMatchObject({ refused: 1 });
    expect(await pass()).toEqual({});

    await erp.query(remove);
    up.compareAll();
    await pass();
    expect(await states()).toEqual(["sent", "sent"]);
    expect(loadMirrorFacts(bridge.bridge.store)).toMatchObject({ refused: 0 });
  });

  itWhole("are left alone where another transaction holds them, and get their outcomes later", async () => {
    const { bridge, erp, connectErp, pass, remote } = await startUp();
    const [id = ""] = await storeOrders(bridge, 1);
    await erp.query(`INSERT INTO status_requests (shop, order_id, status) VALUES ('${SHOP}', '${id}', 'packed')`);
    await pass();
    bridge.bridge.store.db.exec("UPDATE status_requests SET state = 'sent', http_status = 200");
    const other = await connectErp();
    await other.query("BEGIN");
    await other.query("SELECT * FROM status_requests FOR UPDATE");
    expect(await pass()).toEqual({});
    await other.query("ROLLBACK");
    expect(await pass()).toEqual({ outcomes: 1 });
    expect(await remote(OUTCOMES)).toMatchObject([{ state: "sent" }]);
  });
});
