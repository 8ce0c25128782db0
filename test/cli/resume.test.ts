import { describe, expect, it } from "vitest";
import { startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

const SINCE = "2026-01-01T00:00:00.000Z";

async function startHeld(...held: [area: string, reason: string][]) {
  const shop = await startShop({ settings: { statuses: { path: "/api/v1/1c/orders/{order_id}/status" } } });
  shop.sandbox.service.createOrder();
  await shop.command("sync");
  for (const [area, reason] of held)
    shop.write(`INSERT INTO holds (area, reason, since, scope) VALUES ('${area}', '${reason}', '${SINCE}', 'flow')`);
  const standing = () => shop.rows<{ name: string }>("SELECT area || ' ' || reason AS name FROM holds ORDER BY 1");
  return { ...shop, standing: () => standing().map(({ name }) => name) };
}

describe("resume", () => {
  itWhole.each([
    ["orders", "credentials", "restored"],
    ["updates", "credentials", "tie"],
    ["stocks", "refused", "answer"],
    ["stocks", "refused", "guard"],
    ["orders", "rate limit", "of a later version"],
  ])("%s lifts %s, and leaves %s to a word of its own", async (area, passing, asking) => {
    const shop = await startHeld([area, passing], [area, asking]);
    const { code, out } = await shop.command("resume", area, "--json");
    expect(code).toBe(2);
    expect(JSON.parse(out)).toMatchObject({ lifted: [passing], left: [{ reason: asking }] });
    expect(shop.standing()).toEqual([`${area} ${asking}`]);
  });

  itWhole("lifts neither of two that ask for a statement, and each by its name", async () => {
    const shop = await startHeld(["orders", "hand-out lost"], ["orders", "restored"]);
    const { code, out } = await shop.command("resume", "orders");
    expect(code).toBe(2);
    expect(out).toContain('erp-bridge resume orders --hold "hand-out lost" --config ');
    expect(out).toContain("erp-bridge resume orders --hold restored --config ");
    expect(out).not.toContain("goes on");
    expect(await shop.command("resume", "orders", "--hold", "hand-out lost")).toMatchObject({
      code: 0,
      out: "orders: goes on (hand-out lost).",
    });
    expect(shop.standing()).toEqual(["orders restored"]);
    expect((await shop.command("resume", "orders", "--hold", "hand-out lost")).out).toBe(
      'orders: no hold "hand-out lost" stands.',
    );
    expect(await shop.command("resume", "orders")).toMatchObject({ code: 0, out: "orders: goes on (restored)." });
    expect(shop.standing()).toEqual([]);
  });

  itWhole("settles statuses that wait because they were answered in a new form", async () => {
    const shop = await startHeld();
    const [order] = shop.rows<{ id: string }>("SELECT order_id AS id FROM orders");
    shop.write(
      `INSERT INTO status_requests (order_id, status, state, new_form) VALUES ('${order!.id}', 'paid', 'sending', '{}')`,
    );
    const { code, out } = await shop.command("resume", "statuses", "--hold", "answer");
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining("statuses: goes on (answer)") });
    expect(shop.rows("SELECT state, new_form FROM status_requests")).toEqual([{ state: "sent", new_form: null }]);
  });

  itWhole("leaves the guard to approve, and knows the names of holds", async () => {
    const shop = await startHeld(["stocks", "guard"]);
    for (const words of [[], ["--hold", "guard"]]) {
      const { code, out } = await shop.command("resume", "stocks", ...words);
      expect({ code, out }).toEqual({
        code: 2,
        out: expect.stringContaining("stocks: the guard waits for approval: erp-bridge approve stocks"),
      });
    }
    expect(shop.standing()).toEqual(["stocks guard"]);
    const { code, err } = await shop.command("resume", "stocks", "--hold", "handout lost");
    expect(code).toBe(64);
    expect(err).toContain("Did you mean hand-out lost?");
  });

  itWhole("confirms settles those that stay refused, once they were compared", async () => {
    const shop = await startHeld();
    shop.write("UPDATE batches SET state = 'refused', last_error = 'no', order_ids = '[]'");
    expect((await shop.command("status", "--json")).out).toContain("refused_confirms");
    const { code, out } = await shop.command("resume", "confirms");
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining("confirms: settled (refused ") });
    expect(shop.rows("SELECT state, last_error FROM batches")).toEqual([{ state: "confirmed", last_error: "no" }]);
    expect((await shop.command("status", "--json")).out).not.toContain("refused_confirms");
    expect((await shop.command("resume", "confirms")).out).toBe("confirms: nothing was held.");
  });

  itWhole("does not take answers in a new form for acceptances because credentials were put right", async () => {
    const shop = await startHeld(["orders", "credentials"]);
    const forms = () =>
      shop.rows<{ value: string }>("SELECT learned AS value FROM learned_answers WHERE topic = 'forms'");
    const usual = JSON.parse(forms()[0]?.value ?? "{}");
    const other = { ...(usual.known[0] ?? usual.fresh[0]), signs: ["another"], isAlone: false };
    shop.write(
      "UPDATE learned_answers SET learned = ? WHERE topic = 'forms' AND endpoint = 'confirm'",
      JSON.stringify({ ...usual, fresh: [other] }),
    );
    const before = forms();
    expect(await shop.command("resume", "orders")).toMatchObject({ code: 2 });
    expect(forms()).toEqual(before);
    expect(await shop.command("resume", "orders", "--hold", "answer")).toMatchObject({ code: 0 });
    expect(forms()).not.toEqual(before);
  });

  itWhole("makes the answers usual that were shown, and names what came beside them before it does", async () => {
    const shop = await startHeld(["stocks", "answer"]);
    const form = (name: string) => ({
      ...{ kind: "object", names: [`${name} string`], verdicts: [`${name}=done`], doubt: null },
      ...{ lastMs: 0, forMs: 0, times: 1, proved: 0, isAlone: true },
    });
    const save = (...names: string[]) => {
      const learned = { known: [], fresh: names.map(form), since: SINCE };
      shop.write(
        "REPLACE INTO learned_answers (topic, endpoint, learned) VALUES ('forms', '/api/v1/import/stocks', ?)",
        JSON.stringify(learned),
      );
    };
    const resume = () => shop.command("resume", "stocks", "--hold", "answer");
    save("outcome", "result");
    const { code, out } = await resume();
    expect(code).toBe(2);
    expect(out).toContain("/api/v1/import/stocks {outcome} outcome=done; /api/v1/import/stocks {result} result=done.");
    save("state", "outcome", "result");
    expect(JSON.parse((await shop.command("resume", "stocks", "--json")).out)).toMatchObject({
      lifted: [],
      left: [{ reason: "answer", unseen: [expect.stringContaining("state"), expect.anything(), expect.anything()] }],
    });
    expect(shop.standing()).toEqual(["stocks answer"]);
    expect(await resume()).toMatchObject({ code: 0, out: expect.stringContaining("usual from now on: ") });
    expect(shop.standing()).toEqual([]);
  });

  it("gives up no loss that came after the hold, before it has named it", async () => {
    const shop = await startHeld(["orders", "hand-out lost"]);
    const [first, last] = ["2025-12-31T23:00:00.000Z", "2026-01-01T01:00:00.000Z"];
    shop.write("DELETE FROM pull_mark");
    shop.write(`INSERT INTO pull_mark (id, opened_at, is_open, lost, lost_at) VALUES (1, '${first}', 0, 1, '${last}')`);
    const resume = () => shop.command("resume", "orders", "--hold", "hand-out lost");
    expect(await resume()).toMatchObject({ code: 2, out: expect.stringContaining(`was lost at ${last}`) });
    expect(await resume()).toMatchObject({ code: 0, out: expect.stringContaining(`lost from ${first} to ${last}`) });
    expect(shop.standing()).toEqual([]);
  });

  itWhole("takes no notice away that came after others, before it has named it", async () => {
    const shop = await startHeld();
    const notice = (name: string, at: string) =>
      shop.write(
        `INSERT INTO observations (kind, name, sample, first_seen_at) VALUES ('status', '${name}', '', '${at}')`,
      );
    shop.write("DELETE FROM observations");
    notice("packed", SINCE);
    notice("posted", "2026-01-01T00:00:01.000Z");
    const resume = () => shop.command("resume", "observations");
    expect(await resume()).toMatchObject({ code: 2, out: expect.stringContaining("status packed, status posted") });
    notice("kept", "2026-01-01T00:00:02.000Z");
    expect(await resume()).toMatchObject({ code: 2, out: expect.stringContaining("status kept") });
    expect(await resume()).toMatchObject({ code: 0, out: expect.stringContaining("not shown any more (") });
  });

  itWhole("settles the confirms that were shown, and names all of several before it does", async () => {
    const shop = await startHeld();
    shop.write("DELETE FROM batches");
    const refuse = (name: string) =>
      shop.write(
        `INSERT INTO batches (fingerprint, service_batch_id, received_at, order_count, state, order_ids)
         VALUES ('${name}', '"${name}"', '${SINCE}', 1, 'refused', '[]')`,
      );
    const resume = () => shop.command("resume", "confirms");
    refuse("b-1");
    expect(await resume()).toMatchObject({ code: 0, out: expect.stringContaining("b-1") });
    refuse("b-2");
    refuse("b-3");
    expect(await resume()).toMatchObject({ code: 2, out: expect.stringMatching(/b-2.*b-3/) });
    refuse("b-4");
    expect(await resume()).toMatchObject({ code: 2, out: expect.stringContaining("b-4") });
    expect(await resume()).toMatchObject({ code: 0, out: expect.stringContaining("confirms: settled") });
  });
});
