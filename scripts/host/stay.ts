import { cpSync, readFileSync } from "node:fs";
import path from "node:path";
import { addSandbox, configure, equal, type Trial } from "./trial.ts";

const UNIT = "erp-bridge";
const DATABASE = "/var/lib/erp-bridge/bridge.db";
const IDLE_MS = 30_000;

/** The package comes, changes and goes. */
export async function checkArrival(trial: Trial): Promise<void> {
  const { machine, packages } = trial;
  const stat = (file: string) => machine.must(`stat -c '%a %U:%G' ${file}`);
  await trial.check("dpkg installs the package on a fresh system", () => {
    machine.put(packages.former, "/root/former.deb");
    machine.put(packages.present, "/root/present.deb");
    const told = machine.must("dpkg -i /root/former.deb");
    for (const next of ["  erp-bridge init", "  systemctl enable --now erp-bridge"])
      equal(told.split("\n").includes(next) ? next : told, next);
    return machine.must("erp-bridge --version");
  });
  await trial.check("the documents are there, in Russian too, and the list of what the package is made of", () =>
    machine.must("cd /usr/share/doc/erp-bridge && wc -c README.md README.ru.md sbom.cdx.json | head -3 | xargs"),
  );
  await trial.check("folders belong to root and to the service, and to nobody else", () => {
    equal(stat("/etc/erp-bridge"), "750 root:erp-bridge");
    return equal(stat("/var/lib/erp-bridge"), "750 erp-bridge:erp-bridge");
  });
  await trial.check("a service that is not configured does not start, and is no failure", () => {
    machine.must(`systemctl enable --quiet --now ${UNIT}`);
    equal(trial.isActive(UNIT), false);
    return equal(machine.run("systemctl --failed --no-legend").out, "");
  });
  await trial.check(
    "systemd understands every line of the unit, and waits longer between restarts where it can",
    () => {
      equal(machine.run("journalctl --boot --no-pager --grep='erp-bridge.*(Unknown|ignoring|Failed)' _PID=1").code, 1);
      const version = Number(/\d+/.exec(machine.must("systemctl --version"))?.[0]);
      const steps = machine.run(`systemctl show --value --property=RestartSteps ${UNIT}`).out;
      return equal(steps, version >= 254 ? "6" : "");
    },
  );
  await trial.check("init makes what the service needs, run by root", async () => {
    addSandbox(machine, "main", 18_080, 60);
    await configure(machine, "main", 18_080);
    equal(stat("/etc/erp-bridge/client-secret"), "600 root:erp-bridge");
    equal(stat("/etc/erp-bridge/config.yaml"), "640 root:erp-bridge");
    machine.must("erp-bridge config check");
    machine.must("erp-bridge sync orders");
    return equal(machine.must(`find /var/lib/erp-bridge ! -user erp-bridge`), "");
  });
}

export async function checkShops(trial: Trial): Promise<void> {
  const { machine } = trial;
  machine.must(`systemctl start ${UNIT}`);
  await trial.check("two more shops run beside it, each with its own orders", async () => {
    const counts: string[] = [];
    for (const [name, port] of [
      ["north", 18_081],
      ["south", 18_082],
    ] as const) {
      addSandbox(machine, name, port, 60);
      await configure(machine, name, port, name);
      machine.must(`systemctl enable --quiet --now ${UNIT}@${name}`);
      counts.push(`${name} ${await trial.untilOrders(`/var/lib/erp-bridge/${name}/bridge.db`, 1)}`);
    }
    equal(trial.isActive(UNIT), true);
    return counts.join(", ");
  });
  await trial.check("an ERP under another user takes an order and publishes stock through the group", async () => {
    machine.must("useradd --system --create-home erp; usermod --append --groups erp-bridge erp");
    const dropIn = `/etc/systemd/system/${UNIT}.service.d/erp-group.conf`;
    machine.must(`install -D -m 0644 /usr/lib/erp-bridge/systemd/erp-group.conf ${dropIn}`);
    machine.must(`systemctl daemon-reload; systemctl stop ${UNIT}; chmod g+rw ${DATABASE}*; systemctl start ${UNIT}`);
    const asErp = (sql: string) => machine.must(`runuser -u erp -- sqlite3 -cmd '.timeout 5000' ${DATABASE} "${sql}"`);
    asErp(
      "INSERT INTO erp_orders (order_id, erp_number, seen_revision) SELECT order_id, 'E-1', revision FROM orders_pending LIMIT 1",
    );
    asErp("INSERT INTO stock (sku, quantity) VALUES ('A-17', 5)");
    await machine.until(
      "the stock is on the site",
      () => asErp("SELECT state FROM stock_sent WHERE sku = 'A-17'") === "sent",
    );
    equal(machine.must(`stat -c '%a %G' ${DATABASE}-wal`), "660 erp-bridge");
    return equal(asErp("SELECT erp_number FROM erp_orders"), "E-1");
  });
  await trial.check("a shop with nothing to do is small", async () => {
    machine.must(
      "systemctl stop sandbox-north; sed -i s/--rate.60/--rate\\ 0/ /etc/systemd/system/sandbox-north.service",
    );
    machine.must(`systemctl daemon-reload; systemctl start sandbox-north; systemctl restart ${UNIT}@north`);
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const pid = machine.mainPid(`${UNIT}@north`);
    const kb = (name: string, file: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(machine.must(`cat /proc/${pid}/${file}`))?.[1]);
    return `${Math.round(kb("VmRSS", "status") / 1024)} MB resident, ${Math.round(kb("Private_Dirty", "smaps_rollup") / 1024)} MB of them its own, after ${IDLE_MS / 1000} s`;
  });
}

export async function checkUpgrade(trial: Trial): Promise<void> {
  const { machine, packages } = trial;
  await trial.check("an upgrade restarts what runs, nothing else, and leaves the configuration alone", async () => {
    machine.must(`systemctl stop ${UNIT}@south`);
    const config = machine.must("md5sum /etc/erp-bridge/*");
    const pids = [UNIT, `${UNIT}@north`].map((unit) => machine.mainPid(unit));
    equal(machine.must("erp-bridge --version"), packages.formerVersion);
    machine.must("dpkg -i /root/present.deb");
    equal(machine.must("erp-bridge --version"), packages.version);
    await machine.until("both run again", () => trial.isActive(UNIT) && trial.isActive(`${UNIT}@north`));
    const now = [UNIT, `${UNIT}@north`].map((unit) => machine.mainPid(unit));
    equal(
      now.some((pid) => pids.includes(pid)),
      false,
    );
    equal(trial.isActive(`${UNIT}@south`), false);
    equal(machine.must("md5sum /etc/erp-bridge/*"), config);
    return `${packages.formerVersion} to ${packages.version}, ${await trial.untilOrders(DATABASE, 1)} orders`;
  });
  await trial.check("every file of the package is as it was built", () =>
    equal(machine.run("dpkg --verify erp-bridge").out, ""),
  );
}

export async function checkDeparture(trial: Trial): Promise<void> {
  const { machine } = trial;
  await trial.check("removal stops the services and keeps configuration and data", () => {
    machine.must("dpkg --remove erp-bridge");
    equal(trial.isActive(UNIT) || trial.isActive(`${UNIT}@north`), false);
    equal(machine.run("pgrep -f [e]rp-bridge.mjs.run").out, "");
    machine.must(`test -s ${DATABASE} -a -s /etc/erp-bridge/config.yaml -a -s /var/lib/erp-bridge/north/bridge.db`);
    return equal(trial.sql(DATABASE, "PRAGMA integrity_check"), "ok");
  });
  await trial.check("installed again it goes on where it was", async () => {
    const before = Number(trial.sql(DATABASE, "SELECT count(*) FROM orders"));
    machine.must(`dpkg -i /root/present.deb; systemctl restart sandbox-main; systemctl start ${UNIT}`);
    return equal((await trial.untilOrders(DATABASE, 1)) > before, true);
  });
  await trial.check("purge deletes everything but the user", () => {
    machine.must("dpkg --purge erp-bridge");
    const left = machine.must(
      "find / -xdev -name '*erp-bridge*' -not -path '/proc/*' -not -path '/root/*' -not -path '/var/lib/dpkg/*'",
    );
    equal(
      left
        .split("\n")
        .filter((file) => file !== "" && !/^\/(tmp|var\/tmp|run|var\/log)\//.test(file))
        .join(" "),
      "",
    );
    return machine.must("getent passwd erp-bridge") !== "";
  });
}

/** The signed repository, as `npm run release:package -- --repository` makes it, on the same machine without the package. */
export async function checkRepository(trial: Trial, repository: string): Promise<void> {
  const { machine, packages } = trial;
  const list = "/etc/apt/sources.list.d/erp-bridge.list";
  const only = `-o Dir::Etc::sourcelist=${list} -o Dir::Etc::sourceparts=/dev/null`;
  const apt = `DEBIAN_FRONTEND=noninteractive apt-get -q ${only}`;
  await trial.check("apt takes the package from the signed repository, with the key alone", () => {
    cpSync(repository, path.join(machine.root, "srv/apt"), { recursive: true });
    machine.must("install -m 0644 /srv/apt/erp-bridge.gpg /usr/share/keyrings/erp-bridge.gpg");
    machine.write(list, "deb [signed-by=/usr/share/keyrings/erp-bridge.gpg] file:/srv/apt stable main\n");
    machine.must(`${apt} update`);
    machine.must(`${apt} install --yes --no-install-recommends erp-bridge`);
    const version = machine.must("erp-bridge --version");
    equal(version, packages.version);
    return `${version}, ${machine.must("apt-cache policy erp-bridge | sed -n 's/^ *Candidate: //p'")} in the repository`;
  });
  await trial.check("apt refuses the repository once its lists were changed", () => {
    machine.must("sed -i 's/^Origin: erp-bridge/Origin: somebody/' /srv/apt/dists/stable/InRelease");
    machine.must("rm /srv/apt/dists/stable/Release.gpg");
    const { code, err, out } = machine.run(`${apt} -o APT::Update::Error-Mode=any update`);
    equal(code !== 0, true);
    return equal(/BADSIG|signature|not signed|Sub-process/i.test(err + out), true);
  });
  machine.run(
    `dpkg --purge erp-bridge; rm -rf ${list} /srv/apt /usr/share/keyrings/erp-bridge.gpg; userdel erp-bridge`,
  );
}

/** Where a system itself notes what happened on it. */
const KEEPS_NOTES =
  /^\/(tmp|run|proc|sys|dev|root|var\/(tmp|log|cache|lib\/(systemd|apt|dpkg)))(\/|$)|^\/etc\/(passwd|group|shadow|gshadow)-$/;

/** The archive, on the same machine without the package. */
export async function checkArchive(trial: Trial, archive: string): Promise<void> {
  const { machine } = trial;
  const names = () =>
    machine
      .must("find / -xdev")
      .split("\n")
      .filter((name) => !KEEPS_NOTES.test(name));
  machine.run("groupdel erp-bridge; userdel erp-bridge");
  const before = new Set(names());
  const folder = path.basename(archive).replace(/-linux-x64\.tar\.gz$/, "");
  await trial.check("the archive installs the same without dpkg, and goes without a trace", async () => {
    machine.write("/root/archive.tar.gz", "");
    machine.put(archive, "/root/archive.tar.gz");
    const install = () => machine.must(`cd /root && tar -xzf archive.tar.gz && ./${folder}/install.sh`);
    const told = install();
    equal(told.includes("\n  erp-bridge init\n  systemctl enable --now erp-bridge") ? "both" : told, "both");
    machine.must("systemctl restart sandbox-main");
    await configure(machine, "main", 18_080);
    machine.must(`systemctl enable --quiet --now ${UNIT}`);
    equal(install().includes("erp-bridge init"), false);
    const orders = await trial.untilOrders(DATABASE, 1);
    machine.must(`/root/${folder}/uninstall.sh --purge`);
    equal(
      names()
        .filter((name) => !before.has(name))
        .join(" "),
      "",
    );
    equal(machine.run("getent passwd erp-bridge; getent group erp-bridge").out, "");
    equal(machine.run(`systemctl cat ${UNIT}`).code === 0, false);
    return `${orders} orders, ${Math.round(readFileSync(archive).length / 1024 / 1024)} MB`;
  });
}
