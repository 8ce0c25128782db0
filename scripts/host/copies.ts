import { equal, type Trial } from "./trial.ts";

const UNIT = "erp-bridge";
const COPIES = "/srv/copies";
const DATABASE = "/var/lib/erp-bridge/bridge.db";

/** What docs/installation.md says of copies and of another machine, step by step. */
export async function checkCopies(trial: Trial): Promise<void> {
  const { machine } = trial;
  const orders = () => Number(trial.sql(DATABASE, "SELECT count(*) FROM orders"));
  await trial.check(
    "a copy made by root while everything runs is restored, and the service goes on with it",
    async () => {
      // Where the service's user may write: the command works as that user.
      machine.must(`install -d -m 0700 -o erp-bridge ${COPIES}; erp-bridge backup ${COPIES}/copy.db`);
      await trial.untilOrders(DATABASE, 1);
      const before = orders();
      machine.must(`systemctl stop ${UNIT}; erp-bridge restore --yes ${COPIES}/copy.db`);
      equal(machine.must("find /var/lib/erp-bridge ! -user erp-bridge"), "");
      equal(orders() >= before, true);
      machine.must(`systemctl start ${UNIT}`);
      return `${before} orders before, ${await trial.untilOrders(DATABASE, 1)} after`;
    },
  );
  await trial.check("stopped, the database is one file, and goes to another machine as that", async () => {
    machine.must(`systemctl disable --quiet --now ${UNIT}`);
    equal(machine.run(`ls ${DATABASE}-wal ${DATABASE}-shm 2>/dev/null`).out, "");
    const before = orders();
    machine.must(
      "tar -C / -czf /root/move.tar.gz etc/erp-bridge/config.yaml etc/erp-bridge/client-secret var/lib/erp-bridge/bridge.db",
    );
    machine.must(
      "rm -rf /etc/erp-bridge/config.yaml /etc/erp-bridge/client-secret /var/lib/erp-bridge/bridge.db*; tar -C / --same-owner -xzpf /root/move.tar.gz",
    );
    machine.must(`erp-bridge check --online && systemctl enable --quiet --now ${UNIT}`);
    equal(machine.must("stat -c '%a %U' /etc/erp-bridge/client-secret"), "600 root");
    equal((await trial.untilOrders(DATABASE, 1)) > before, true);
  });
}
