import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { isLocked } from "../../src/database/file/instance-lock.ts";
import { PATIENT, type Program } from "../support/program.ts";
import { until } from "../support/running-shop.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { inWhole, itWhole } from "../support/whole.ts";

const whole = inWhole("daemon/run-job", "cli/signals");
const STOPS_WITHIN_MS = 10_000;

/** Resolves when a request to this path has arrived. */
function arrival(shop: Shop, path: string): Promise<void> {
  return new Promise((resolve) => {
    shop.hooks.onRequest = (request) => {
      if (request.path === path) resolve();
    };
  });
}

async function terminate(program: Program): Promise<number> {
  const startedMs = performance.now();
  program.child.kill("SIGTERM");
  expect(await program.exited, program.stderr()).toEqual({ code: 0, signal: null });
  expect(program.stderr()).toContain("Stopped.");
  return performance.now() - startedMs;
}

describe("SIGTERM", PATIENT, () => {
  itWhole("ends an idle daemon, and one that backs off, with 0 at once", async () => {
    const shop = await startShop();
    const idle = shop.start("run");
    await idle.says("erp-bridge is running");
    expect(await terminate(idle)).toBeLessThan(STOPS_WITHIN_MS / 2);

    shop.sandbox.faults.add({ times: "forever", do: { kind: "reset" } });
    const failing = shop.start("run");
    await failing.says("orders: the service cannot be reached");
    expect(await terminate(failing)).toBeLessThan(STOPS_WITHIN_MS / 2);
    expect(shop.rows("SELECT count(*) AS n FROM runs WHERE outcome = 'failed'")[0]).not.toEqual({ n: 0 });
  });

  itWhole("lets a batch under way be stored and confirmed", async () => {
    const shop = await startShop();
    for (let count = 0; count < 10; count++) shop.sandbox.service.createOrder();
    let program: Program | undefined;
    shop.hooks.onAnswer = async ({ path }) => {
      if (path !== "/api/v1/1c/orders" || program === undefined) return;
      program.child.kill("SIGTERM");
      await program.says("Stopping");
    };
    program = shop.start("run");
    expect(await program.exited, program.stderr()).toEqual({ code: 0, signal: null });
    expect(shop.sandbox.ledger.confirmedOrderIds().size).toBe(10);
    expect(shop.rows("SELECT state FROM batches")).toEqual([{ state: "confirmed" }]);
  });

  whole.it("ends a daemon whose request hangs within 10 s, and a second one at once", async () => {
    const shop = await startShop();
    shop.sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: { kind: "hang" } });
    const start = async () => {
      const arrived = arrival(shop, "/api/v1/1c/orders");
      const program = shop.start("run");
      await Promise.all([arrived, program.says("erp-bridge is running")]);
      return program;
    };
    const patient = await start();
    const stopped = terminate(patient);
    await patient.says("Stopping");
    // The lock is held to the end; the other one works on a shop of its own.
    const other = await startShop();
    other.sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: { kind: "hang" } });
    const arrived = arrival(other, "/api/v1/1c/orders");
    const hasty = other.start("run");
    await arrived;
    await hasty.says("erp-bridge is running");
    hasty.child.kill("SIGTERM");
    await hasty.says("Stopping");
    hasty.child.kill("SIGTERM");
    expect(await hasty.exited).toEqual({ code: 0, signal: null });
    expect(hasty.stderr()).not.toContain("Stopped.");
    expect(await stopped).toBeLessThan(STOPS_WITHIN_MS);
    expect(shop.rows("SELECT outcome FROM runs WHERE job = 'orders'")).toEqual([{ outcome: "stopped" }]);
  });
});

whole.describe("SIGHUP", PATIENT, () => {
  it("takes a good configuration over; a wrong one, or one that cannot work, leaves the old one in force", async () => {
    const shop = await startShop();
    const program = shop.start("run");
    await program.says("erp-bridge is running");

    shop.writeConfig({ service: { requests_per_second: "many" } });
    program.child.kill("SIGHUP");
    await program.says("The configuration was not taken over, the old one stays");
    expect(program.stderr()).toContain("service.requests_per_second");

    shop.writeConfig({ service: { client_id: "another" } });
    program.child.kill("SIGHUP");
    await program.says("belongs to another account");
    // It works on with the old one.
    shop.sandbox.service.createOrder();
    expect((await shop.command("sync", "orders")).code).toBe(78);
    shop.writeConfig();
    expect(await shop.command("sync", "orders")).toMatchObject({ code: 0, err: "A daemon is running; asking it." });

    shop.writeConfig({ orders: { query: { warehouse: "north" } } });
    const asked = new Promise<void>((resolve) => {
      shop.hooks.onRequest = ({ path }) => {
        if (path === "/api/v1/1c/orders?warehouse=north") resolve();
      };
    });
    program.child.kill("SIGHUP");
    await asked;
    await program.says("is in force");
    await terminate(program);
  });
});

/** A shop whose programs run this before anything of their own. */
async function startBehind(script: string): Promise<Shop> {
  const file = path.join(tempFolder("before"), "before.mjs");
  writeFileSync(file, script);
  return await startShop({ env: { NODE_OPTIONS: `--import=${file}` } });
}

whole.describe("SIGHUP while the daemon starts", PATIENT, () => {
  it("ends nothing before the program itself is read", async () => {
    const shop = await startBehind(
      `import { registerHooks } from "node:module";
      registerHooks({
        load(url, context, next) {
          if (url.endsWith("/dist/erp-bridge.cjs") && process.argv.includes("run")) {
            process.kill(process.pid, "SIGHUP");
            process.stderr.write("SIGHUP was sent\\n");
          }
          return next(url, context);
        },
      });`,
    );
    const program = shop.start("run");
    await program.says("SIGHUP was sent");
    await program.says("erp-bridge is running");
    await terminate(program);
  });

  itWhole("is answered once it runs", async () => {
    // The second listener is the daemon's own; the account is locked after that, and the database opened.
    const shop = await startBehind(
      `let listeners = 0;
      process.on("newListener", (name) => {
        if (name === "SIGHUP" && ++listeners === 2) process.kill(process.pid, "SIGHUP");
      });`,
    );
    const program = shop.start("run");
    await program.says("is in force");
    expect(program.stderr()).toMatch(/erp-bridge is running.*is in force/s);
    await terminate(program);
    expect(program.stderr().match(/is in force/g)).toHaveLength(1);
  });
});

whole.describe("SIGUSR1", PATIENT, () => {
  it("opens no debugger: nothing listens, and the daemon goes on", async () => {
    const shop = await startShop();
    const daemon = shop.start("run");
    await daemon.says("erp-bridge is running");
    for (let times = 0; times < 3; times++) daemon.child.kill("SIGUSR1");
    shop.sandbox.service.createOrder();
    shop.write("INSERT INTO sync_requests (jobs, requested_at) VALUES ('[\"orders\"]', '2026-01-01T00:00:00.000Z')");
    await daemon.says("1 created");
    expect(daemon.stderr()).not.toContain("Debugger");
    expect(listenersOf(daemon.pid)).toEqual([]);
    await terminate(daemon);
  });
});

/** Ports on which a process listens, by the kernel's own tables. */
function listenersOf(pid: number): number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => /socket:\[(\d+)\]/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1] ?? []),
  );
  const lines = ["tcp", "tcp6"].flatMap((kind) =>
    readFileSync(`/proc/${pid}/net/${kind}`, "utf8").split("\n").slice(1),
  );
  return lines.flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    return state === "0A" && sockets.has(inode) ? [Number.parseInt(local.split(":")[1] ?? "", 16)] : [];
  });
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return ""; // closed meanwhile
  }
}

describe("a terminal that is closed", PATIENT, () => {
  it.runIf(existsSync("/usr/bin/script"))("leaves one alone that has no stream on it, as under nohup", async () => {
    const shop = await startShop();
    const arrived = arrival(shop, "/api/v1/1c/orders");
    const log = path.join(shop.folder, "nohup.out");
    const run = `"${process.execPath}" "${inject("program")}" run --config "${shop.configFile}" < /dev/null > "${log}" 2>&1`;
    const terminal = spawn("/usr/bin/script", ["-qfec", `${run} & wait`, "/dev/null"], { stdio: "ignore" });
    await arrived;
    const pid = isLocked(shop.database)?.holder?.pid;
    onTestFinished(() => void process.kill(pid!, "SIGKILL"));
    terminal.kill("SIGKILL");
    process.kill(pid!, "SIGHUP");
    await until(() => readFileSync(log, "utf8").includes("is in force"));
    expect(readFileSync(log, "utf8")).not.toContain("Stopping");
  });

  (existsSync("/usr/bin/script") ? whole.it : it.skip)("ends the daemon that was started on it, in order", async () => {
    const shop = await startShop();
    const arrived = arrival(shop, "/api/v1/1c/orders");
    const command = `exec "${process.execPath}" "${inject("program")}" run --config "${shop.configFile}"`;
    const terminal = spawn("/usr/bin/script", ["-qfec", command, "/dev/null"], { stdio: "ignore" });
    await arrived;
    expect(isLocked(shop.database)?.holder?.command).toBe("run");
    terminal.kill("SIGKILL");
    await until(() => isLocked(shop.database) === undefined);
    const [last] = shop.rows("SELECT outcome FROM runs WHERE job = 'orders' ORDER BY id DESC LIMIT 1");
    expect(last).toBeDefined(); // what was under way was recorded
  });
});
