import { rmSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readJournal } from "../../src/backup/journal-files.ts";
import { acceptMetadata } from "../../src/completeness/check-completeness.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { confirmBodies, createOrders, orderCount } from "../support/pull.ts";
import { startScene } from "../support/restored.ts";
import { itSome, itWhole } from "../support/whole.ts";

const PATH = "/api/v1/1c/orders";

interface Page {
  ids: readonly string[];
  /** In the place of the newest versions of these orders. */
  texts?: readonly string[];
  /** What stands beside its list. */
  beside?: object;
  headers?: Record<string, string>;
  status?: number;
}

/** A service whose batch `b-1` comes in pages, by the query that asks for each; `""` asks for the first. Once it is confirmed there is nothing more. Undone by `serve({})`. */
async function start(confirmForm: "batch_id" | "order_ids" | "all" = "batch_id") {
  const settings = confirmForm === "all" ? { orders: { confirm: { body: {} } } } : {};
  return servePages(await startTestBridge({ settings, sandbox: { options: { handOut: "repeat", confirmForm } } }));
}

function servePages<T extends TestBridge>(t: T) {
  const { service } = t.sandbox;
  const handle = service.handle.bind(service);
  let pages: Record<string, Page> = {};
  const asked: string[] = [];
  service.handle = (request) => {
    const [path, query = ""] = request.path.split("?");
    if (path?.endsWith("/confirm") === true && "" in pages)
      pages = { "": { ids: [], beside: { batch_id: undefined } } };
    if (request.method !== "GET" || path !== PATH || !("" in pages)) return handle(request);
    asked.push(query);
    const page = pages[
      /^(?:p|page|start|(?:limit=2&)?offset)=[01](?:&limit=2)?$/.test(query) && !(query in pages) ? "" : query
    ] ?? { ids: [], status: 404 };
    const records = (page.texts ?? page.ids.map((id) => service.newestText(id))).join(",");
    const members = JSON.stringify({ batch_id: "b-1", ...page.beside, orders: "" });
    return {
      ...handle({ ...request, path: `${PATH}/updates?since=2099-01-01T00:00:00Z` }),
      status: page.status ?? 200,
      headers: { "content-type": "application/json", ...page.headers },
      body: Buffer.from(members.replace(/""}$/, () => `[${records}]}`)),
    };
  };
  const serve = (next: Record<string, Page>) => {
    pages = next;
  };
  const isConfirmed = () => confirmBodies(t).some((body) => body?.includes("b-1"));
  return { t, serve, asked, isConfirmed };
}

const origin = ({ t }: Awaited<ReturnType<typeof start>>) => t.sandbox.url;

describe("a batch whose answer names a next page", () => {
  itWhole("is not confirmed where its link leads elsewhere and nothing is under the numbers of its pages", async () => {
    const scene = await start();
    const ids = createOrders(scene.t, 5);
    const beside = { next: "http://orders.internal/pages?batch=4&page=2", page: 1, pages: 2, total: 5 };
    const nothing = { ids: [], status: 204 };
    scene.serve({ "": { ids: ids.slice(0, 3), beside }, "page=1": nothing, "page=2": nothing });
    expect(await scene.t.run("orders")).toMatchObject({ error: { code: "answer_shape" } });
    expect([orderCount(scene.t), scene.isConfirmed()]).toEqual([3, false]);
  });

  it("is not confirmed where its link leads elsewhere and another batch is under the number of its page", async () => {
    const scene = await start();
    const ids = createOrders(scene.t, 5);
    const beside = { next: "http://orders.internal/pages?batch=4&page=2", page: 1, pages: 2, total: 4 };
    const other = { ids: ids.slice(4), beside: { batch_id: "b-2", page: 1, pages: 1, total: 1 } };
    scene.serve({ "": { ids: ids.slice(0, 2), beside }, "page=2": other });
    expect((await scene.t.run("orders")).error).toMatchObject({ message: expect.stringContaining("another address") });
    expect(scene.isConfirmed()).toBe(false);
    scene.serve({ "": { ids: ids.slice(0, 2), beside }, "page=2": { ids: ids.slice(2, 4) } });
    expect((await scene.t.run("orders")).error).toBeNull();
    expect(scene.isConfirmed()).toBe(true);
  });

  itWhole.each<[string, (link: string) => Pick<Page, "beside" | "headers">]>([
    ["next", (link) => ({ beside: { next: link } })],
    ["a link from the root", (link) => ({ beside: { meta: { next_page_url: link.replace(/^.*?(?=\/api)/, "") } } })],
    ["a query alone", (link) => ({ beside: { next: link.replace(/^[^?]*/, "") } })],
    ["HAL", (link) => ({ beside: { _links: { self: { href: PATH }, next: { href: link } } } })],
    ["OData", (link) => ({ beside: { "@odata.nextLink": link } })],
    [
      "a header",
      (link) => ({ headers: { link: `<${link.replace(/page=\d/, "page=1")}>; rel="first", <${link}>; rel="next"` } }),
    ],
    ["a count as well", (link) => ({ beside: { count: 5, next: link } })],
    ["another scheme", (link) => ({ beside: { next: link.replace("http:", "https:") } })],
    ["another host", (link) => ({ beside: { next: link.replace(/127[^/]*/, "orders.internal:8080") } })],
    ["no scheme", (link) => ({ beside: { next: link.replace(/^http:/, "") } })],
    ["a slash more", (link) => ({ beside: { next: link.replace("?", "/?") } })],
    ["a prefix more", (link) => ({ beside: { next: link.replace("/api", "/shop/api") } })],
    ["a prefix less", (link) => ({ beside: { next: link.replace("/api/v1", "") } })],
  ])("is confirmed once all its pages are stored: %s", async (_, naming) => {
    const all = await start();
    const { t, serve, asked, isConfirmed } = all;
    const ids = createOrders(t, 5);
    const link = (page: number) => `${origin(all)}${PATH}?page=${page}`;
    serve({
      "": { ids: ids.slice(0, 2), ...naming(link(2)) },
      "page=2": { ids: ids.slice(2, 4), ...naming(link(3)) },
      "page=3": { ids: ids.slice(4) },
    });
    expect((await t.run("orders")).error).toBeNull();
    expect(orderCount(t)).toBe(5);
    expect(isConfirmed()).toBe(true);
    expect(asked.slice(0, 3)).toEqual(["", "page=2", "page=3"]);
    // The confirm left after the last of them was stored.
    expect(t.rows("SELECT order_count AS n FROM batches")).toEqual([{ n: 2 }]);
  });

  itWhole.each<[string, object, string]>([
    [
      "a list of links",
      {
        links: [
          { rel: "self", href: PATH },
          { rel: "next", href: `${PATH}?page=2` },
        ],
      },
      "page=2",
    ],
    ["the number of the next page", { page: 1, next_page: 2 }, "page=2"],
    ["a number alone", { meta: { next: 2 } }, "page=2"],
    ["a cursor", { next_cursor: "c2Vj/25k" }, "cursor=c2Vj%2F25k"],
    ["a cursor among what is said of pages", { pagination: { next: "abc" } }, "cursor=abc"],
    ["a token", { nextPageToken: "abc" }, "pageToken=abc"],
    ["a token with underscores", { next_page_token: "abc" }, "page_token=abc"],
    ["an offset", { next_offset: 2 }, "offset=2"],
    ["the form of GraphQL", { pageInfo: { hasNextPage: true, endCursor: "abc" } }, "after=abc"],
    ["a flag beside a cursor", { has_more: true, cursor: "abc" }, "cursor=abc"],
    ["parts", { part: 1, parts: 2 }, "part=2"],
    ["parts in words", { page: "1 of 2" }, "page=2"],
    ["an object", { next: { size: 2, page: 2 } }, "page=2"],
    ["an object with a cursor", { paging: { next: { cursor: "abc" } } }, "cursor=abc"],
    ["a start", { next_start: 2 }, "start=2"],
    ["a token of its own name", { NextToken: "abc" }, "NextToken=abc"],
    ["Spring's page", { number: 0, totalPages: 2, size: 2, last: false, pageable: { pageNumber: 0 } }, "page=1"],
    ["Spring's slice", { number: 0, size: 2, last: false, pageable: { pageNumber: 0 } }, "page=1"],
  ])("is confirmed once the page after it is stored, as named by %s", async (_, beside, query) => {
    const { t, serve, asked, isConfirmed } = await start();
    const ids = createOrders(t, 3);
    const first = { ids: ids.slice(0, 2), beside };
    serve({ "": first, [query]: { ids: ids.slice(2) } });
    expect((await t.run("orders")).error).toBeNull();
    expect([orderCount(t), isConfirmed()]).toEqual([3, true]);
    expect(asked.slice(0, 2)).toEqual(["", query]);
  });

  itWhole.each<[string, Record<string, string>]>([
    ["GitLab", { "x-page": "1", "x-total-pages": "2" }],
    ["GitLab's total alone", { "x-total-pages": "2" }],
    ["Yii", { "x-pagination-current-page": "1", "x-pagination-page-count": "2" }],
  ])("is confirmed once the page after it is stored, as numbered by the headers of %s", async (_, headers) => {
    const { t, serve, isConfirmed } = await start();
    const ids = createOrders(t, 3);
    const second = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replace("1", "2")]));
    serve({ "": { ids: ids.slice(0, 2), headers }, "page=2": { ids: ids.slice(2), headers: second } });
    expect((await t.run("orders")).error).toBeNull();
    expect([orderCount(t), isConfirmed()]).toEqual([3, true]);
  });

  itWhole("is confirmed once the page after it is stored, where a flag says that the list is cut", async () => {
    const { t, serve, isConfirmed } = await start();
    const ids = createOrders(t, 3);
    serve({
      "": { ids: ids.slice(0, 2), beside: { IsTruncated: true, NextToken: "abc" } },
      "NextToken=abc": { ids: ids.slice(2), beside: { IsTruncated: true } },
    });
    expect((await t.run("orders")).error).not.toBeNull();
    expect([orderCount(t), isConfirmed()]).toEqual([3, false]);
    serve({
      "": { ids: ids.slice(0, 2), beside: { IsTruncated: true, NextToken: "abc" } },
      "NextToken=abc": { ids: ids.slice(2), beside: { IsTruncated: false } },
    });
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
  });

  itWhole("is whole where it has fewer records than Spring puts on a page", async () => {
    const { t, serve, isConfirmed } = await start();
    const beside = { number: 0, totalPages: 1, totalElements: 2, size: 20, first: true, last: true };
    serve({ "": { ids: createOrders(t, 2), beside } });
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
  });

  itWhole("is confirmed as it is where the service says the same beside empty lists", async () => {
    const { t, serve, asked, isConfirmed } = await start();
    const beside = { next_cursor: "abc" };
    serve({ "": { ids: [], beside: { batch_id: undefined, ...beside } } });
    await t.run("orders");
    serve({ "": { ids: createOrders(t, 2), beside }, "cursor=abc": { ids: [] } });
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
    expect(new Set(asked)).toEqual(new Set([""]));
  });

  itWhole.each<[string, object]>([
    ["a number", { next_page: 2 }],
    ["a cursor", { next_cursor: "abc" }],
    ["a flag beside a cursor", { pageInfo: { hasNextPage: true, endCursor: "abc" } }],
  ])("is confirmed as it is where the service does not know how its next page is asked for: %s", async (_, beside) => {
    for (const answer of ["again", "refused", "another batch"]) {
      const { t, serve, asked, isConfirmed } = await start();
      const ids = createOrders(t, 3);
      const first = { ids: ids.slice(0, 2), beside };
      const other = { ids: ids.slice(2), beside: { batch_id: "b-2" } };
      const second = answer === "again" ? first : answer === "refused" ? { ids: [], status: 400 } : other;
      serve({ "": first, "page=2": second, "cursor=abc": second, "after=abc": second });
      expect((await t.run("orders")).error).toBeNull();
      expect(isConfirmed()).toBe(true);
      expect(asked.length).toBeGreaterThan(1);
    }
  });

  itWhole("is whole where a batch of its own follows", async () => {
    const { t, serve, isConfirmed } = await start();
    const ids = createOrders(t, 3);
    serve({
      "": { ids: ids.slice(0, 2), beside: { next: `${PATH}?after=2` } },
      "after=2": { ids: ids.slice(2), beside: { batch_id: "b-2" } },
    });
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
  });

  itWhole.each([
    ["another batch", "b-x"],
    ["nothing", ""],
  ])("waits where its next page is empty and names %s", async (_, name) => {
    const { t, serve, isConfirmed } = await start();
    const ids = createOrders(t, 2);
    for (const beside of [{ next: `${PATH}?page=2` }, { page: 1, pages: 2 }]) {
      serve({ "": { ids, beside }, "page=2": { ids: [], beside: { batch_id: name } } });
      expect((await t.run("orders")).error).toMatchObject({ code: "answer_shape" });
      expect(isConfirmed()).toBe(false);
    }
  });

  it("waits where the service has made another batch of it before its next page was read", async () => {
    const { t, serve } = await start();
    const batch = (name: string, ids: readonly string[]) => ({
      "": { ids: ids.slice(0, 2), beside: { batch_id: name, next: `${PATH}?page=2` } },
      "page=2": { ids: ids.slice(2), beside: { batch_id: name } },
    });
    serve(batch("b-1", createOrders(t, 4)));
    expect((await t.run("orders")).error).toBeNull();
    const ids = createOrders(t, 6);
    serve({
      ...batch("b-2", ids),
      "page=2": { ids: ids.slice(2, 4), beside: { batch_id: "b-3", next: `${PATH}?page=3` } },
    });
    expect((await t.run("orders")).error).toMatchObject({ text: { id: "orders.emptyRecords" } });
    serve(batch("b-3", ids));
    expect((await t.run("orders")).error).toBeNull();
    expect(confirmBodies(t).join()).toBe('{"batch_id":"b-1"},{"batch_id":"b-3"}');
    expect(orderCount(t)).toBe(10);
  });

  itSome(1)([
    ["a cursor", "cursor=c"],
    ["the number of the page", "page="],
  ])(
    "is read anew where the first batch in pages becomes another one before its next page was read: %s",
    async (_, query) => {
      const { t, serve, asked } = await start();
      const ids = createOrders(t, 6);
      const pageOf = (batch: string, page: number) => ({
        ids: ids.slice(2 * page - 2, 2 * page),
        beside: { batch_id: batch, ...(page < 3 && { next: `${PATH}?${query}${page + 1}` }) },
      });
      const isFirst = () => asked.length <= 1;
      serve({
        get ""() {
          return pageOf(isFirst() ? "b-2" : "b-3", 1);
        },
        [`${query}2`]: pageOf("b-3", 2),
        [`${query}3`]: pageOf("b-3", 3),
      });
      expect((await t.run("orders")).error).toBeNull();
      expect(confirmBodies(t).join()).toBe('{"batch_id":"b-3"}');
      expect(orderCount(t)).toBe(6);
    },
  );

  itWhole("waits where its next page is one of the batch before, as from a cache", async () => {
    const scene = await start();
    const { t, serve } = scene;
    const batch = (name: string, ids: readonly string[], next = "page=2") => ({
      "": { ids: ids.slice(0, 2), beside: { batch_id: name, next: `${PATH}?${next}` } },
      [next]: { ids: ids.slice(2), beside: { batch_id: name } },
    });
    t.sandbox.faults.add({
      match: { path: "confirm" },
      times: 100,
      do: { kind: "raw", body: "{}", contentType: "application/json" },
    });
    const former = batch("b-1", createOrders(t, 4));
    serve(former);
    expect((await t.run("orders")).error).toBeNull();
    expect(scene.isConfirmed()).toBe(true);
    const own = batch("b-2", createOrders(t, 4));
    for (const beside of [{ batch_id: "b-1" }, {}, { batch_id: "b-2" }]) {
      serve({ ...own, "page=2": { ...former["page=2"], ids: former["page=2"]?.ids ?? [], beside } });
      expect((await t.run("orders")).error).toMatchObject({ text: { id: "orders.emptyRecords" } });
      expect(confirmBodies(t).join()).not.toContain("b-2");
    }
    serve(own);
    expect((await t.run("orders")).error).toBeNull();
    expect(confirmBodies(t).join()).toContain("b-2");
    expect(orderCount(t)).toBe(8);
    // The service serves a batch again under another name, with all its pages.
    const again = batch("b-3", former[""].ids.concat(former["page=2"]?.ids ?? []));
    serve(again);
    expect((await t.run("orders")).error).toBeNull();
    expect(confirmBodies(t).join()).toContain("b-3");
  });

  it("leaves nothing in quarantine once a page of records without content has come with its orders", async () => {
    const { t, serve, isConfirmed } = await start();
    const ids = createOrders(t, 4);
    const first = { ids: ids.slice(0, 2), beside: { next: `${PATH}?after=2` } };
    for (const beside of [{}, { batch_id: undefined }]) {
      serve({ "": first, "after=2": { ids: [], texts: ["null", "null"], beside } });
      expect((await t.run("orders")).error).toMatchObject({ text: { id: "orders.emptyRecords" } });
      expect(isConfirmed()).toBe(false);
      expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "held" }]);
      t.clock.advance(60_000);
    }
    serve({ "": first, "after=2": { ids: ids.slice(2) } });
    expect((await t.run("orders")).error).toBeNull();
    expect([orderCount(t), isConfirmed()]).toEqual([4, true]);
    expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "released" }]);
  });

  it("waits an hour where a page that was named holds nothing, as where a record holds nothing", async () => {
    const { t, serve, isConfirmed } = await start();
    const ids = createOrders(t, 2);
    serve({ "": { ids, beside: { next: `${PATH}?after=2` } }, "after=2": { ids: [] } });
    for (let minutes = 0; minutes < 60; minutes += 20) {
      expect((await t.run("orders")).error).toMatchObject({ text: { id: "orders.emptyRecords" } });
      expect([orderCount(t), isConfirmed()]).toEqual([2, false]);
      t.clock.advance(1_200_000);
    }
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
  });

  itWhole.each<[string, Page]>([
    ["an empty list", { ids: [] }],
    ["an empty list that names the page after it", { ids: [], beside: { next: `${PATH}?page=3` } }],
    ["nothing", { ids: [], status: 204 }],
    ["maintenance", { ids: [], beside: { maintenance: true } }],
  ])("is confirmed only once a page that held %s for a time has its orders", async (_, empty) => {
    for (const naming of [
      (page: number) => ({ next: `${PATH}?page=${page + 1}` }),
      (page: number) => ({ page, pages: 3 }),
      (page: number) => ({ page, has_more: true }),
    ]) {
      const { t, serve, isConfirmed } = await start();
      const ids = createOrders(t, 6);
      const pages: Record<string, Page> = {
        "": { ids: ids.slice(0, 2), beside: naming(1) },
        "page=2": { ids: ids.slice(2, 4), beside: naming(2) },
        "page=3": { ids: ids.slice(4), beside: { page: 3, pages: 3 } },
      };
      serve({ ...pages, "page=2": empty });
      expect((await t.run("orders")).error).not.toBeNull();
      expect(isConfirmed()).toBe(false);
      serve(pages);
      t.clock.advance(60_000);
      expect((await t.run("orders")).error).toBeNull();
      expect([orderCount(t), isConfirmed()]).toEqual([6, true]);
    }
  });

  itWhole.each<[string, Page]>([
    ["is refused", { ids: [], status: 404 }],
    ["fails", { ids: [], status: 500 }],
    ["is the same page again", { ids: ["0", "1"], beside: { next: `${PATH}?page=2` } }],
    ["says that it is wrong", { ids: ["2"], beside: { error: "database is down" } }],
  ])("is stored and not confirmed where that page %s, until it can be read", async (_, page) => {
    const { t, serve, isConfirmed } = await start();
    const ids = createOrders(t, 3);
    const first = { ids: ids.slice(0, 2), beside: { next: `${PATH}?page=2` } };
    serve({ "": first, "page=2": { ...page, ids: page.ids.map((n) => ids[Number(n)] as string) } });
    for (let polls = 0; polls < 3; polls++) {
      const { error } = await t.run("orders");
      expect(error).toMatchObject({
        code: "answer_shape",
        message: expect.stringContaining("next page of its batch of 2"),
      });
      t.clock.advance(60_000);
    }
    expect(isConfirmed()).toBe(false);
    expect(orderCount(t)).toBeGreaterThanOrEqual(2);
    expect(t.rows("SELECT area FROM holds")).toEqual([]);
    serve({ "": first, "page=2": { ids: ids.slice(2) } });
    expect((await t.run("orders")).error).toBeNull();
    expect([isConfirmed(), orderCount(t)]).toEqual([true, 3]);
  });

  it("is whole where different records of its pages bear one id", async () => {
    const { t, serve, isConfirmed } = await start();
    const [id] = createOrders(t, 1) as [string];
    const text = t.sandbox.service.newestText(id) as string;
    const of = (n: number) => text.replace(/"number":"[^"]*"/, `"number":"${n}"`);
    const beside = { total: 3, pages: 2 };
    serve({
      "": { ids: [], texts: [of(1), of(2)], beside: { next: `${PATH}?page=2`, ...beside } },
      "page=2": { ids: [], texts: [of(3)], beside: { next: null, ...beside } },
    });
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
  });

  /** Orders of a deployment that gives all of them one id: number, time of creation and lines differ. */
  async function startUnderOneId({ isKnown = false } = {}) {
    const scene = await start();
    const [id] = createOrders(scene.t, 1) as [string];
    if (isKnown) expect((await scene.t.run("orders")).error).toBeNull();
    const text = scene.t.sandbox.service.newestText(id) as string;
    const of = (n: number, quantity = n) =>
      text
        .replace(/"number":"[^"]*"/, `"number":"${n}"`)
        .replace(/"created_at":"[^"]*"/, `"created_at":"2026-02-0${n}T12:00:00Z"`)
        .replace(/"quantity":[0-9.]+/, `"quantity":${quantity}`);
    return { ...scene, of };
  }

  itSome(2)<[string, { isKnown?: boolean; pages: [readonly number[], readonly number[]] }]>([
    ["only the last page gives an id of the first to several", { pages: [[1], [2, 3]] }],
    ["each page gives one id to one order", { pages: [[1], [2]] }],
    ["each page gives the id of a stored order to one other", { isKnown: true, pages: [[1], [2]] }],
    ["one page gives the id of a stored order to one other, the next to two", { isKnown: true, pages: [[1], [2, 3]] }],
    ["the first page has the id several times", { pages: [[1, 2], [3]] }],
  ])("is whole where %s", async (_, { isKnown, pages: [first, second] }) => {
    const { t, serve, isConfirmed, of } = await startUnderOneId({ isKnown: isKnown === true });
    serve({
      "": { ids: [], texts: first.map((n) => of(n)), beside: { next: `${PATH}?page=2` } },
      "page=2": { ids: [], texts: second.map((n) => of(n)), beside: { next: null } },
    });
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
    const held = t.rows<{ payload: string }>("SELECT CAST(payload AS TEXT) AS payload FROM quarantine");
    const all = [...first, ...second].filter((n) => isKnown === true || n !== 1);
    for (const n of all) expect(held.some(({ payload }) => payload.includes(`"number":"${n}"`))).toBe(true);
  });

  itSome(2)<[string, { isKnown?: boolean; again: [n: number, quantity: number] }]>([
    ["an order that has changed its lines", { again: [1, 7] }],
    ["another order that has the id of a stored one", { isKnown: true, again: [1, 1] }],
  ])("is held where the next page is the first one again, with %s", async (_, { isKnown, again }) => {
    const { t, serve, isConfirmed, of } = await startUnderOneId({ isKnown: isKnown === true });
    serve({
      "": { ids: [], texts: [of(1)], beside: { next: `${PATH}?page=2` } },
      "page=2": { ids: [], texts: [of(...again)], beside: { next: null } },
    });
    expect((await t.run("orders")).error).toMatchObject({ code: "answer_shape" });
    expect(isConfirmed()).toBe(false);
  });

  it("is held where a page holds a record that was read, and one id stands for several", async () => {
    const { t, serve, isConfirmed } = await start();
    const [id] = createOrders(t, 1) as [string];
    const text = t.sandbox.service.newestText(id) as string;
    const of = (n: number) => text.replace(/"number":"[^"]*"/, `"number":"${n}"`);
    serve({
      "": { ids: [], texts: [of(1), of(2)], beside: { next: `${PATH}?page=2` } },
      "page=2": { ids: [], texts: [of(2), of(3)], beside: { next: null } },
    });
    expect((await t.run("orders")).error).toMatchObject({ code: "answer_shape" });
    expect(isConfirmed()).toBe(false);
  });

  /** Serves a list in pages of two, as it is at each request: `change` is called before the request of that number, from 0 on. */
  function serveList(
    { t, serve, asked }: Awaited<ReturnType<typeof start>>,
    { list, link, change }: { list: string[]; link: (page: number) => string; change: (request: number) => void },
  ) {
    const pages: Record<string, Page> = {};
    const page = (at: number): Page => {
      const size = 2;
      const beside = list.length > at * size ? { next: `${PATH}?${link(at + 1)}` } : { next: null };
      return { ids: list.slice((at - 1) * size, at * size), beside };
    };
    for (let at = 1; at < 9; at++) {
      const get = () => {
        change(asked.length - 1);
        return page(at);
      };
      Object.defineProperty(pages, at === 1 ? "" : link(at), { get, enumerable: true });
    }
    serve(pages);
    return t;
  }

  describe.each<[string, (page: number) => string]>([
    ["by number", (page) => `page=${page}&limit=2`],
    ["by a number from 0 on", (page) => `p=${page - 1}`],
    ["by offset", (page) => `limit=2&offset=${(page - 1) * 2}`],
    ["by a number of an unknown name", (page) => `after=${(page - 1) * 2}`],
  ])("whose pages go %s", (_, link) => {
    itSome(1)([1, 2])(
      "is confirmed once it was read twice with the same orders: one leaves before request %i",
      async (request) => {
        const all = await start();
        const { t, asked, isConfirmed } = all;
        const ids = createOrders(t, 6);
        const list = [...ids];
        serveList(all, {
          list,
          link,
          change: (at) => void (at === request && asked.length === at + 1 && list.shift()),
        });
        expect((await t.run("orders")).error).toBeNull();
        expect([orderCount(t), isConfirmed()]).toEqual([6, true]);
        const [row] = t.rows<{ ids: string }>("SELECT order_ids AS ids FROM batches");
        expect(new Set(JSON.parse(row?.ids ?? "[]") as string[])).toEqual(new Set(ids));
      },
    );

    itWhole("is asked for the same pages once more where nothing leaves, and confirmed", async () => {
      const all = await start();
      const { t, asked, isConfirmed } = all;
      serveList(all, { list: createOrders(t, 4), link, change: () => {} });
      expect((await t.run("orders")).error).toBeNull();
      expect([orderCount(t), isConfirmed()]).toEqual([4, true]);
      expect(asked.slice(0, 4).filter((query) => query === link(2))).toHaveLength(2);
    });
  });

  itWhole("is not confirmed while its pages hold other orders each time, and is as soon as they stay", async () => {
    const all = await start();
    const { t, isConfirmed } = all;
    const [...rest] = createOrders(t, 40);
    const list = rest.splice(0, 4);
    const move = () => {
      list.shift();
      list.push(rest.shift() as string);
    };
    let isMoving = true;
    serveList(all, { list, link: (page) => `page=${page}`, change: () => void (isMoving && move()) });
    expect((await t.run("orders")).error).toMatchObject({ message: expect.stringContaining("other orders each time") });
    expect(isConfirmed()).toBe(false);
    isMoving = false;
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
  });

  itWhole("is confirmed with what an order says when its page is read again", async () => {
    const { t, serve, isConfirmed } = await start();
    const ids = createOrders(t, 3);
    const first = { ids: ids.slice(0, 2), beside: { next: `${PATH}?page=2` } };
    const pages: Record<string, Page> = { "": first };
    let reads = 0;
    const get = () => {
      t.clock.advance(1_000);
      if (reads++ === 1) t.sandbox.service.changeOrder(ids[2] as string, { status: "packed" });
      return { ids: ids.slice(2) };
    };
    Object.defineProperty(pages, "page=2", { get });
    serve(pages);
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
    expect(t.rows("SELECT count(*) AS n FROM orders WHERE status = 'packed'")).toEqual([{ n: 1 }]);
  });

  itWhole("is confirmed under its newest name, and another batch that comes instead is stored as one", async () => {
    const { t, serve, asked } = await start();
    const ids = createOrders(t, 4);
    const page = (from: number, to: number, batch_id: string, next?: string): Page => ({
      ids: ids.slice(from, to),
      beside: { batch_id, ...(next !== undefined && { next: `${PATH}?${next}` }) },
    });
    const pages: Record<string, Page> = {};
    let firsts = 0;
    const lease = () => {
      firsts += 1;
      return page(0, 1, `lease-${firsts}`, "after=1");
    };
    Object.defineProperty(pages, "", { get: lease });
    Object.defineProperty(pages, "after=1", { get: () => page(1, 2, `lease-${firsts}`) });
    serve(pages);
    expect((await t.run("orders")).error).toBeNull();
    expect(confirmBodies(t).filter((body) => body?.includes("lease-"))[0]).toContain(`lease-2`);
    expect(orderCount(t)).toBe(2);
    expect(asked.length).toBeGreaterThan(3);
    const once: Record<string, Page> = { "page=2": page(1, 2, "b-1") };
    let answers = 0;
    Object.defineProperty(once, "", {
      get: () => (answers++ === 0 ? page(0, 1, "b-1", "page=2") : page(2, 4, "b-2")),
    });
    serve(once);
    await t.run("orders");
    expect(confirmBodies(t).join()).not.toContain("b-1");
    await t.run("orders");
    expect(orderCount(t)).toBe(4);
    expect(confirmBodies(t).join()).toContain("b-2");
    expect(confirmBodies(t).join()).not.toContain("b-1");
  });

  itWhole("is read once where a cursor leads on", async () => {
    const { t, serve, asked, isConfirmed } = await start();
    const ids = createOrders(t, 3);
    serve({
      "": { ids: ids.slice(0, 2), beside: { next: `${PATH}?cursor=c2Vjb25k` } },
      "cursor=c2Vjb25k": { ids: ids.slice(2) },
    });
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
    expect(asked.slice(0, 3)).toEqual(["", "cursor=c2Vjb25k", ""]);
  });

  itWhole(
    "is confirmed as it is once a person says that the link means nothing, and no page is asked for any more",
    async () => {
      const { t, serve, asked, isConfirmed } = await start();
      serve({ "": { ids: createOrders(t, 2), beside: { next: `${PATH}?page=2` } } });
      expect((await t.run("orders")).error).not.toBeNull();
      t.bridge.store.write(() => acceptMetadata(t.bridge.store, "orders"));
      asked.length = 0;
      expect((await t.run("orders")).error).toBeNull();
      expect(isConfirmed()).toBe(true);
      expect(new Set(asked)).toEqual(new Set([""]));
    },
  );

  itWhole.each<[string, object]>([
    ["the same request", { next: PATH }],
    ["the same request by another host", { next: `https://orders.internal${PATH}/` }],
    ["no link", { next: "//[" }],
  ])("leads nowhere where it is one to %s", async (_, beside) => {
    const { t, serve, asked, isConfirmed } = await start();
    serve({ "": { ids: createOrders(t, 2), beside } });
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
    expect(new Set(asked)).toEqual(new Set([""]));
    expect(t.sandbox.ledger.entries.map(({ path }) => path).join()).not.toContain("page=2");
  });

  itWhole.each<[string, object]>([
    ["another path", { next: "/api/v1/1c/orders/updates?page=2" }],
    ["another path of the service alone", { next: "/api/v1/1c/orders/pages/2" }],
    ["another path, its beginning taken by a proxy", { next: "/orders/pages/2" }],
    ["another path of another host", { next: "https://orders.internal/pages/2" }],
    ["credentials", { next: `http://a:b@127.0.0.1${PATH}?page=2` }],
  ])("is stored and not confirmed where the link leads elsewhere: %s", async (_, beside) => {
    const { t, serve, asked, isConfirmed } = await start();
    const ids = createOrders(t, 4);
    serve({ "": { ids: ids.slice(0, 2), beside } });
    expect((await t.run("orders")).error).toMatchObject({ message: expect.stringContaining("next") });
    expect(orderCount(t)).toBe(2);
    expect(isConfirmed()).toBe(false);
    expect(new Set(asked)).toEqual(new Set([""]));
    expect(t.sandbox.ledger.entries.map(({ path }) => path).join()).not.toMatch(/page=2|pages\/2/);
    serve({
      "": { ids: ids.slice(0, 2), beside: { next: `${PATH}?page=2` } },
      "page=2": { ids: ids.slice(2), beside },
    });
    expect((await t.run("orders")).error).toMatchObject({ message: expect.stringContaining("another address") });
    expect(isConfirmed()).toBe(false);
    serve({ "": { ids: ids.slice(0, 2), beside: { next: `${PATH}?page=2` } }, "page=2": { ids: ids.slice(2) } });
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
  });

  itWhole.each<[string, object, string]>([
    ["a link", { next: `${PATH}?page=2` }, "page=2"],
    ["a flag", { page: 1, has_more: true }, "page=2"],
    ["a cursor", { next_cursor: "abc" }, "cursor=abc"],
  ])("is stored whole before a confirm that names nothing: %s", async (_, beside, query) => {
    const { t, serve, asked } = await start("all");
    const ids = createOrders(t, 5);
    const first = { ids: ids.slice(0, 2), beside };
    serve({ "": first, [query]: { ids: [], status: 503 } });
    await t.run("orders");
    expect([orderCount(t), confirmBodies(t)]).toEqual([2, []]);
    serve({ "": first, [query]: { ids: ids.slice(2) } });
    t.clock.advance(60_000);
    await t.run("orders");
    expect([orderCount(t), confirmBodies(t)]).toEqual([5, ["{}"]]);
    expect(asked).toContain(query);
    expect(t.rows("SELECT reason FROM holds")).toEqual([]);
  });

  it("is followed by no page where the confirm names its orders", async () => {
    const { t, serve, asked } = await start("order_ids");
    serve({ "": { ids: createOrders(t, 2), beside: { batch_id: null, next: `${PATH}?page=2` } } });
    await t.run("orders");
    expect(new Set(asked)).toEqual(new Set([""]));
  });

  itWhole("is in the journal with all its pages", async () => {
    const sandbox = { options: { handOut: "repeat", confirmForm: "batch_id" } } as const;
    const scene = await startScene({ backup: { journal: "journal" } }, { sandbox });
    const { t, serve, isConfirmed } = servePages(scene);
    await scene.backUp();
    const ids = createOrders(t, 5);
    serve({
      "": { ids: ids.slice(0, 2), beside: { total: 5, next: `${PATH}?page=2` } },
      "page=2": { ids: ids.slice(2), beside: { total: 5 } },
    });
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
    const lose = () => {
      for (const end of ["", "-wal", "-shm"]) rmSync(`${scene.database}${end}`, { force: true });
    };
    expect((await scene.restore(lose)).journal).toMatchObject({ unread: 0, orders: 5 });
    expect(orderCount(scene)).toBe(5);
  });

  itWhole("comes back from the journal as far as it was read, and is not confirmed for that", async () => {
    const sandbox = { options: { handOut: "repeat", confirmForm: "batch_id" } } as const;
    const scene = await startScene({ backup: { journal: "journal" } }, { sandbox });
    const { t, serve, isConfirmed } = servePages(scene);
    await scene.backUp();
    const ids = createOrders(t, 5);
    const page = (numbers: number[], next?: number) => ({
      ids: numbers.map((number) => ids[number]!),
      beside: { total: 5, ...(next !== undefined && { next: `${PATH}?page=${next}` }) },
    });
    const lose = () => {
      for (const end of ["", "-wal", "-shm"]) rmSync(`${scene.database}${end}`, { force: true });
    };
    const pages = { "": page([0, 1], 2), "page=2": page([2, 3], 3), "page=3": page([4]) };
    for (const [read, lacking] of [
      [2, { "page=2": { ids: [], status: 500 } }],
      [4, { "page=3": { ids: [], status: 500 } }],
    ] as const) {
      serve({ ...pages, ...lacking });
      await t.run("orders");
      expect((await scene.restore(lose)).journal).toMatchObject({ batches: 0, unread: 0, orders: read });
      expect([orderCount(scene), scene.rows("SELECT id FROM batches")]).toEqual([read, []]);
      t.clock.advance(3_600_000);
      await t.run("orders");
      expect(isConfirmed()).toBe(false);
    }
    serve(pages);
    await t.run("orders");
    expect([isConfirmed(), orderCount(scene)]).toEqual([true, 5]);
  });

  itWhole("is in the journal as far as it came beside an error, and can be restored", async () => {
    const sandbox = { options: { handOut: "repeat", confirmForm: "batch_id" } } as const;
    const scene = await startScene({ backup: { journal: "journal" } }, { sandbox });
    const { t, serve, isConfirmed } = servePages(scene);
    await scene.backUp();
    const ids = createOrders(t, 2);
    serve({ "": { ids, beside: { success: false, error: "the database is busy" } } });
    for (let pass = 0; pass < 3; pass++) expect((await t.run("orders")).error).not.toBeNull();
    const journal = path.join(scene.folder, "journal");
    expect([...readJournal(journal)].flatMap(({ entries }) => entries.map(({ note }) => note.isPart))).toEqual([true]);
    const lose = () => {
      for (const end of ["", "-wal", "-shm"]) rmSync(`${scene.database}${end}`, { force: true });
    };
    expect((await scene.restore(lose)).journal).toMatchObject({ batches: 0, unread: 0, orders: 2 });
    expect([orderCount(scene), isConfirmed()]).toEqual([2, false]);
  });
});

describe("a batch beside the number of its page", () => {
  type Numbers = { page: number; pages: number; total: number; size: number };
  const FORMS: [string, (numbers: Numbers) => object][] = [
    [
      "current_page of last_page",
      ({ page, pages, total }) => ({ current_page: page, last_page: pages, total, per_page: 2 }),
    ],
    ["page of pages", ({ page, pages, total }) => ({ meta: { page, pages, per_page: 2, total } })],
    ["page of", ({ page, pages }) => ({ page: String(page), of: String(pages) })],
    [
      "number of totalPages",
      ({ page, pages, total, size }) => ({
        number: page - 1,
        totalPages: pages,
        totalElements: total,
        numberOfElements: size,
        last: page === pages,
      }),
    ],
    ["offset of total", ({ page, total }) => ({ meta: { offset: (page - 1) * 2, limit: 2, total } })],
    ["pageNumber from 0 on", ({ page, pages }) => ({ pageNumber: page - 1, total_pages: pages })],
    ["page from 0 on of lastPage", ({ page, pages }) => ({ page: page - 1, lastPage: pages - 1 })],
    ["page and has_more", ({ page, pages }) => ({ page, has_more: page < pages })],
  ];
  const queryOf = (name: string, page: number) => {
    if (name === "offset of total") return `offset=${(page - 1) * 2}`;
    if (name === "number of totalPages" || name.startsWith("page from 0")) return `page=${page - 1}`;
    return name === "pageNumber from 0 on" ? `pageNumber=${page - 1}` : `page=${page}`;
  };

  /** Five orders in pages of two; `more` stands beside each page as well. */
  function inPages(
    all: Awaited<ReturnType<typeof start>>,
    [name, beside]: (typeof FORMS)[number],
    more: (page: number) => object = () => ({}),
  ): { pages: Record<string, Page>; ids: string[] } {
    const ids = createOrders(all.t, 5);
    const pages = [1, 2, 3].map((page): [string, Page] => {
      const served = ids.slice((page - 1) * 2, page * 2);
      const numbers = beside({ page, pages: 3, total: 5, size: served.length });
      return [page === 1 ? "" : queryOf(name, page), { ids: served, beside: { ...numbers, ...more(page) } }];
    });
    const served = Object.fromEntries(pages);
    // The first page by its number.
    const first = { [queryOf(name, 1)]: served[""] as Page };
    all.serve({ ...served, ...first });
    return { pages: { ...served, ...first }, ids };
  }

  itSome(1)(FORMS)("is confirmed once the pages that links name are stored: %s", async (...form) => {
    const all = await start();
    inPages(all, form, (page) => ({ next_page_url: page < 3 ? `${PATH}?${queryOf(form[0], page + 1)}` : null }));
    expect((await all.t.run("orders")).error).toBeNull();
    expect([all.isConfirmed(), orderCount(all.t)]).toEqual([true, 5]);
  });

  itWhole.each(FORMS.toReversed())(
    "is confirmed once the pages behind it are stored, without a link: %s",
    async (...form) => {
      const all = await start();
      inPages(all, form);
      expect((await all.t.run("orders")).error).toBeNull();
      expect([all.isConfirmed(), orderCount(all.t)]).toEqual([true, 5]);
      expect(all.asked.slice(0, 3)).toEqual(["", queryOf(form[0], 2), queryOf(form[0], 3)]);
      expect(all.asked).not.toContain(queryOf(form[0], 4));
    },
  );

  it("is confirmed once the pages behind it are stored, by a header", async () => {
    const { t, serve, asked, isConfirmed } = await start();
    const ids = createOrders(t, 5);
    serve({
      "": { ids: ids.slice(0, 2), headers: { "x-next-page": "2" } },
      "page=1": { ids: ids.slice(0, 2), headers: { "x-next-page": "2" } },
      "page=2": { ids: ids.slice(2, 4), headers: { "x-next-page": "3" } },
      "page=3": { ids: ids.slice(4), headers: { "x-next-page": "" } },
    });
    expect((await t.run("orders")).error).toBeNull();
    expect([isConfirmed(), orderCount(t)]).toEqual([true, 5]);
    expect(asked.slice(0, 3)).toEqual(["", "page=2", "page=3"]);
  });

  itWhole.each<[string, Page]>([
    ["has_more", { ids: [], beside: { page: 1, has_more: true } }],
    ["a header", { ids: [], headers: { "x-next-page": "2" } }],
  ])("is confirmed where the service does not turn pages, and says that more waits: %s", async (_, page) => {
    for (const answer of ["again", "refused"]) {
      const { t, serve, isConfirmed } = await start();
      const first = { ...page, ids: createOrders(t, 2) };
      serve({ "": first, "page=2": answer === "again" ? first : { ids: [], status: 400 } });
      expect((await t.run("orders")).error).toBeNull();
      expect([isConfirmed(), orderCount(t)]).toEqual([true, 2]);
    }
  });

  it("is confirmed where one leaves it between two pages, and the numbers beside the first one are smaller then", async () => {
    const { t, serve, isConfirmed } = await start();
    const list = createOrders(t, 3);
    const pages: Record<string, Page> = {};
    for (const page of [1, 2]) {
      const get = () => {
        if (page === 2 && list.length === 3) list.shift();
        const [pages, total] = [Math.ceil(list.length / 2), list.length];
        const next = page < pages ? `${PATH}?page=${page + 1}` : null;
        return { ids: list.slice((page - 1) * 2, page * 2), beside: { next, page, pages, total } };
      };
      Object.defineProperty(pages, page === 1 ? "" : `page=${page}`, { get, enumerable: true });
    }
    serve(pages);
    expect((await t.run("orders")).error).toBeNull();
    expect([isConfirmed(), orderCount(t)]).toEqual([true, 3]);
  });

  itWhole("is confirmed by itself where the next page is a batch of its own", async () => {
    const all = await start();
    const form = FORMS[0] as (typeof FORMS)[number];
    inPages(all, form, (page) => ({
      batch_id: `b-${page}`,
      next_page_url: page < 3 ? `${PATH}?page=${page + 1}` : null,
    }));
    expect((await all.t.run("orders")).error).toBeNull();
    expect(all.isConfirmed()).toBe(true);
    expect(confirmBodies(all.t).join()).not.toMatch(/b-[23]/);
  });

  itWhole("is not confirmed where its pages hold fewer records than there are, for a day", async () => {
    const all = await start();
    const form = FORMS[0] as (typeof FORMS)[number];
    // No sum over their lines.
    inPages(all, form, () => ({ total: 70 }));
    for (let hour = 0; hour < 24; hour++) {
      expect((await all.t.run("orders")).error).toMatchObject({ message: expect.stringContaining("total = 70") });
      all.t.clock.advance(3_600_000);
    }
    expect([all.isConfirmed(), orderCount(all.t)]).toEqual([false, 5]);
    expect((await all.t.run("orders")).error).toBeNull();
    expect(all.isConfirmed()).toBe(true);
  });

  itWhole.each<[string, object]>([
    ["a flag of a part", { partial: true }],
    ["a record that was left out", { skipped: ["ЗК-7"] }],
  ])("is not confirmed where its last page lacks something: %s", async (_, lack) => {
    const all = await start();
    inPages(all, FORMS[1] as (typeof FORMS)[number], (page) => (page === 3 ? lack : {}));
    expect((await all.t.run("orders")).error).toMatchObject({ message: expect.stringContaining("holds more than") });
    expect([all.isConfirmed(), orderCount(all.t)]).toEqual([false, 5]);
    inPages(all, FORMS[1] as (typeof FORMS)[number]);
    expect((await all.t.run("orders")).error).toBeNull();
    expect(all.isConfirmed()).toBe(true);
  });

  itWhole("is whole with 206 and a range once as many records came as there are", async () => {
    for (const total of [4, 5]) {
      const { t, serve, isConfirmed } = await start();
      const ids = createOrders(t, 4);
      const head = (from: number) => ({
        status: 206,
        headers: { "content-range": `orders ${from}-${from + 1}/${total}` },
      });
      serve({
        "": { ids: ids.slice(0, 2), beside: { next: `${PATH}?after=b` }, ...head(0) },
        "after=b": { ids: ids.slice(2), ...head(2) },
      });
      await t.run("orders");
      expect(isConfirmed()).toBe(total === 4);
    }
  });

  itWhole.each<[string, Page | undefined, number]>([
    ["is the first one again", undefined, 1],
    ["is refused", { ids: [], status: 404 }, 1],
  ])("waits where the next page %s, and goes on", async (_, page, hours) => {
    const { t, serve, isConfirmed } = await start();
    const ids = createOrders(t, 12);
    const first = { ids: ids.slice(0, 10), beside: { page: 1, pages: 2, per_page: 10 } };
    serve({ "": first, "page=2": page ?? first });
    for (let hour = 0; hour < hours; hour++) {
      expect((await t.run("orders")).error).toMatchObject({ code: "answer_shape" });
      t.clock.advance(3_500_000);
    }
    expect(isConfirmed()).toBe(false);
    t.clock.advance(hours * 100_000);
    expect((await t.run("orders")).error).toBeNull();
    expect(isConfirmed()).toBe(true);
  });

  itWhole.each([
    ["that follows others is refused", "page=3", 404],
    ["fails", "page=2", 500],
  ])("waits until its page is read, however long, where one %s", async (_, page, status) => {
    const all = await start();
    const { pages } = inPages(all, FORMS[1] as (typeof FORMS)[number]);
    all.serve({ ...pages, [page]: { ids: [], status } });
    for (let hour = 0; hour < 50; hour++) {
      expect((await all.t.run("orders")).error).toMatchObject({ message: expect.stringContaining("next page") });
      all.t.clock.advance(3_600_000);
    }
    expect(all.isConfirmed()).toBe(false);
    all.serve(pages);
    expect((await all.t.run("orders")).error).toBeNull();
    expect(all.isConfirmed()).toBe(true);
  });
});
