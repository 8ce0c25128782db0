import { describe, expect } from "vitest";
import { dismissObservations, loadObservations } from "../../src/probe/observations.ts";
import type { Followed } from "../support/followed.ts";
import { type Rewrite, startWithRewritten } from "../support/rewritten.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const FORMS = {
  iso: { write: (ms: number) => new Date(ms).toISOString(), is: /^\d{4}-\d\d-\d\dT.*Z$/ },
  unix: { write: (ms: number) => Math.floor(ms / 1000), is: /^\d{10}$/ },
  unix_ms: { write: (ms: number) => ms, is: /^\d{13}$/ },
  date: { write: (ms: number) => new Date(ms).toISOString().slice(0, 10), is: /^\d{4}-\d\d-\d\d$/ },
} as const;
type FormName = keyof typeof FORMS;

const noticed = ({ bridge }: Followed) => loadObservations(bridge.store).filter(({ kind }) => kind === "times");

/** A service that answers a `since` of another form than its own with an empty list, or refuses it. */
async function startStrict(form: FormName, { refuses = false } = {}) {
  const test = await startWithRewritten(4);
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  let own = form;
  const asked: string[] = [];
  service.handle = (request) => {
    const [path = "", query] = request.path.split("?");
    const since = new URLSearchParams(query).get("since");
    if (!path.endsWith("/updates") || since === null) return handle(request);
    asked.push(since);
    if (FORMS[own].is.test(since)) return handle(request);
    const answered = handle({ ...request, path: `${path}?since=2026-01-01T00:00:00Z` });
    return { ...answered, status: refuses ? 400 : 200, body: Buffer.from(refuses ? "{}" : '{"updates":[]}') };
  };
  /** How orders of `of` are written, or all. */
  const write = (as: FormName, isOf: (id: unknown) => boolean = () => true) => {
    const rewrite: Rewrite = (order) =>
      isOf(order["order_id"])
        ? { ...order, updated_at: FORMS[as].write(Date.parse(String(order["updated_at"]))) }
        : order;
    for (const endpoint of ["orders", "updates", "snapshot"] as const) test.rewrite(endpoint, rewrite);
  };
  const create = async () => {
    test.clock.advance(MINUTE_MS);
    const id = service.createOrder();
    await test.run("orders");
    return id;
  };
  const pollFor = async (minutes: number) => {
    for (let at = 0; at < minutes; at += 5) await test.poll(5 * MINUTE_MS).catch(() => undefined);
  };
  const deploy = (next: FormName) => {
    own = next;
    write(next);
  };
  return { ...test, asked, write, create, pollFor, deploy };
}

describe("a service whose times come in another form after a deployment", () => {
  itSome(1)<[FormName, FormName, boolean]>([
    ["iso", "unix", false],
    ["iso", "unix_ms", false],
    ["iso", "unix", true],
  ])("is followed from %s to %s by one new order (the former form is refused: %s)", async (from, to, refuses) => {
    const test = await startStrict(from, { refuses });
    const { ids, change, statusOf, asked } = test;
    change(ids[3]!, { status: "paid" });
    await test.pollFor(10);
    test.deploy(to);
    const created = await test.create();
    await test.pollFor(10);
    change(ids[0]!, { status: "cancelled" });
    change(created, { status: "cancelled" });
    await test.pollFor(10);
    expect([ids[0]!, created].map((id) => statusOf(id).status)).toEqual(["cancelled", "cancelled"]);
    expect(noticed(test)).toHaveLength(1);
    dismissObservations(test.bridge.store);
    expect(noticed(test)).toEqual([]);
    // From then on it is the form of each pass.
    change(ids[1]!, { status: "cancelled" }, HOUR_MS);
    await test.poll(5 * MINUTE_MS);
    expect(statusOf(ids[1]!).status).toBe("cancelled");
    expect(test.watermark()).toMatch(FORMS[to].is);
    const before = asked.length;
    await test.pollFor(60);
    expect(asked.slice(before).filter((since) => FORMS[to].is.test(since)).length).toBeGreaterThanOrEqual(12);
  });

  itWhole("is followed through a second deployment, and back", async () => {
    const test = await startStrict("iso");
    const { ids, change, statusOf } = test;
    change(ids[3]!, { status: "paid" });
    await test.pollFor(10);
    for (const [index, form] of (["unix_ms", "unix", "iso"] as const).entries()) {
      test.deploy(form);
      await test.create();
      await test.pollFor(10);
      change(ids[index]!, { status: "cancelled" }, HOUR_MS);
      await test.pollFor(10);
      expect(statusOf(ids[index]!).status).toBe("cancelled");
    }
  });
});

inWhole("updates/two-forms").describe("a service of which some orders have times in another form", () => {
  itSome(1)<FormName>(["unix_ms", "unix", "date"])("is followed in the form of its changes (%s)", async (form) => {
    const test = await startStrict("iso");
    const { ids, change, statusOf, asked } = test;
    change(ids[3]!, { status: "paid" });
    await test.pollFor(10);
    const others = new Set<unknown>();
    test.write(form, (id) => others.has(id) || !ids.includes(String(id)));
    for (let times = 0; times < 4; times++) others.add(await test.create());
    await test.pollFor(10);
    const before = asked.length;
    for (const id of ids) {
      change(id, { status: "cancelled" }, 10 * MINUTE_MS);
      await test.poll();
      expect(statusOf(id).status).toBe("cancelled");
    }
    for (let polls = 0; polls < 60; polls++) await test.poll();
    const asOthers = asked.slice(before).filter((since) => FORMS[form].is.test(since));
    expect(asOthers.length).toBeGreaterThan(5);
    expect(asOthers.length).toBeLessThan(25);
    expect(noticed(test)).toHaveLength(1);
  });
});
