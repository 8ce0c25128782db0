import type { Machine } from "./machine.ts";

export interface Packages {
  /** The package of this tree, and the same tree under a former version. */
  present: string;
  former: string;
  version: string;
  formerVersion: string;
}

interface JournalLine {
  MESSAGE: string;
  PRIORITY: string;
  SYSLOG_IDENTIFIER: string;
  /** Microseconds. */
  __REALTIME_TIMESTAMP: string;
}

/** One trial on one machine: its checks, in their order, each a line. */
export class Trial {
  readonly machine: Machine;
  readonly packages: Packages;
  failures = 0;
  /** When the present check began. */
  #sinceMs = 0;

  constructor(machine: Machine, packages: Packages) {
    this.machine = machine;
    this.packages = packages;
  }

  /** What `act` gives is told; what it throws, and `false`, is a failure. The checks after it go on. */
  async check(words: string, act: () => Promise<unknown> | unknown): Promise<void> {
    this.#sinceMs = Date.now();
    try {
      const told = await act();
      if (told === false) throw new Error("it is not so");
      console.log(`ok      ${words}${typeof told === "string" ? `: ${told}` : ""}`);
    } catch (error) {
      this.failures += 1;
      console.log(`FAILED  ${words}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Lines of the journal of a unit, as objects: those of the present check alone, or all. */
  journal(unit: string, from: "this check" | "the beginning" = "this check"): JournalLine[] {
    this.machine.run("journalctl --sync");
    const text = this.machine.must(`journalctl --unit=${unit} --output=json --no-pager`);
    const lines = text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as JournalLine);
    return lines.filter((line) => from !== "this check" || Number(line.__REALTIME_TIMESTAMP) >= this.#sinceMs * 1000);
  }

  /** Waits until the unit says this, in the present check. */
  async untilSaid(unit: string, words: string): Promise<void> {
    const said = () => this.journal(unit).some(({ MESSAGE }) => MESSAGE.includes(words));
    await this.machine.until(`${unit} says "${words}"`, said);
  }

  sql(database: string, statement: string): string {
    return this.machine.must(`sqlite3 -cmd '.timeout 5000' ${database} "${statement}"`);
  }

  /** Waits until the bridge has stored so many orders more than it has now. */
  async untilOrders(database: string, more: number): Promise<number> {
    const count = () => Number(this.sql(database, "SELECT count(*) FROM orders"));
    const before = count();
    await this.machine.until(`${more} more orders in ${database}`, () => count() >= before + more, 150_000);
    return count();
  }

  isActive(unit: string): boolean {
    return this.machine.run(`systemctl is-active --quiet ${unit}`).code === 0;
  }
}

export function equal(actual: unknown, expected: unknown): true {
  if (actual !== expected) throw new Error(`${JSON.stringify(actual)} in the place of ${JSON.stringify(expected)}`);
  return true;
}

const SANDBOX = "/usr/local/bin/sandbox-for-trial";
/** Other orders and batches after each start, as at a service that goes on while this machine is away. */
const START_SANDBOX = `now=$(date +%s)
switches=$(mktemp)
echo "{\\"batchesBefore\\": $now}" >$switches
exec /usr/bin/erp-bridge sandbox --seed $now --switches $switches "$@"
`;

/** A mock service inside the machine, from the package itself, that starts with the machine. */
export function addSandbox(machine: Machine, name: string, port: number, rate: number): void {
  machine.write(SANDBOX, START_SANDBOX);
  const command = `/bin/sh ${SANDBOX} --port ${port} --rate ${rate} --client-id ${name} --client-secret secret-of-${name}`;
  machine.write(
    `/etc/systemd/system/sandbox-${name}.service`,
    `[Service]\nExecStart=${command}\nUser=nobody\n[Install]\nWantedBy=multi-user.target\n`,
  );
  machine.must(`systemctl daemon-reload; systemctl enable --quiet --now sandbox-${name}`);
}

/** The ids of every order that a mock service has taken as confirmed, by its own ledger. */
export function confirmedAt(machine: Machine, port: number): string[] {
  const ask = `fetch("http://127.0.0.1:${port}/_sandbox/ledger").then((answer) => answer.text()).then(console.log)`;
  const { entries } = JSON.parse(machine.must(`/usr/lib/erp-bridge/node -e '${ask}'`)) as {
    entries: { effect?: { kind: string; orderIds?: string[] } }[];
  };
  return entries.flatMap(({ effect }) => (effect?.kind === "confirmed" ? (effect.orderIds ?? []) : []));
}

/** `erp-bridge init` against a mock service; polls every five seconds, so that a trial need not wait for minutes. */
export async function configure(machine: Machine, name: string, port: number, instance?: string): Promise<string> {
  await machine.until("the mock service answers", () => machine.run(LISTENS(port)).code === 0);
  const flag = instance === undefined ? "" : `--instance ${instance} `;
  const file = `/etc/erp-bridge/${instance ?? "config"}.yaml`;
  const out = machine.must(
    `ERP_BRIDGE_CLIENT_SECRET=secret-of-${name} erp-bridge init ${flag}--base-url http://127.0.0.1:${port} --client-id ${name}`,
  );
  const fast = machine.read(file).replaceAll('#schedule: "* * * * *"', 'schedule: "*/5 * * * * *"');
  machine.write(file, fast);
  return out;
}

const LISTENS = (port: number) => `grep -qi ':${port.toString(16).padStart(4, "0")} 0' /proc/net/tcp`;
