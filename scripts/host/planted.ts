import { equal, type Trial } from "./trial.ts";

const UNIT = "erp-bridge";
const DATA = "/var/lib/erp-bridge";
const DATABASE = `${DATA}/bridge.db`;
const CONFIG = "/etc/erp-bridge/config.yaml";
const TREASURE = "/root/treasure";
/** The inspector's, as the kernel writes it. */
const DEBUGGER_LISTENS = "grep -qi ':240D 00000000:0000 0A' /proc/net/tcp /proc/net/tcp6";

const KINDS: Record<string, (name: string) => string> = {
  link: (name) => `ln -sfn ${TREASURE}/shadow ${name}`,
  "link to a new name": (name) => `ln -sfn ${TREASURE}/$(basename ${name}) ${name}`,
  "hard link": (name) => `ln -f ${TREASURE}/shadow ${name}`,
  pipe: (name) => `mkfifo ${name}`,
  folder: (name) => `mkdir ${name}`,
};
const ENDINGS = [".lock.json", ".restore", ".restore.partial", ".restoring", ".restoring-wal"];
const NAMES = [
  ...ENDINGS.map((ending) => `${DATABASE}${ending}`),
  ...["copy.db", "copy.db.partial", "copy.db.config.yaml", "backups", "journal"].map((name) => `${DATA}/${name}`),
];

/** As the service's user: a link in the place of whatever appears beside the database. */
const SWAPPER = `const fs = require("node:fs");
for (let n = 0; ; n++) for (const entry of fs.readdirSync("${DATA}", { withFileTypes: true })) {
  if (!entry.isFile() || !/restor|partial|new$|json/.test(entry.name)) continue;
  const name = "${DATA}/" + entry.name;
  try { fs.renameSync(name, "${DATA}/taken-" + n); fs.symlinkSync("${TREASURE}/shadow", name); } catch {}
}`;

/** What the service's user, or any user of the machine, may try against root and against the secret. */
export async function checkPlanted(trial: Trial): Promise<void> {
  const { machine } = trial;
  machine.must(`mkdir -p ${TREASURE} && echo precious >${TREASURE}/shadow && chmod 0640 ${TREASURE}/shadow`);
  const look = () => machine.must(`cd ${TREASURE} && stat -c '%n %a %U:%G %s' . * && cat shadow`);
  const before = look().replace(/^\. .*\n/, "");
  const isUntouched = () => equal(look().replace(/^\. .*\n/, ""), before);
  const source = `${DATA}/source.db`;
  machine.must(`rm -f ${source}*; erp-bridge backup ${source}; systemctl stop ${UNIT}`);
  const commands = [`restore ${source} --yes`, "sync orders", `backup ${DATA}/copy.db`, "remap", "status"];
  for (const [kind, plant] of Object.entries(KINDS)) {
    await trial.check(`a ${kind} in the place of what root's commands write leads nowhere`, () => {
      for (const command of commands) {
        for (const name of NAMES) machine.must(`rm -rf ${name} && ${plant(name)}`);
        machine.run(`timeout 60 erp-bridge ${command}`);
        isUntouched();
        machine.must(`rm -rf ${NAMES.join(" ")}`);
      }
      return `${commands.length} commands, ${NAMES.length} names`;
    });
  }
  await trial.check("names that are swapped while root's commands run lead nowhere", () => {
    machine.write("/tmp/swap.cjs", SWAPPER);
    const pid = machine.must(
      "runuser -u erp-bridge -- sh -c '/usr/lib/erp-bridge/node /tmp/swap.cjs >/dev/null 2>&1 & echo $!'",
    );
    for (let round = 0; round < 5; round++) {
      for (const command of [`restore ${source} --yes`, `backup ${DATA}/copy-${round}.db`, "sync orders"]) {
        machine.run(`timeout 60 erp-bridge ${command}`);
        isUntouched();
      }
    }
    machine.must(`kill ${pid}; sleep 1; rm -rf ${DATA}/taken-* ${DATA}/copy-* ${NAMES.join(" ")}`);
  });
  await trial.check(
    "what root's commands make is the service's, a journal too, and the service confirms as before",
    async () => {
      const good = machine.read(CONFIG);
      machine.must(`erp-bridge restore ${source} --yes`);
      machine.write(
        CONFIG,
        `${good}\nbackup:\n  journal: ${DATA}/journal\n`.replace(/\nbackup:\n([\s\S]*)\nbackup:\n/, "\nbackup:\n$1\n"),
      );
      machine.must("erp-bridge sync orders");
      equal(machine.must(`find ${DATA} ! -user erp-bridge`), "");
      machine.must(`systemctl start ${UNIT}`);
      await trial.untilOrders(DATABASE, 1);
      equal(trial.sql(DATABASE, "SELECT count(*) FROM batches WHERE state = 'stored'"), "0");
      machine.write(CONFIG, good);
      machine.must(`systemctl restart ${UNIT}`);
      return machine.must(`ls ${DATA}/journal | wc -l`);
    },
  );
  await checkDebugger(trial);
}

async function checkDebugger(trial: Trial): Promise<void> {
  const { machine } = trial;
  await trial.check("SIGUSR1 opens no debugger, in the service and in root's commands", async () => {
    const pid = machine.show(UNIT, "MainPID");
    machine.must(`kill -USR1 ${pid}; sleep 2`);
    equal(machine.run(DEBUGGER_LISTENS).code !== 0, true);
    equal(machine.show(UNIT, "MainPID"), pid);
    machine.run("timeout -s USR1 1 erp-bridge status --watch >/dev/null 2>&1 & sleep 3");
    equal(machine.run(DEBUGGER_LISTENS).code !== 0, true);
    machine.run("for p in $(pgrep -x node); do grep -qz -- --watch /proc/$p/cmdline && kill $p; done");
    return trial.isActive(UNIT);
  });
  await trial.check("the environment of systemd changes nothing of the program", () => {
    machine.must("systemctl set-environment NODE_OPTIONS=--inspect NODE_TLS_REJECT_UNAUTHORIZED=0");
    machine.must(`systemctl restart ${UNIT}`);
    const environment = machine.must(`tr '\\0' '\\n' </proc/${machine.show(UNIT, "MainPID")}/environ`);
    machine.must("systemctl unset-environment NODE_OPTIONS NODE_TLS_REJECT_UNAUTHORIZED");
    equal(/NODE_OPTIONS|NODE_TLS/.test(environment), false);
    return equal(machine.run(DEBUGGER_LISTENS).code !== 0, true);
  });
}
