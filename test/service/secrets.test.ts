import { describe, expect, it } from "vitest";
import { startTestBridge } from "../support/bridge.ts";
import { createOrders } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";
import { CLIENT_ID, clientFor, failureOf, get, post, SECRET, serve } from "./support.ts";

const BASIC = Buffer.from(`${CLIENT_ID}:${SECRET}`).toString("base64");
/** Every form in which the secret travels, and a beginning of each that a cut would leave. */
const FORMS = [
  SECRET,
  BASIC,
  encodeURIComponent(SECRET),
  JSON.stringify(SECRET).slice(1, -1),
  Buffer.from(SECRET).toString("base64"),
];

function expectNoSecret(text: string): void {
  for (const form of FORMS) {
    expect(text).not.toContain(form);
    expect(text.replaceAll(CLIENT_ID, "")).not.toContain(form.slice(0, 6));
  }
}

describe("the secret", () => {
  it.each([400, 401, 404, 429, 500, 302])(
    "is in no error of a service that echoes what it was sent: %s",
    async (status) => {
      const url = await serve((request, response) => {
        response.writeHead(status, { location: `https://x.example/?auth=${encodeURIComponent(BASIC)}` });
        response.end(JSON.stringify({ headers: request.headers, secret: SECRET }));
      });
      for (const failure of [await failureOf(get(clientFor(url))), await failureOf(post(clientFor(url)))]) {
        expectNoSecret(`${failure.message} ${failure.words} ${JSON.stringify(failure)}`);
      }
    },
  );

  itWhole("is in no error however the preview is cut", async () => {
    for (let padding = 150; padding < 205; padding++) {
      const url = await serve((_request, response) => {
        response.writeHead(500);
        response.end("x".repeat(padding) + BASIC + "y".repeat(500));
      });
      expectNoSecret((await failureOf(get(clientFor(url)))).message);
    }
  });

  it.each([
    ["JSON", (echo: string) => `{"by":{"${echo}`],
    ["a page", (echo: string) => `<html><p>You are ${echo}`],
    ["words", (echo: string) => `not allowed: ${echo}`],
  ])("is in no error of a service that breaks off inside it: %s", async (_name, body) => {
    for (const form of FORMS)
      for (const status of [200, 429, 500]) {
        const url = await serve((_request, response) => {
          response.writeHead(status, { "content-type": "application/json" });
          response.end(body(form.slice(0, -1)));
        });
        const client = clientFor(url);
        const shown = status === 200 ? [await get(client), await post(client)] : [await failureOf(post(client))];
        for (const each of shown) expectNoSecret(`${JSON.stringify(each)} ${String(each.body)}`);
      }
  });

  itWhole.each([
    ["a page", (echo: string, padding: number) => `<html>${"p".repeat(padding)}${echo}${"q".repeat(2000)}`],
    ["cut JSON", (echo: string, padding: number) => `{"${"p".repeat(padding)}":"${echo}${"q".repeat(2000)}`],
    [
      "an error in words",
      (echo: string, padding: number) => JSON.stringify({ error: "p".repeat(padding) + echo + "q".repeat(2000) }),
    ],
    [
      "another shape",
      (echo: string, padding: number) =>
        JSON.stringify({ ["p".repeat(padding) + echo + "q".repeat(2000)]: 1, orders2: [{ sent: echo }] }),
    ],
  ])("is in no log, no row and no result when a success echoes it: %s", async (_name, body) => {
    for (const padding of [0, 60, 120, 170, 190]) {
      const t = await startTestBridge({ sandbox: { clientId: CLIENT_ID, clientSecret: SECRET } });
      createOrders(t, 1);
      t.sandbox.faults.add({
        match: { path: "orders" },
        do: { kind: "raw", body: body(BASIC, padding), contentType: "application/json" },
      });
      const result = await t.run("orders");
      expect(result).toMatchObject({ outcome: "failed" });
      const rows = ["runs", "flows", "batches", "holds", "quarantine"].map((table) =>
        JSON.stringify(t.rows(`SELECT * FROM ${table}`)),
      );
      const bodies = t
        .rows<{ body: Buffer | null }>("SELECT body FROM batches")
        .map((row) => row.body?.toString("utf8") ?? "");
      expectNoSecret([...rows, ...bodies].join("\n"));
      expectNoSecret(JSON.stringify(t.logs));
    }
  });
});
