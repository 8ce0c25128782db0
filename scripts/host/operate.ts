import { equal, type Trial } from "./trial.ts";

const UNIT = "erp-bridge";
const DATABASE = "/var/lib/erp-bridge/bridge.db";
const CONFIG = "/etc/erp-bridge/config.yaml";
const SECRET = "/etc/erp-bridge/client-secret";
const SERVICE_PORT = 18_080;
const PAGE = "http://127.0.0.1:9469";
/** Probes of refused credentials are five minutes apart: what is quicker did not wait for one. */
const AT_ONCE_MS = 30_000;
const LOOKS_WITHIN_MS = 20_000;
const PASS_WITHIN_MS = 150_000;
const AHEAD_MS = 10 * 60_000;

/** What an operator does with a running service, and what the program says of a machine that is not as it should be. */
export async function checkOperations(trial: Trial): Promise<void> {
  trial.machine.must(`systemctl start ${UNIT}`);
  await checkNewSecret(trial);
  await checkJournal(trial);
  await checkClock(trial);
}

function ask(trial: Trial, url: string, options = ""): string {
  const program = `fetch("${url}"${options === "" ? "" : `, ${options}`}).then((answer) => answer.text()).then(console.log)`;
  return trial.machine.must("/usr/lib/erp-bridge/node -", program);
}

async function untilStatus(
  trial: Trial,
  is: (text: string) => boolean,
  words: string,
  withinMs = LOOKS_WITHIN_MS + AT_ONCE_MS,
): Promise<number> {
  let text = "";
  const isSo = (): boolean => {
    text = trial.machine.run("erp-bridge status").out;
    return is(text);
  };
  return await trial.machine.until(() => `${words}; status says:\n${text}`, isSo, withinMs);
}

async function checkNewSecret(trial: Trial): Promise<void> {
  const { machine } = trial;
  const changeSandbox = (from: string, to: string) => {
    machine.must(`sed -i 's/--client-secret ${from}/--client-secret ${to}/' /etc/systemd/system/sandbox-main.service`);
    machine.must("systemctl daemon-reload; systemctl restart sandbox-main");
  };
  const replaced = "The Client Secret was replaced at";
  await trial.check("a reload with the secret that the service has is well", () => {
    machine.must(`touch -d '1 hour ago' ${SECRET}; systemctl restart ${UNIT}; systemctl reload ${UNIT}`);
    return equal(trial.isActive(UNIT), true);
  });
  await trial.check("a secret that the service no longer takes holds the orders, and status says so", async () => {
    changeSandbox("secret-of-main", "changed-for-main");
    await untilStatus(trial, (text) => text.includes("the service refuses the credentials"), "status names the hold");
  });
  await trial.check(
    "a new secret: status names it and the way, and a reload fails instead of reading the old copy",
    async () => {
      // A reload copies the secret again with systemd 252, and what is written within a second of the copy is not newer.
      machine.must(`sleep 2; printf 'changed-for-main\\n' >${SECRET}`);
      const pid = machine.mainPid(UNIT);
      equal(machine.run(`systemctl reload ${UNIT}`).code, 1);
      await trial.untilSaid(UNIT, "was written after systemd handed the Client Secret over");
      equal(machine.mainPid(UNIT), pid);
      const ms = await untilStatus(
        trial,
        (text) => text.includes(replaced),
        "status says that the secret was replaced",
      );
      equal(/systemctl restart erp-bridge/.test(machine.run("erp-bridge status").out), true);
      return `in status after ${(ms / 1000).toFixed(0)} s`;
    },
  );
  await trial.check("a restart takes the new secret and lifts the hold at once", async () => {
    const before = Number(trial.sql(DATABASE, "SELECT count(*) FROM orders"));
    machine.must(`systemctl restart ${UNIT}`);
    const ms = await machine.until(
      "new orders",
      () => Number(trial.sql(DATABASE, "SELECT count(*) FROM orders")) > before,
      AT_ONCE_MS,
    );
    await untilStatus(
      trial,
      (text) => !text.includes(replaced) && !text.includes("credentials"),
      "status is well again",
      // A refusal stands there until the flow's first pass has ended, which reads many orders at a service made anew.
      PASS_WITHIN_MS,
    );
    machine.must(`systemctl reload ${UNIT}`);
    changeSandbox("changed-for-main", "secret-of-main");
    machine.must(`printf 'secret-of-main\\n' >${SECRET}; systemctl restart ${UNIT}`);
    return `orders after ${(ms / 1000).toFixed(1)} s`;
  });
}

/** A journal that cannot be written keeps confirms back, says why, and needs no restart once it is right again. */
async function checkJournal(trial: Trial): Promise<void> {
  const { machine } = trial;
  const folder = "/var/lib/erp-bridge/journal";
  const stored = () => Number(trial.sql(DATABASE, "SELECT count(*) FROM batches WHERE state = 'stored'"));
  await trial.check(
    "a journal that cannot be written is named with owner and mode, and goes on by itself",
    async () => {
      const good = machine.read(CONFIG);
      machine.must(`install -d -m 0750 -o root -g root ${folder}`);
      machine.write(CONFIG, good.replace("#journal: null", `journal: ${folder}`));
      machine.must(`systemctl reload ${UNIT}`);
      const cause = `(folder ${folder}: mode 0750, owner 0:0; this program runs as `;
      await trial.untilSaid(UNIT, cause);
      await machine.until("a batch waits for its confirm", () => stored() > 0);
      await untilStatus(trial, (text) => text.includes(cause), "status names the cause");
      const pid = machine.mainPid(UNIT);
      machine.must(`chown erp-bridge:erp-bridge ${folder}`);
      const ms = await machine.until("every batch is confirmed", () => stored() === 0, 150_000);
      equal(machine.mainPid(UNIT), pid);
      const kept = machine.must(`find ${folder} -type f | wc -l`);
      machine.write(CONFIG, good);
      machine.must(`systemctl reload ${UNIT}; rm -rf ${folder}`);
      return `confirmed ${(ms / 1000).toFixed(0)} s after it was put right, ${kept} files`;
    },
  );
}

async function checkClock(trial: Trial): Promise<void> {
  const setOffset = (ms: number) =>
    ask(
      trial,
      `http://127.0.0.1:${SERVICE_PORT}/_sandbox/switches`,
      `{ method: "POST", body: JSON.stringify({ clockOffsetMs: ${ms} }) }`,
    );
  const words = /clock is (9|10) min behind the service's/;
  await trial.check("a clock far from the service's is told everywhere, and its end too", async () => {
    setOffset(AHEAD_MS);
    const ms = await untilStatus(trial, (text) => words.test(text), "status names the clock");
    await trial.untilSaid(UNIT, "clock is far from the service's");
    const health = JSON.parse(ask(trial, `${PAGE}/health`)) as { attention: string[]; ill: { reason: string }[] };
    equal(
      health.ill.some(({ reason }) => reason === "clock"),
      true,
    );
    const offset = Number(/^erp_bridge_clock_offset_seconds (\S+)$/m.exec(ask(trial, `${PAGE}/metrics`))?.[1]);
    equal(Math.abs(offset + AHEAD_MS / 1000) < 60, true);
    equal(words.test(ask(trial, `${PAGE}/`).replaceAll("&#39;", "'")), true);
    setOffset(0);
    await untilStatus(trial, (text) => !text.includes("clock"), "status no longer names the clock");
    await trial.untilSaid(UNIT, "clock agrees with the service's again");
    return `in status after ${(ms / 1000).toFixed(0)} s`;
  });
}

/** Several shops on one machine: nothing shared, and what is shared is refused. Needs the instance `north`. */
export async function checkInstances(trial: Trial): Promise<void> {
  const { machine } = trial;
  await trial.check("each instance has a port of its own, and check finds nothing that they share", () => {
    const ports = ["config", "north", "south"].map(
      (name) => /^ *#?listen: 127\.0\.0\.1:(\d+)/m.exec(machine.read(`/etc/erp-bridge/${name}.yaml`))?.[1] ?? "",
    );
    equal(new Set(ports).size, 3);
    const told = machine.run("erp-bridge check --instance north").out;
    equal(/ok {3}instances: .*config\.yaml, south\.yaml/.test(told), true);
    return ports.join(", ");
  });
  await trial.check("a reload works for an instance as well, and fails after its secret was written", () => {
    machine.must(`systemctl reload ${UNIT}@north`);
    machine.must("touch -d 'now + 1 minute' /etc/erp-bridge/north-client-secret");
    equal(machine.run(`systemctl reload ${UNIT}@north`).code, 1);
    machine.must("touch -d '1 hour ago' /etc/erp-bridge/north-client-secret");
    machine.must(`systemctl reload ${UNIT}@north`);
  });
  await trial.check("check and the start refuse a second instance of one account, and the first goes on", async () => {
    const first = machine.read("/etc/erp-bridge/south.yaml");
    const twin = first.replaceAll("/south/", "/twin/").replaceAll("south-client-secret", "twin-client-secret");
    machine.write("/etc/erp-bridge/twin.yaml", twin);
    machine.must(
      "cd /etc/erp-bridge; cp -p south-client-secret twin-client-secret; chown --reference=south.yaml twin.yaml; install -d -o erp-bridge -g erp-bridge -m 0750 /var/lib/erp-bridge/twin",
    );
    const told = machine.run("erp-bridge check --instance twin");
    equal(told.code, 78);
    for (const words of ["south.yaml names the same account", "south.yaml listens on"])
      equal(told.out.includes(words) ? words : told.out, words);
    equal(machine.run(`systemctl start ${UNIT}@twin`).code, 1);
    equal(machine.show(`${UNIT}@twin`, "ExecMainStatus"), "75");
    await trial.untilSaid(`${UNIT}@twin`, "Another erp-bridge of this machine works for south");
    await trial.untilOrders("/var/lib/erp-bridge/south/bridge.db", 1);
    machine.must(`systemctl stop ${UNIT}@twin; rm -rf /etc/erp-bridge/twin* /var/lib/erp-bridge/twin`);
    machine.run(`systemctl reset-failed ${UNIT}@twin`);
  });
}
