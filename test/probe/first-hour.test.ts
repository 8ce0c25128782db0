import { describe, expect } from "vitest";
import { parse } from "yaml";
import { chooseForms, isUnsafe, serviceOptions } from "../../scripts/simulate/forms.ts";
import { editConfig } from "../../src/config/edit-config.ts";
import { exampleConfig } from "../../src/config/example.ts";
import { loadable } from "../../src/config/proposal.ts";
import { exploreNewService, exploreService, probeService } from "../../src/daemon/ask-outside.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { seededRandom } from "../../src/sandbox/random.ts";
import { configFor, mergeSettings, type Settings, startTestBridge } from "../support/bridge.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome, runs } from "../support/whole.ts";

/** Names of services that have their own words for everything. */
const DIALECTS: readonly SandboxOptionsPatch[] = [
  {},
  {
    shape: {
      batch: ["result", "list"],
      batchId: ["result", "packet"],
      updates: ["changes"],
      snapshot: ["data", "order"],
      order: { order_id: "uuid", number: "num", status: "state", total: "sum", items: "positions" },
      line: { sku: "article", name: "title", quantity: "qty", price: "cost" },
    },
    confirmKey: ["packet"],
  },
  {
    shape: {
      batch: ["данные", "заказы"],
      batchId: ["данные", "пакет"],
      updates: ["изменения"],
      snapshot: ["заказ"],
      order: {
        order_id: "Ссылка",
        number: "Номер",
        status: "Статус",
        created_at: "ДатаСоздания",
        updated_at: "ДатаИзменения",
        currency: "Валюта",
        total: "Сумма",
        items: "Товары",
      },
      line: { sku: "Артикул", name: "Наименование", quantity: "Количество", price: "Цена" },
    },
  },
];
const ORDERS = 5;
/** `npm ci`, `init`, `run`, and this often `probe --write`: five commands. */
const PROBES_MAX = 2;

/** What one who types the commands does, without an editor. */
async function installAt(
  options: SandboxOptionsPatch,
): Promise<{ test: Awaited<ReturnType<typeof startTestBridge>>; again: () => Promise<void>; text: () => string }> {
  const folder = tempFolder();
  const test = await startTestBridge({ folder, sandbox: { options } });
  const explore = {
    clock: test.clock,
    signal: new AbortController().signal,
    consent: async () => false,
    progress: () => {},
  };
  const { service } = test.sandbox;
  const isDone = () =>
    test.sandbox.ledger.confirmedOrderIds().size === ORDERS && test.rows("SELECT 1 FROM orders").length === ORDERS;

  const found = await exploreNewService(configFor(test.sandbox, folder), explore);
  let text = exampleConfig({ "service.client_secret": "stand-in", ...loadable(found.keys) });
  const settings = (): Settings => {
    const { service: _, database: __, backup: ___, ...own } = parse(text) as Settings;
    return Object.fromEntries(Object.entries(own).filter(([, value]) => value !== null));
  };
  expect((await probeService(configFor(test.sandbox, folder, settings()), test.clock)).filter(({ ok }) => !ok)).toEqual(
    [],
  );

  for (let made = 0; made < ORDERS; made++) service.createOrder();
  await test.restart(settings());
  const pull = async () => {
    for (let pass = 0; pass < 2 * ORDERS && !isDone(); pass++) {
      await test.run("orders");
      test.clock.advance(61_000);
    }
  };
  let probes = 0;
  const again = async () => {
    const { keys } = await exploreService(configFor(test.sandbox, folder, settings()), explore);
    const edited = editConfig(text, loadable(keys));
    expect(edited).toBeDefined();
    text = edited?.text ?? text;
    await test.restart(settings());
  };
  for (await pull(); !isDone() && probes < PROBES_MAX; probes++) {
    await again();
    await pull();
  }
  expect(
    isDone(),
    `after ${probes} probes:\n${JSON.stringify([settings(), test.rows("SELECT state, last_error FROM batches"), test.rows("SELECT flow, error FROM flows")])}`,
  ).toBe(true);
  return { test, again, text: () => text };
}

describe("from nothing to all orders stored and confirmed, in five commands and without an editor", () => {
  itSome(1)(Array.from({ length: runs(1, 40) }, (_, at) => at))("at a service of any form: %i", async (at) => {
    const random = seededRandom(at);
    let forms = chooseForms(random);
    while (isUnsafe(forms)) forms = chooseForms(random);
    const dialect = DIALECTS[at % DIALECTS.length]!;
    const options = mergeSettings(serviceOptions(forms) as Settings, dialect as Settings) as SandboxOptionsPatch;
    const { test, again, text } = await installAt(options);
    const { number, lines } = test.rows<{ number: number; lines: number }>(
      "SELECT count(number) AS number, (SELECT count(DISTINCT order_id) FROM order_lines) AS lines FROM orders",
    )[0]!;
    expect([number, lines]).toEqual([ORDERS, ORDERS]);
    const [order] = test.rows<{ order_id: string }>("SELECT order_id FROM orders");
    test.sandbox.service.changeOrder(order!.order_id, { status: "paid" });
    test.clock.advance(60_000);
    // Where nothing had changed before, nobody could see what a change looks like.
    if ((await test.run("updates")).error !== null) await again();
    expect((await test.run("updates")).error, text()).toBeNull();
    expect(test.rows("SELECT status FROM orders WHERE order_id = ?", order!.order_id)).toEqual([{ status: "paid" }]);
  });
});
