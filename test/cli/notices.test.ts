import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { main } from "../../src/main.ts";
import { startTestBridge } from "../support/bridge.ts";
import { startReceiver } from "../support/receiver.ts";
import { tempFolder } from "../support/temp.ts";
import { typingTerminal } from "../support/typing.ts";
import { itWhole } from "../support/whole.ts";

async function setUp(settings: Record<string, unknown> = {}) {
  const folder = tempFolder();
  const test = await startTestBridge({ folder, settings });
  const { url, clientId, clientSecret } = test.sandbox;
  const file = path.join(folder, "config.yaml");
  const service = { base_url: url, client_id: clientId, client_secret: clientSecret };
  writeFileSync(file, stringify({ service, database: { path: "bridge.db" }, ...settings }), { mode: 0o600 });
  const command = async (...argv: string[]) => {
    const terminal = typingTerminal();
    return {
      code: await main([...argv, "--config", file], terminal),
      out: terminal.stdout.join("\n"),
      err: terminal.stderr.join("\n"),
    };
  };
  return { test, command };
}

describe("what status says beside the flows", () => {
  it("is what was noticed about the service, in one line, until somebody has read it", async () => {
    const { test, command } = await setUp();
    test.sandbox.service.createOrder();
    await test.run("orders");
    await test.bridge.watch.look();
    const first = await command("status");
    expect(first.out).toContain(
      "Noticed about the service: 1 status name (new); 2 fields of orders that nothing reads (comment, customer). When you have seen it: erp-bridge resume observations",
    );
    expect(JSON.parse((await command("status", "--json")).out)).toMatchObject({
      observations: [{ kind: "field" }, { kind: "field" }, { kind: "status", name: "new" }],
    });
    const read = await command("resume", "observations");
    expect(read).toMatchObject({
      code: 0,
      out: "observations: not shown any more (field comment, field customer, status new).",
    });
    expect((await command("status")).out).not.toContain("Noticed");
    expect((await command("resume", "observations")).out).toBe("observations: nothing was held.");
  });

  itWhole("is a receiver of alerts that cannot be reached, by its kind and never by its address", async () => {
    const receiver = await startReceiver();
    receiver.answer(0);
    const { test, command } = await setUp({ alerts: { webhook: `${receiver.url}/t0ken` } });
    test.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "status", status: 401 } });
    await test.run("orders");
    await test.bridge.watch.look();
    const { out, code } = await command("status");
    expect(out).toMatch(/Webhook cannot be reached since .* \(unreachable\)\./);
    expect(out).not.toContain("t0ken");
    expect(code).not.toBe(0);
    await test.restart({});
    expect((await command("status")).out).not.toContain("Webhook");
  });
});

describe("the command probe", () => {
  it("reports every question, for people and for programs, and never says yes for anybody", async () => {
    const { test, command } = await setUp();
    test.sandbox.service.setOptions({ refuse: ["1c"] });
    const people = await command("probe");
    expect(people.code).toBe(2);
    expect(people.out).toMatch(/^not found {2}Fields of a stock record\n/);
    expect(people.out).toContain("Nothing in the configuration needs to be changed by what was found.");
    expect(people.err).toContain('Not done without --yes: Send {"stocks":[]}');
    const json = JSON.parse((await command("probe", "--json")).out);
    expect(json).toMatchObject({ version: 1, proposal: "", requests: 2 });
    expect(json.findings).toContainEqual(
      expect.objectContaining({ state: "skipped", question: "Response bodies of the 1C endpoints" }),
    );
    expect(json.findings).toHaveLength(15);
    expect(test.sandbox.ledger.ofKind("orders")).toEqual([]);
    expect(test.sandbox.ledger.effects("import")).toEqual([]);
  });
});
