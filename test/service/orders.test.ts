import { describe, expect, it } from "vitest";
import { confirmBatch, fetchBatch, fetchSnapshot, fetchUpdates } from "../../src/service/orders.ts";
import { itWhole } from "../support/whole.ts";
import { clientFor, failureOf, serve } from "./support.ts";

async function recorder(status: (count: number) => number = () => 200) {
  const urls: string[] = [];
  const url = await serve((request, response) => {
    urls.push(`${request.method} ${request.url}`);
    response.writeHead(status(urls.length));
    response.end("{}");
  });
  return { urls, client: clientFor(url, { totalTimeoutMs: 5_000, headersTimeoutMs: 5_000 }) };
}

const { signal } = new AbortController();

describe("the addresses of the order endpoints", () => {
  it("hold an order's id as one encoded segment, whatever it is", async () => {
    const { urls, client } = await recorder();
    for (const id of ["11111111-2222-4333-8444-555555555555", "../confirm", "a/b?c#d", "%2e%2e", " я"])
      await fetchSnapshot(client, id, signal);
    expect(urls).toEqual([
      "GET /api/v1/1c/orders/11111111-2222-4333-8444-555555555555",
      "GET /api/v1/1c/orders/..%2Fconfirm",
      "GET /api/v1/1c/orders/a%2Fb%3Fc%23d",
      "GET /api/v1/1c/orders/%252e%252e",
      "GET /api/v1/1c/orders/%20%D1%8F",
    ]);
  });

  it("carry since as it is, encoded", async () => {
    const { urls, client } = await recorder();
    await fetchUpdates(client, "2026-03-01T12:00:00.123456+03:00", signal);
    expect(urls).toEqual(["GET /api/v1/1c/orders/updates?since=2026-03-01T12%3A00%3A00.123456%2B03%3A00"]);
  });
});

describe("what is repeated after a passing failure", () => {
  it("is never the hand-out of a batch and never a confirm", async () => {
    const { urls, client } = await recorder(() => 503);
    await failureOf(fetchBatch(client, [], signal));
    await failureOf(confirmBatch(client, "{}", signal));
    expect(urls).toEqual(["GET /api/v1/1c/orders", "POST /api/v1/1c/orders/confirm"]);
  });

  itWhole("is a question that has no effect", async () => {
    const { urls, client } = await recorder((count) => (count === 1 ? 502 : 200));
    await fetchUpdates(client, "0", signal);
    expect(urls).toHaveLength(2);
  });

  it("is nothing that was refused or names a time to wait", async () => {
    for (const status of [400, 401, 404, 429]) {
      const { urls, client } = await recorder(() => status);
      await failureOf(fetchSnapshot(client, "x", signal));
      expect(urls).toHaveLength(1);
    }
  });

  it("is over with a stop, which is no failure of the request", async () => {
    const stop = new AbortController();
    const { urls, client } = await recorder(() => {
      setTimeout(() => stop.abort(), 50);
      return 502;
    });
    await expect(fetchUpdates(client, "0", stop.signal)).rejects.toMatchObject({ code: "stopped" });
    expect(urls).toHaveLength(1);
  });
});
