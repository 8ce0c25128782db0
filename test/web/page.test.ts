import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Html, html } from "../../src/web/html.ts";
import { startWebBridge, type WebBridge } from "../support/web.ts";
import { itWhole } from "../support/whole.ts";

async function look(t: WebBridge): Promise<string> {
  t.clock.advance(60_000);
  const { status, headers, body } = await t.ask("/");
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/html; charset=utf-8");
  return body;
}

const heading = (page: string) => /<h1>(.*?)<\/h1>/.exec(page)?.[1];
const verdict = (page: string) => /<section class="verdict (\w+)">/.exec(page)?.[1];

async function runAll(t: WebBridge): Promise<void> {
  for (const job of ["orders", "updates", "stocks"] as const) await t.run(job);
}

describe("the status page", () => {
  itWhole("says that it has just started, then that no order has come, then that all is well", async () => {
    const t = await startWebBridge();
    expect(verdict(await look(t))).toBe("starting");
    await runAll(t);
    const empty = await look(t);
    expect(verdict(empty)).toBe("well");
    expect(heading(empty)).toMatch(/^No order has come yet/);
    t.sandbox.service.createOrder();
    await runAll(t);
    const page = await look(t);
    expect(verdict(page)).toBe("well");
    expect(heading(page)).toBe("Orders and stock are up to date.");
    expect(page).toContain("Asked 60 s ago; last order ");
  });

  itWhole("begins with what is wrong, says what to do, and keeps apart what is ill and what needs a look", async () => {
    const t = await startWebBridge();
    await runAll(t);
    t.rows(
      `INSERT INTO quarantine (kind, reference, reason, payload_hash, first_seen_at, last_seen_at)
       VALUES ('order', 'x', 'no id', x'00', '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000Z') RETURNING 1`,
    );
    const needsLook = await look(t);
    expect(verdict(needsLook)).toBe("attention");
    expect(heading(needsLook)).toBe("1 record of orders in quarantine.");
    expect(needsLook).toContain("<code>erp-bridge quarantine list</code>");
    t.sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: { kind: "status", status: 401 } });
    await t.run("orders");
    const ill = await look(t);
    expect(verdict(ill)).toBe("ill");
    expect(heading(ill)).toMatch(/^Orders held since .*: the service refuses the credentials\.$/);
    expect(ill).toContain("<li>1 record of orders in quarantine.</li>");
    expect(ill).toContain("<code>erp-bridge resume orders</code>");
  });

  it("says in the row of a flow what its conditions are, and what comes next", async () => {
    const t = await startWebBridge({ settings: { statuses: { path: "/orders/{order_id}/status" } } });
    await runAll(t);
    await t.run("statuses");
    const insert = t.bridge.store.db.prepare(
      "INSERT INTO status_requests (order_id, status, state) VALUES (?, 'paid', 'refused')",
    );
    for (let n = 0; n < 4; n++) insert.run(`${n}`);
    const page = await look(t);
    expect(heading(page)).toBe("4 status requests refused.");
    const row = /<li><span class="name">Statuses[\s\S]*?<\/li>/.exec(page)?.[0] ?? "";
    expect(row).toContain('<span class="state look">');
    expect(row.replaceAll("\u00a0", " ")).toContain("4 status requests refused.");
    expect(page).toContain("SELECT id, order_id, last_error FROM status_requests");
  });

  itWhole(
    "needs no script, loads nothing, carries no style of an element, and lets in its own style sheet only",
    async () => {
      const t = await startWebBridge();
      await runAll(t);
      t.clock.advance(60_000);
      const { headers, body } = await t.ask("/");
      expect(body).not.toMatch(/<script|\son\w+=|\sstyle=|javascript:|<iframe|<form|@import|url\(/i);
      const addresses = [...body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = ""]) => address);
      expect(addresses.filter((address) => !/^(data:image\/svg\+xml,|\/health$|\/metrics$)/.test(address))).toEqual([]);
      const style = /<style>([\s\S]*?)<\/style>/.exec(body)?.[1] ?? "";
      const hash = createHash("sha256").update(style).digest("base64");
      expect(headers["content-security-policy"]).toContain(`style-src 'sha256-${hash}';`);
    },
  );

  itWhole("is well formed, under 100 KB, and tells its pictures in words too", async () => {
    const t = await startWebBridge();
    for (let n = 0; n < 4; n++) t.sandbox.service.createOrder();
    await runAll(t);
    const page = await look(t);
    expect(Buffer.byteLength(page)).toBeLessThan(100_000);
    expect(unclosed(page)).toEqual([]);
    for (const [, labels = ""] of page.matchAll(/<svg[^>]*role="img" aria-labelledby="([^"]*)"/g)) {
      for (const id of labels.split(" ")) expect(page).toMatch(new RegExp(`<(title|desc) id="${id}">[^<]+<`));
    }
    expect(page).toMatch(/<td>4<\/td><\/tr><\/tbody>/);
    const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  itWhole("speaks Russian where the configuration says so, with the right forms of words", async () => {
    const t = await startWebBridge({ settings: { language: "ru" } });
    for (let n = 0; n < 3; n++) t.sandbox.service.createOrder();
    await runAll(t);
    const page = await look(t);
    expect(page).toContain('<html lang="ru">');
    expect(heading(page)).toBe("Заказы и остатки актуальны.");
    expect(page).toContain("3 заказа ещё не забраны в ERP, самый старый ждёт 60 с");
    const words = page.replace(/<style>[\s\S]*?<\/style>|<[^>]*>/g, " ").replace(/\/health|\/metrics/g, "");
    const latin = words.match(/[A-Za-z-]{2,}/g)?.filter((word) => !/^(erp-bridge|ERP)$/.test(word)) ?? [];
    const host = new URL(t.sandbox.url).hostname;
    expect(latin.filter((word) => !host.includes(word) && !hostnameHas(page, word))).toEqual([]);
  });

  it("shows hostile names inert", async () => {
    const t = await startWebBridge();
    const hostile = `"><script>alert(1)</script>\u202e\u001b[31m'`;
    t.bridge.store.db
      .prepare("INSERT INTO holds (area, reason, since) VALUES (?, ?, ?)")
      .run(hostile, hostile, hostile);
    t.bridge.store.db
      .prepare("INSERT INTO flows (flow, enabled, last_success_at) VALUES (?, 1, ?)")
      .run(hostile, hostile);
    const page = await look(t);
    expect(page).not.toContain("<script");
    expect(["\u202e", "\u001b"].filter((mark) => page.includes(mark))).toEqual([]);
    expect(page).toContain("&lt;script&gt;");
    expect(unclosed(page)).toEqual([]);
    const metrics = (await t.ask("/metrics")).body;
    expect(metrics.split("\n").every((line) => line === "" || /^(# |[a-z0-9_]+(\{.*\})? \S+$)/.test(line))).toBe(true);
  });

  itWhole("tells nothing of orders but how many there are", async () => {
    const t = await startWebBridge();
    t.sandbox.service.createOrder();
    await runAll(t);
    const page = await look(t);
    const [order] = t.rows<Record<string, string>>("SELECT order_id, number, total, currency FROM orders");
    for (const value of [order?.["order_id"], order?.["number"], order?.["total"]]) {
      expect(value).toBeTruthy();
      expect(page).not.toContain(`${value}`);
    }
    expect(page).not.toContain(t.sandbox.clientSecret);
  });
});

describe("templates", () => {
  it("escape text, also in lists and in attributes, and leave HTML as it is", () => {
    const inner = html`<b>${"a & b"}</b>`;
    expect(html`<i title="${`"'<>`}">${[inner, "<", 5, undefined]}</i>${new Html("<hr>")}`.text).toBe(
      `<i title="&quot;&#39;&lt;&gt;"><b>a &amp; b</b>&lt;5</i><hr>`,
    );
  });
});

/** The name of the machine stands in the header of the page. */
function hostnameHas(page: string, word: string): boolean {
  return /<header>(.*?)<\/header>/.exec(page)?.[1]?.includes(word) ?? false;
}

const VOID = new Set(["meta", "link", "path", "rect", "circle", "br", "hr"]);

/** Elements that are not closed in the order in which they were opened. */
function unclosed(page: string): string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  for (const [, closing, name = ""] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
    if (VOID.has(name)) continue;
    if (closing === "") open.push(name);
    else if (open.pop() !== name) wrong.push(name);
  }
  return [...wrong, ...open];
}
