import { describe, expect, it } from "vitest";
import { basic, get, importHeaders, pushTo, sandboxFor, send } from "./client.ts";

const STOCKS = "/api/v1/import/stocks";
const ORDERS = "/api/v1/1c/orders";

describe("the credentials of the sandbox", () => {
  it("answers 401 with an error body to an import without the client headers, also with Basic", async () => {
    const sandbox = await sandboxFor();
    for (const headers of [{}, basic(sandbox), { ...importHeaders(sandbox), "x-client-secret": "wrong" }]) {
      const answer = await send(sandbox, "POST", STOCKS, { headers, body: '{"stocks":[]}' });
      expect(answer.status).toBe(401);
      expect(answer.json.message).toEqual(expect.any(String));
    }
    expect(sandbox.ledger.entries.every(({ authOk }) => !authOk)).toBe(true);
  });

  it("answers 401 with error and WWW-Authenticate on the 1C side, also to the client headers", async () => {
    const sandbox = await sandboxFor();
    for (const headers of [{}, importHeaders(sandbox), { authorization: "Basic bm86bm8=" }]) {
      const answer = await send(sandbox, "GET", ORDERS, { headers });
      expect(answer.status).toBe(401);
      expect(answer.json.error).toEqual(expect.any(String));
      expect(answer.headers["www-authenticate"]).toMatch(/^Basic /);
    }
    expect((await get(sandbox)).status).toBe(200);
  });

  it("looks at credentials before the subscription, and at both before the body", async () => {
    const sandbox = await sandboxFor({ options: { paid: false } });
    expect((await send(sandbox, "POST", STOCKS, { body: "{}" })).status).toBe(401);
    expect((await pushTo(sandbox, "stocks", {})).status).toBe(402);
    sandbox.service.setOptions({ paid: true });
    expect((await pushTo(sandbox, "stocks", {})).status).toBe(400);
  });

  it("refuses right credentials in an area that is closed, and leaves the other open", async () => {
    const sandbox = await sandboxFor({ options: { refuse: ["import"] } });
    expect((await pushTo(sandbox, "stocks", { stocks: [] })).status).toBe(401);
    expect((await get(sandbox)).status).toBe(200);
    sandbox.service.setOptions({ refuse: ["1c"] });
    expect((await pushTo(sandbox, "stocks", { stocks: [] })).status).toBe(200);
    expect((await get(sandbox)).status).toBe(401);
  });

  it("keeps no header and no secret in the ledger", async () => {
    const sandbox = await sandboxFor({ clientSecret: "canary-9f2" });
    await get(sandbox);
    await pushTo(sandbox, "stocks", { stocks: [] });
    const text = JSON.stringify(sandbox.ledger.entries);
    expect(text).not.toContain("canary-9f2");
    expect(text).not.toContain(Buffer.from("sandbox:canary-9f2").toString("base64"));
  });

  it("answers 404 to unknown paths and 405 to wrong methods, once the credentials are right", async () => {
    const sandbox = await sandboxFor();
    expect((await send(sandbox, "GET", "/api/v1/1c/other", {})).status).toBe(401);
    expect((await send(sandbox, "GET", "/api/v1/1c/other", { headers: basic(sandbox) })).status).toBe(404);
    expect((await send(sandbox, "GET", "/elsewhere")).status).toBe(404);
    const wrong = await send(sandbox, "POST", ORDERS, { headers: basic(sandbox) });
    expect([wrong.status, wrong.headers["allow"]]).toEqual([405, "GET"]);
    expect((await get(sandbox, "/../confirm")).status).toBe(404);
  });

  it("writes Date from its own clock, shifted or not at all", async () => {
    const now = () => Date.parse("2026-03-01T10:00:00.000Z");
    const sandbox = await sandboxFor({ now });
    expect((await get(sandbox)).headers["date"]).toBe("Sun, 01 Mar 2026 10:00:00 GMT");
    sandbox.service.setOptions({ clockOffsetMs: -3_600_000 });
    expect((await get(sandbox)).headers["date"]).toBe("Sun, 01 Mar 2026 09:00:00 GMT");
    sandbox.service.setOptions({ dateHeader: false });
    expect((await get(sandbox)).headers["date"]).toBeUndefined();
  });

  it("answers 429 with Retry-After when the minute's requests are used up", async () => {
    let at = 0;
    const sandbox = await sandboxFor({ now: () => at, options: { limits: { requestsPerMinute: 2 } } });
    await get(sandbox);
    at = 10_000;
    await get(sandbox);
    const refused = await get(sandbox);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "50"]);
    at = 60_000;
    expect((await get(sandbox)).status).toBe(200);
  });
});
