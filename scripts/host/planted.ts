import { equal, type Trial } from "./trial.ts";

const UNIT = "erp-bridge";
const OWNER = "erp-bridge";
const DATA = "/var/lib/erp-bridge";
const DATABASE = `${DATA}/bridge.db`;
const CONFIG = "/etc/erp-bridge/config.yaml";
const SOURCE = `${DATA}/source.db`;
/** The inspector's, as the kernel writes it. */
const DEBUGGER_LISTENS = "grep -qi ':240D 00000000:0000 0A' /proc/net/tcp /proc/net/tcp6";

/** Who plants, and whose files he is after: those that he cannot reach himself. */
interface Planter {
  user: string;
  treasure: string;
  treasureOwner: string;
}
const SERVICE_USER: Planter = { user: OWNER, treasure: "/root/treasure", treasureOwner: "root" };
/** A member of the ERP's group, in a folder of mode 2770, is after the files of the service's user. */
const GROUP_MEMBER: Planter = { user: "erp-clerk", treasure: "/srv/treasure", treasureOwner: OWNER };

const KINDS: Record<string, (name: string, treasure: string) => string> = {
  link: (name, treasure) => `ln -sfn ${treasure}/shadow ${name}`,
  "link to a new name": (name, treasure) => `ln -sfn ${treasure}/new-${name.split("/").at(-1)} ${name}`,
  "link to a folder": (name, treasure) => `ln -sfn ${treasure} ${name}`,
  "hard link": (name, treasure) => `ln -f ${treasure}/shadow ${name}`,
  pipe: (name) => `mkfifo ${name}`,
  folder: (name) => `mkdir ${name}`,
};
/** Beside the database; each is planted with all the others. */
const ENDINGS = [".lock.json", ".restore", ".restore.partial", ".restoring", ".restoring-wal"];
const NAMES = [
  ...ENDINGS.map((ending) => `${DATABASE}${ending}`),
  ...["copy.db", "copy.db.partial", "copy.db.config.yaml", "backups", "journal"].map((name) => `${DATA}/${name}`),
];
/** With one of these in the way no command gets far, so each is tried alone. */
const IN_THE_WAY = [
  ...["", "-wal", "-shm", "-journal", ".id"],
  ...[".lock", ".lock-journal", ".lock-wal", ".lock-shm"],
].map((ending) => `${DATABASE}${ending}`);
const KINDS_ALONE = ["link", "hard link", "pipe"];
/** What timeout(1) ends with. */
const TIMED_OUT = 124;

const WRITING = [`restore ${SOURCE} --yes`, "sync orders", `backup ${DATA}/copy.db`];
const OTHERS = [
  "check",
  "config show",
  "config check",
  "status",
  "sync orders updates",
  "sync reconcile",
  "sync --dry-run",
  "remap",
  "remap --dry-run",
  "resume orders",
  "approve stocks",
  "order 1001",
  "quarantine list",
  "quarantine show 1",
  "quarantine retry --all",
  "quarantine drop 1",
  "probe --yes",
];

const SWAPPER_FILE = "/srv/swap.cjs";
/** As the planter: a link in the place of whatever appears beside the database. */
const SWAPPER = (treasure: string) => `const fs = require("node:fs");
for (let n = 0; ; n++) {
  // Names go away between being listed and being looked at.
  try {
    for (const entry of fs.readdirSync("${DATA}", { withFileTypes: true })) {
      if (!entry.isFile() || !/restor|partial|new$|json|^copy/.test(entry.name)) continue;
      const name = "${DATA}/" + entry.name;
      fs.renameSync(name, "${DATA}/taken-" + n);
      fs.symlinkSync("${treasure}/shadow", name);
    }
  } catch {}
}`;

/** What the service's user, or any user of the machine, may try against root and against the secret. */
export async function checkPlanted(trial: Trial): Promise<void> {
  const { machine } = trial;
  machine.must(`systemctl stop ${UNIT}; rm -f ${SOURCE}*; erp-bridge backup ${SOURCE}`);
  await checkNames(trial, SERVICE_USER);
  await checkSwapped(trial, SERVICE_USER);
  machine.must(`id erp-clerk >/dev/null 2>&1 || useradd --system --groups ${OWNER} erp-clerk`);
  machine.must(`chmod 2770 ${DATA}; chmod g+rw ${DATABASE}*; chmod g+r ${SOURCE}`);
  await checkNames(trial, GROUP_MEMBER);
  await checkSwapped(trial, GROUP_MEMBER);
  machine.must(`chmod 0750 ${DATA}; gpasswd --delete erp-clerk ${OWNER} >/dev/null`);
  await checkMade(trial);
  await checkDebugger(trial);
}

class Treasure {
  readonly #trial: Trial;
  readonly #planter: Planter;
  readonly #before: string;

  constructor(trial: Trial, planter: Planter) {
    this.#trial = trial;
    this.#planter = planter;
    const { treasure, treasureOwner } = planter;
    trial.machine.must(
      `install -d -m 0700 -o ${treasureOwner} ${treasure}; cd ${treasure}; echo precious >shadow; chown ${treasureOwner} shadow; chmod 0640 shadow`,
    );
    this.#before = this.#look();
  }

  #look(): string {
    // The number of names is the planter's own work; everything else must stay.
    const { treasure } = this.#planter;
    return this.#trial.machine.must(
      `cd ${treasure} && find . -printf '%p %m %u:%g %s\\n' | sed '/^\\. /d'; cat shadow`,
    );
  }

  check(words: string): void {
    const now = this.#look();
    if (now !== this.#before) throw new Error(`${words}: ${now}`);
  }
}

async function checkNames(trial: Trial, planter: Planter): Promise<void> {
  const { machine } = trial;
  /** A hard link to what one may not write is forbidden by the kernel (fs.protected_hardlinks): root makes it here. */
  const plant = (kind: string, name: string) => {
    const command = KINDS[kind]?.(name, planter.treasure) ?? "false";
    machine.must(kind === "hard link" ? command : `runuser -u ${planter.user} -- ${command}`);
  };
  const attempt = (treasure: Treasure, command: string, kind: string, names: readonly string[]) => {
    // What is in the way is moved, not lost: a database with a planted log is still the shop's.
    machine.must(`rm -rf ${DATA}/aside; mkdir ${DATA}/aside`);
    for (const name of names) {
      machine.must(`if [ -e ${name} ]; then mv ${name} ${DATA}/aside/; fi`);
      plant(kind, name);
    }
    const words = `${command} with ${names.length === 1 ? names[0] : "all names"} as a ${kind}`;
    try {
      const { code } = machine.run(`timeout 60 erp-bridge ${command}`);
      // Some commands have more to do than that in any case; only a pipe can be waited for.
      if (kind === "pipe" && code === TIMED_OUT) throw new Error(`${words} waits`);
      treasure.check(words);
    } finally {
      machine.must(
        `rm -rf ${names.join(" ")}; find ${DATA}/aside -mindepth 1 -exec mv -t ${DATA} {} +; rmdir ${DATA}/aside`,
      );
    }
  };
  for (const kind of Object.keys(KINDS)) {
    await trial.check(`a ${kind} of ${planter.user}'s in the place of what root's commands write leads nowhere`, () => {
      const commands = kind === "link" ? [...WRITING, ...OTHERS] : WRITING;
      // Set back for each: what one could spoil says nothing of the others.
      const treasure = new Treasure(trial, planter);
      for (const command of commands) attempt(treasure, command, kind, NAMES);
      const alone = KINDS_ALONE.includes(kind) ? IN_THE_WAY : [];
      for (const name of alone) for (const command of WRITING) attempt(treasure, command, kind, [name]);
      return `${commands.length} commands with ${NAMES.length} names${alone.length > 0 ? `, ${WRITING.length} with each of ${alone.length} alone` : ""}`;
    });
  }
  await trial.check(`nothing of that has harmed the database for good`, () => {
    machine.must(`erp-bridge restore ${SOURCE} --yes`);
    equal(trial.sql(DATABASE, "PRAGMA integrity_check"), "ok");
    return `${trial.sql(DATABASE, "SELECT count(*) FROM orders")} orders`;
  });
}

async function checkSwapped(trial: Trial, planter: Planter): Promise<void> {
  const { machine } = trial;
  const rounds = 5;
  await trial.check(`names that ${planter.user} swaps while root's commands run lead nowhere`, () => {
    const treasure = new Treasure(trial, planter);
    // Not below /tmp, which is a file system of the machine's own.
    machine.write(SWAPPER_FILE, SWAPPER(planter.treasure));
    const pid = machine.must(
      `runuser -u ${planter.user} -- sh -c '/usr/lib/erp-bridge/node ${SWAPPER_FILE} >/dev/null 2>&1 & echo $!'`,
    );
    let swapped: string;
    try {
      for (let round = 0; round < rounds; round++) {
        for (const command of [`restore ${SOURCE} --yes`, `backup ${DATA}/copy-${round}.db`, "sync orders"]) {
          machine.run(`timeout 60 erp-bridge ${command}`);
          treasure.check(command);
        }
      }
    } finally {
      machine.must(`kill ${pid}`);
      swapped = machine.must(`ls -d ${DATA}/taken-* 2>/dev/null | wc -l`);
      machine.must(`rm -rf ${DATA}/taken-* ${DATA}/copy-* ${NAMES.join(" ")}`);
    }
    equal(Number(swapped) > 0, true);
    return `${rounds} rounds, ${swapped} files swapped`;
  });
}

async function checkMade(trial: Trial): Promise<void> {
  const { machine } = trial;
  await trial.check(
    "what root's commands make is the service's, a journal too, and the service confirms as before",
    async () => {
      const good = machine.read(CONFIG);
      const journal = `${DATA}/journal`;
      machine.must(`erp-bridge restore ${SOURCE} --yes`);
      machine.write(CONFIG, good.replace("#journal: null", `journal: ${journal}`));
      machine.must("erp-bridge sync orders");
      equal(machine.must(`find ${DATA} ! -user erp-bridge`), "");
      equal(Number(machine.must(`ls ${journal} | wc -l`)) > 0, true);
      machine.must(`systemctl start ${UNIT}`);
      const orders = await trial.untilOrders(DATABASE, 1);
      await machine.until(
        "every batch is confirmed",
        () => trial.sql(DATABASE, "SELECT count(*) FROM batches WHERE state = 'stored'") === "0",
      );
      machine.write(CONFIG, good);
      machine.must(`systemctl restart ${UNIT}; rm -rf ${journal} ${SOURCE}*`);
      return `${orders} orders`;
    },
  );
}

async function checkDebugger(trial: Trial): Promise<void> {
  const { machine } = trial;
  await trial.check("SIGUSR1 opens no debugger, in the service and in root's commands", () => {
    const pid = machine.mainPid(UNIT);
    machine.must(`kill -USR1 ${pid}; sleep 2`);
    equal(machine.run(DEBUGGER_LISTENS).code !== 0, true);
    equal(machine.mainPid(UNIT), pid);
    const watching = machine.must("erp-bridge status --watch >/dev/null 2>&1 & echo $!; sleep 2");
    machine.must(`kill -USR1 ${watching}; sleep 2`);
    equal(machine.run(DEBUGGER_LISTENS).code !== 0, true);
    machine.must(`kill ${watching}`);
    return trial.isActive(UNIT);
  });
  await trial.check("the look for a debugger finds one", () => {
    const pid = machine.must(
      "/usr/lib/erp-bridge/node -e 'setInterval(() => {}, 1000)' >/dev/null 2>&1 & echo $!; sleep 1",
    );
    machine.must(`kill -USR1 ${pid}; sleep 2`);
    const found = machine.run(DEBUGGER_LISTENS).code;
    machine.must(`kill ${pid}`);
    return equal(found, 0);
  });
  await trial.check("the environment of systemd changes nothing of the program", () => {
    machine.must("systemctl set-environment NODE_OPTIONS=--inspect NODE_TLS_REJECT_UNAUTHORIZED=0");
    machine.must(`systemctl restart ${UNIT}`);
    const environment = machine.must(`tr '\\0' '\\n' </proc/${machine.mainPid(UNIT)}/environ`);
    machine.must("systemctl unset-environment NODE_OPTIONS NODE_TLS_REJECT_UNAUTHORIZED");
    equal(/NODE_OPTIONS|NODE_TLS/.test(environment), false);
    return equal(machine.run(DEBUGGER_LISTENS).code !== 0, true);
  });
}
