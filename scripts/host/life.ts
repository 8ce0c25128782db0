import { confirmedAt, equal, type Trial } from "./trial.ts";

const UNIT = "erp-bridge";
const DATABASE = "/var/lib/erp-bridge/bridge.db";
const SERVICE_PORT = 18_080;
const WATCHDOG_S = 6;
const CONFIG = "/etc/erp-bridge/config.yaml";
/** As systemd-analyze rates the unit; almost all of it is the network. */
const EXPOSURE_MAX = 1;
/** The unit's own watchdog, and some instants to notice it. */
const SILENT_MAX_MS = 70_000;
const RELATIVE_TIME = /\d+ (s|min|h|days?) ago/;

/** The service's days: it starts, tells, is reloaded, hangs, dies, and loses its power. */
export async function checkLife(trial: Trial): Promise<void> {
  await checkStart(trial);
  await checkWords(trial);
  await checkReload(trial);
  await checkDeaths(trial);
  await checkRefusals(trial);
  await checkPower(trial);
}

async function checkStart(trial: Trial): Promise<void> {
  const { machine } = trial;
  await trial.check("the service is ready when systemctl start returns", () => {
    machine.must(`systemctl start ${UNIT}`);
    const times = [
      "InactiveExitTimestampMonotonic",
      "ExecMainStartTimestampMonotonic",
      "ActiveEnterTimestampMonotonic",
    ];
    const [began = 0, main = 0, ready = 0] = times.map((property) => Number(machine.show(UNIT, property)) / 1000);
    return `${Math.round(ready - began)} ms with the check before it, ${Math.round(ready - main)} ms from the program's start`;
  });
  await trial.check("the first order is in SQLite, and the service knows that it is confirmed", async () => {
    await machine.until(
      "a confirmed batch",
      () => trial.sql(DATABASE, "SELECT count(*) FROM batches WHERE state = 'confirmed'") !== "0",
    );
    return trial.sql(DATABASE, "SELECT number || ', ' || status || ', ' || total FROM orders LIMIT 1");
  });
  await trial.check("the service's user cannot read the secret's file, and works with systemd's copy", () => {
    equal(machine.run("runuser -u erp-bridge -- cat /etc/erp-bridge/client-secret").code, 1);
    return equal(machine.run("erp-bridge check").code === 0, true);
  });
  await trial.check(`the unit leaves little open: exposure at most ${EXPOSURE_MAX.toFixed(1)}`, () => {
    const told = machine.must(`systemd-analyze security --no-pager ${UNIT}`);
    const exposure = /Overall exposure level for \S+: (\S+)/.exec(told)?.[1] ?? "none";
    return Number(exposure) <= EXPOSURE_MAX ? exposure : equal(exposure, `at most ${EXPOSURE_MAX}`);
  });
}

async function checkWords(trial: Trial): Promise<void> {
  const { machine } = trial;
  await trial.check("systemctl status tells how things stand, with times that stay true", async () => {
    const text = () => machine.show(UNIT, "StatusText");
    await machine.until("a sentence", () => /^At \d\d:\d\d: Up to date\. Asked \d\d:\d\d; last order/.test(text()));
    equal(RELATIVE_TIME.test(text()), false);
    return text();
  });
  await trial.check("the journal has levels and the program's name", () => {
    const lines = trial.journal(UNIT, "the beginning");
    const running = lines.find(({ MESSAGE }) => MESSAGE.startsWith("erp-bridge is running"));
    equal(running?.PRIORITY, "6");
    equal(running?.SYSLOG_IDENTIFIER, "erp-bridge");
    return equal(
      lines.some(({ MESSAGE }) => /^<\d>/.test(MESSAGE)),
      false,
    );
  });
}

async function checkReload(trial: Trial): Promise<void> {
  const { machine } = trial;
  const pid = machine.mainPid(UNIT);
  const good = machine.read(CONFIG);
  await trial.check("a reload takes a good configuration over", async () => {
    machine.write(CONFIG, good.replace("#requests_per_second: 5", "requests_per_second: 50"));
    machine.must(`systemctl reload ${UNIT}`);
    await trial.untilSaid(UNIT, "is in force");
    return equal(machine.mainPid(UNIT), pid);
  });
  await trial.check(
    "a reload with a wrong configuration fails, names the key, and the old one stays in force",
    async () => {
      machine.write(CONFIG, good.replace("#requests_per_second: 5", "requests_per_second: many"));
      const { code, err } = machine.run(`systemctl reload ${UNIT}`);
      await trial.untilSaid(UNIT, "service.requests_per_second");
      machine.write(CONFIG, good);
      equal(code, 1);
      equal(/Job for \S+ failed/.test(err), true);
      equal(trial.isActive(UNIT), true);
      await trial.untilOrders(DATABASE, 1);
      return equal(machine.mainPid(UNIT), pid);
    },
  );
}

async function checkDeaths(trial: Trial): Promise<void> {
  const { machine } = trial;
  const restarts = () => Number(machine.show(UNIT, "NRestarts"));
  const again = async (before: number) => {
    const ms = await machine.until("a restart", () => restarts() > before && trial.isActive(UNIT));
    const orders = await trial.untilOrders(DATABASE, 1);
    return `ready again after ${(ms / 1000).toFixed(1)} s, ${orders} orders`;
  };
  await trial.check("a killed service (kill -9) comes back and goes on", async () => {
    const before = restarts();
    machine.must(`kill -9 ${machine.mainPid(UNIT)}`);
    return await again(before);
  });
  machine.write(`/etc/systemd/system/${UNIT}.service.d/watchdog.conf`, `[Service]\nWatchdogSec=${WATCHDOG_S}s\n`);
  machine.must(`systemctl daemon-reload; systemctl restart ${UNIT}`);
  await trial.check("the watchdog is fed on after systemd was upgraded under the service", async () => {
    machine.must("systemctl daemon-reexec");
    await new Promise((resolve) => setTimeout(resolve, 2.5 * WATCHDOG_S * 1000));
    return equal(restarts(), 0) && trial.isActive(UNIT);
  });
  machine.must(`rm /etc/systemd/system/${UNIT}.service.d/watchdog.conf; systemctl daemon-reload`);
  machine.must(`systemctl restart ${UNIT}`);
  await trial.check(
    "a service that hangs (SIGSTOP) shows no good words for longer than a minute, and comes back",
    async () => {
      const wellBefore = machine.show(UNIT, "StatusText");
      machine.must(`kill -STOP ${machine.mainPid(UNIT)}`);
      const shownMs = await machine.until(
        "systemd has ended it",
        () => machine.show(UNIT, "ActiveState") !== "active",
        SILENT_MAX_MS,
      );
      const told = await again(0);
      equal(
        trial.journal(UNIT).some(({ MESSAGE }) => /watchdog/i.test(MESSAGE)),
        true,
      );
      return `"${wellBefore}" stood for ${Math.round(shownMs / 1000)} s; ${told}`;
    },
  );
}

async function checkRefusals(trial: Trial): Promise<void> {
  const { machine } = trial;
  const good = machine.read(CONFIG);
  const refused = async (words: string) => {
    machine.run(`systemctl reset-failed ${UNIT}; systemctl restart ${UNIT}`);
    await machine.until("it has failed", () => machine.show(UNIT, "ActiveState") === "failed");
    equal(machine.show(UNIT, "ExecMainStatus"), "78");
    await trial.untilSaid(UNIT, words);
    // Longer than the wait before a restart.
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    equal(machine.show(UNIT, "ActiveState"), "failed");
  };
  await trial.check("a start with a wrong configuration ends with 78 and is not repeated", async () => {
    machine.write(CONFIG, good.replace("#requests_per_second: 5", "requests_per_second: many"));
    await refused("service.requests_per_second");
    machine.write(CONFIG, good);
  });
  await trial.check("so does one without the secret's file, and the program says what is missing", async () => {
    machine.must("mv /etc/erp-bridge/client-secret /etc/erp-bridge/client-secret.away");
    await refused("client_secret_file");
    machine.must("mv /etc/erp-bridge/client-secret.away /etc/erp-bridge/client-secret");
  });
  await trial.check("once it is right again the service starts", () => {
    machine.must(`systemctl start ${UNIT}`);
    return trial.isActive(UNIT);
  });
}

async function checkPower(trial: Trial): Promise<void> {
  const { machine } = trial;
  await trial.check(
    "after a power cut in mid-flight the service is back by itself, and nothing is damaged or lost",
    async () => {
      machine.must(`systemctl enable --quiet ${UNIT}`);
      await trial.untilOrders(DATABASE, 1);
      const confirmed = confirmedAt(machine, SERVICE_PORT);
      await machine.cutPower();
      await machine.boot();
      await machine.until("the service is active", () => trial.isActive(UNIT));
      equal(trial.sql(DATABASE, "PRAGMA integrity_check"), "ok");
      const stored = new Set(trial.sql(DATABASE, "SELECT order_id FROM orders").split("\n"));
      equal(confirmed.filter((id) => !stored.has(id.toLowerCase())).length, 0);
      equal(machine.run("systemctl --failed --no-legend").out, "");
      const orders = await trial.untilOrders(DATABASE, 1);
      return `all of ${confirmed.length} confirmed orders are there, ${orders} now`;
    },
  );
}
