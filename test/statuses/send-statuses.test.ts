import { describe, expect, it } from "vitest";
import { startStatusBridge } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

describe("a status that the ERP wants", () => {
  itWhole("arrives once, and the order is read back", async () => {
    const { ids, ask, send, request, effects, order, posts } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    expect(await send()).toMatchObject({ error: null, outcome: "done", counts: { sent: 1 } });
    expect(request(id)).toMatchObject({
      state: "sent",
      http_status: 200,
      status_before: "new",
      attempts: 1,
      last_error: null,
      echo: null,
    });
    expect(effects()).toEqual(["paid"]);
    expect(posts()).toMatchObject([{ method: "POST", requestBody: '{"status":"paid"}' }]);
    expect(order(ids[0]!)).toMatchObject({ status: "paid", revision: 2, erp_revision: 1 });
    expect(await send()).toMatchObject({ outcome: "idle", counts: {} });
    expect(effects()).toEqual(["paid"]);
  });

  it("waits for ever while no path is configured", async () => {
    const bridge = await startStatusBridge({ settings: { statuses: { path: null } } });
    bridge.ask(bridge.ids[0]!, "paid");
    await expect(bridge.send()).rejects.toMatchObject({ code: "usage" });
    expect(bridge.states()).toEqual(["pending"]);
  });

  itWhole("is not sent where the order has it already", async () => {
    const { ids, ask, send, request, posts } = await startStatusBridge();
    const id = ask(ids[0]!, "new");
    expect(await send()).toMatchObject({ error: null, counts: { already: 1 } });
    expect(request(id)).toMatchObject({ state: "sent", attempts: 0, http_status: null, last_error: null });
    expect(request(id).answered_at).not.toBeNull();
    expect(posts()).toEqual([]);
  });

  itWhole("is not taken for what the order has by what was stored before it was made", async () => {
    const { ids, ask, send, states, effects, sandbox, posts, run } = await startStatusBridge();
    await run("updates");
    sandbox.service.changeOrder(ids[0]!, { status: "accepted" });
    ask(ids[0]!, "new");
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(effects(ids[0]!).at(-1)).toBe("new");
    expect(states()).toEqual(["sent"]);
    expect(posts()).toHaveLength(1);
  });

  it("is compared with the order itself after a pass over changes, which may show them later", async () => {
    const { ids, ask, send, erp, sandbox, run, clock, effects } = await startStatusBridge();
    // A new order is read once more soon after its confirm.
    for (let minutes = 0; minutes < 15; minutes++) {
      await run("updates");
      clock.advance(60_000);
    }
    sandbox.service.setOptions({ updates: { lagMs: 600_000 } });
    sandbox.service.changeOrder(ids[0]!, { status: "accepted" });
    ask(ids[0]!, "new");
    erp.prepare("UPDATE status_requests SET requested_at = ?").run(new Date(clock.nowMs()).toISOString());
    clock.advance(60_000);
    await run("updates");
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(effects(ids[0]!).at(-1)).toBe("new");
  });

  itWhole("is compared with what changes have shown where the order cannot be read", async () => {
    const { ids, ask, send, erp, sandbox, run, clock, states } = await startStatusBridge();
    ask(ids[0]!, "new");
    erp.prepare("UPDATE status_requests SET requested_at = ?").run(new Date(clock.nowMs()).toISOString());
    clock.advance(60_000);
    sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 403 } });
    await send();
    expect(states()).toEqual(["pending"]);
    clock.advance(600_000);
    await run("updates");
    await send();
    expect(states()).toEqual(["sent"]);
  });

  itWhole("goes out in the order in which an order's statuses were asked for", async () => {
    const { ids, ask, send, effects, states } = await startStatusBridge({ orders: 3 });
    for (const status of ["accepted", "new", "accepted", "packed", "shipped"]) for (const id of ids) ask(id, status);
    await send();
    for (const id of ids) expect(effects(id)).toEqual(["accepted", "new", "accepted", "packed", "shipped"]);
    expect(new Set(states())).toEqual(new Set(["sent"]));
  });

  itWhole("waits behind the earlier one of its order, and not behind other orders", async () => {
    let broken: string | undefined;
    const onRequest = ({ path }: { path: string }) => {
      if (broken !== undefined && path.includes(broken)) throw new Error("this order is too much for the service");
    };
    const bridge = await startStatusBridge({ orders: 2, sandbox: { onRequest } });
    const { ids, ask, send, sendFor, states, effects, request } = bridge;
    const first = ask(ids[0]!, "accepted");
    ask(ids[0]!, "shipped");
    ask(ids[1]!, "packed");
    broken = ids[0]!;
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(states()).toEqual(["sending", "pending", "sent"]);
    expect(effects(ids[1])).toEqual(["packed"]);
    expect(request(first).last_error).toContain("500");
    broken = undefined;
    await sendFor(2);
    expect(effects(ids[0])).toEqual(["accepted", "shipped"]);
  });

  itWhole("names the order as the service writes it, whatever case the ERP uses", async () => {
    const { ids, ask, send, posts, effects, rows } = await startStatusBridge({
      sandbox: { options: { shape: { upperCaseIds: true } } },
    });
    const id = ids[0]!;
    ask(id.toUpperCase(), "paid");
    ask(id, "packed");
    await send();
    expect(posts().map(({ path }) => path)).toEqual(Array(2).fill(`/api/v1/1c/orders/${id.toUpperCase()}/status`));
    expect(effects(id)).toEqual(["paid", "packed"]);
    expect(rows("SELECT order_id FROM status_requests ORDER BY id")).toEqual([
      { order_id: id.toUpperCase() },
      { order_id: id },
    ]);
  });

  itWhole("is refused without a request where its order_id is no id", async () => {
    const { ask, send, request, posts, logs } = await startStatusBridge();
    const empty = ask("", "paid");
    const cut = ask("6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde\0", "paid");
    const garbage = ask("../confirm", "paid");
    const endless = ask("a".repeat(5_000), "paid");
    expect(await send()).toMatchObject({ error: null, counts: { refused: 4 } });
    for (const id of [empty, cut, garbage, endless]) expect(request(id)).toMatchObject({ http_status: null });
    expect(request(empty).last_error).toBe("order_id is not a UUID");
    expect(request(cut).last_error).toBe("order_id is not a UUID");
    expect(request(garbage).last_error).toBe("order_id is not a UUID");
    expect(request(endless).last_error).toBe("order_id is not a UUID");
    expect(posts()).toEqual([]);
    expect(logs.filter(({ level, message }) => level === "warn" && message.includes("refused"))).toHaveLength(4);
  });

  itWhole("is translated by the map, and a name that is absent goes as it is", async () => {
    const settings = { statuses: { map: { Отгружен: "shipped", "5": "packed" } } };
    const { ids, ask, send, effects, request } = await startStatusBridge({ settings });
    ask(ids[0]!, "Отгружен");
    ask(ids[0]!, 5);
    ask(ids[0]!, "paid");
    const inherited = ask(ids[0]!, "constructor");
    await send();
    expect(effects()).toEqual(["shipped", "packed", "paid", "constructor"]);
    expect(request(inherited).state).toBe("sent");
  });

  itWhole("fills the template from the request and its data, numbers as written", async () => {
    const body = {
      status: "{status}",
      note: "{comment}",
      order: {
        id: "{order_id}",
        ttn: "{ttn}",
        weight: "{weight}",
        code: "{code|string}",
        boxes: "{boxes}",
        express: "{express}",
      },
    };
    const { ids, ask, send, posts } = await startStatusBridge({ settings: { statuses: { body } } });
    const data =
      '{"ttn":"RU\\u0041 1","weight":1.50,"code":7,"boxes":[{"n":9007199254740993}],"express":true,"status":"mine"}';
    ask(ids[0]!, "shipped", { comment: 'тест "1"', data });
    await send();
    expect(posts()[0]!.requestBody).toBe(
      `{"status":"shipped","note":"тест \\"1\\"","order":{"id":"${ids[0]}","ttn":"RUA 1","weight":1.50,"code":"7","boxes":[{"n":9007199254740993}],"express":true}}`,
    );
  });

  itWhole("takes the configured method", async () => {
    const { ids, ask, send, posts } = await startStatusBridge({
      settings: { statuses: { method: "PATCH" } },
      sandbox: { options: { status: { method: "PATCH" } } },
    });
    ask(ids[0]!, "paid");
    await send();
    expect(posts()).toMatchObject([{ method: "PATCH", status: 200 }]);
  });

  itWhole.each([
    ["no JSON", "{ttn: 1}", "data: is not valid JSON"],
    ["JSON but no object", "[1]", "data: is JSON but no object"],
    ["a number", 7, "data: is no text with a JSON object"],
    ["a blob", Buffer.from("{}"), "data: is no text with a JSON object"],
    ["without the name that the template needs", "{}", "ttn: there is no such value"],
    ["of another kind than the template needs", '{"ttn":"x"}', "ttn: the value is not a number"],
  ])("is refused where its data is %s", async (_, data, reason) => {
    const { ids, ask, send, request, posts } = await startStatusBridge({
      settings: { statuses: { body: { status: "{status}", ttn: "{ttn|number}" } } },
    });
    const id = ask(ids[0]!, "paid", { data });
    expect(await send()).toMatchObject({ error: null, counts: { refused: 1 } });
    expect(request(id)).toMatchObject({ state: "refused", last_error: reason });
    expect(posts()).toEqual([]);
  });

  itWhole.each([
    ["status", "CAST(x'70ff' AS TEXT)", "NULL", "NULL"],
    ["comment", "'paid'", "CAST(x'70ff61' AS TEXT)", "NULL"],
    ["data", "'paid'", "NULL", "CAST(x'7b2274746e223a22ff227d' AS TEXT)"],
  ])("is refused with the reason where its %s is not UTF-8", async (column, status, comment, data) => {
    const { ids, send, erp, request, posts } = await startStatusBridge();
    erp.exec(
      `INSERT INTO status_requests (order_id, status, comment, data) VALUES ('${ids[0]}', ${status}, ${comment}, ${data})`,
    );
    expect(await send()).toMatchObject({ error: null, counts: { refused: 1 } });
    expect(request(1)).toMatchObject({ state: "refused", last_error: `${column} is not valid UTF-8 or UTF-16` });
    expect(posts()).toEqual([]);
  });

  itWhole(
    "is refused for half a surrogate pair in a database in UTF-16, and leaves with U+FFFD or a whole pair",
    async () => {
      const { ids, send, erp, request, posts } = await startStatusBridge({ encoding: "UTF-16le", orders: 3 });
      const comments = [
        "CAST(x'61003dd82d003100' AS TEXT)",
        "CAST(x'6100fdff' AS TEXT)",
        "CAST(x'61003dd800de' AS TEXT)",
      ];
      for (const [at, comment] of comments.entries())
        erp.exec(`INSERT INTO status_requests (order_id, status, comment) VALUES ('${ids[at]}', 'paid', ${comment})`);
      expect(await send()).toMatchObject({ error: null, counts: { refused: 1 } });
      expect(request(1)).toMatchObject({ state: "refused", last_error: "comment is not valid UTF-8 or UTF-16" });
      expect(posts()).toHaveLength(2);
    },
  );

  itWhole("goes out with the sign that stands for what cannot be shown, where the ERP really wrote that", async () => {
    const { ids, ask, send, request, effects } = await startStatusBridge();
    const id = ask(ids[0]!, "odd \ufffd");
    await send();
    expect([request(id).state, effects()]).toEqual(["sent", ["odd \ufffd"]]);
  });

  itWhole("leaves again with new data or another comment, and not where it says nothing new", async () => {
    const body = { status: "{status}", comment: "{comment}", ttn: "{ttn}" };
    const { ids, ask, send, posts, states } = await startStatusBridge({ settings: { statuses: { body } } });
    const say = async (comment: string, ttn: string) => {
      ask(ids[0]!, "shipped", { comment, data: JSON.stringify({ ttn }) });
      await send();
      return posts().length;
    };
    expect(await say("first", "1")).toBe(1);
    expect(await say("first", "1")).toBe(1);
    expect(await say("first", "2")).toBe(2);
    expect(await say("second", "2")).toBe(3);
    expect(await say("first", "1")).toBe(4);
    ask(ids[0]!, "shipped");
    await send();
    expect(posts()).toHaveLength(4);
    expect(new Set(states())).toEqual(new Set(["sent"]));
    expect(posts().map(({ requestBody }) => (JSON.parse(requestBody!) as { ttn: string }).ttn)).toEqual([
      "1",
      "2",
      "2",
      "1",
    ]);
  });

  itWhole("never breaks the job, whatever the ERP writes", async () => {
    const { ids, ask, send, sendFor, erp, effects, rows } = await startStatusBridge({ orders: 2 });
    const [id, other] = ids as [string, string];
    const insert = (columns: string, values: string) =>
      erp.exec(`INSERT INTO status_requests (${columns}) VALUES (${values})`);
    for (const status of [
      "x'00ff'",
      "''",
      "9e999",
      "-0.0",
      "1.5",
      "9223372036854775807",
      "CAST(x'ff' AS TEXT)",
      "'a' || char(0) || 'b'",
      "zeroblob(3000000)",
      "printf('%.2000000c', 'x')",
    ]) {
      insert("order_id, status", `'${id}', ${status}`);
    }
    insert("order_id, status, comment", `'${id}', 'commented', x'01'`);
    insert("order_id, status, comment", `'${id}', 'commented', 12.50`);
    insert("order_id, status, attempts", `'${id}', 'tried often', 9223372036854775807`);
    insert("order_id, status, attempts", `'${id}', 'tried never', -9223372036854775808`);
    insert("id, order_id, status", `-5, '${id}', 'below zero'`);
    insert("id, order_id, status", `9007199254740993, '${id}', 'beyond floats'`);
    insert("order_id, status, state", `'${id}', 'says that it is on its way', 'sending'`);
    insert("order_id, status, state, status_sent, echo", `'${id}', 'says more', 'sending', 'says more', 'awaited'`);
    insert("order_id, status, state, echo", `'${id}', 'says that it was sent', 'sent', 'owed'`);
    insert("order_id, status", "17, 'paid'");
    insert("order_id, status", "'', 'paid'");
    insert("order_id, status, requested_at", `'${id}', 'no time', NULL`);
    insert("order_id, status", `'${id}', 'last'`);
    ask(other, "paid");
    for (let passes = 0; passes < 3; passes++) expect(await send()).toMatchObject({ error: null });
    // What claims to be on its way is read twice.
    await sendFor(11);
    expect(rows("SELECT status, state FROM status_requests WHERE state IN ('pending', 'sending')")).toEqual([]);
    expect(effects(id).at(-1)).toBe("last");
    expect(effects(other)).toEqual(["paid"]);
  });

  itWhole("is sent again where the ERP sets a refused one back to pending", async () => {
    const transitions = { new: ["accepted"], accepted: ["shipped"] };
    const { ids, ask, send, erp, request, effects } = await startStatusBridge({
      orders: 2,
      sandbox: { options: { status: { transitions } } },
    });
    const id = ask(ids[0]!, "shipped");
    ask(ids[1]!, "accepted");
    await send();
    expect(request(id)).toMatchObject({ state: "refused", http_status: 422 });
    ask(ids[0]!, "accepted");
    await send();
    erp.prepare("UPDATE status_requests SET state = 'pending' WHERE id = ?").run(id);
    await send();
    expect(request(id)).toMatchObject({ state: "sent", last_error: null });
    expect(effects(ids[0])).toEqual(["accepted", "shipped"]);
  });

  itWhole("drains a backlog of many orders in passes", async () => {
    const { ids, ask, send, states, effects } = await startStatusBridge({ orders: 210 });
    for (const id of ids) ask(id, "accepted");
    expect(await send()).toMatchObject({ error: null, counts: { sent: 210 } });
    expect(states().every((state) => state === "sent")).toBe(true);
    expect(effects()).toHaveLength(210);
  });
});
