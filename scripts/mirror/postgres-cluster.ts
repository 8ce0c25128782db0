import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const PROGRAMS = ["initdb", "pg_ctl", "psql"];
const DEBIAN_FOLDER = "/usr/lib/postgresql";
/** Below the ports that the kernel gives to outgoing connections: nobody takes one while the cluster is down. */
const PORTS = { from: 15_000, count: 16_000 };
const STARTS_MAX = 5;
const PASSWORD = "Kn0cks-on/wood:@?";

/**
 * A crash of PostgreSQL loses nothing that was committed, as with `fsync` on: what was written is in the kernel's memory.
 * Only a power cut would.
 */
const SETTINGS = `
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_wal_size = 256MB
shared_buffers = 32MB
unix_socket_permissions = 0777
listen_addresses = '127.0.0.1'
password_encryption = scram-sha-256
ssl = on
ssl_cert_file = 'server.crt'
ssl_key_file = 'server.key'
log_line_prefix = '%m [%p] %u@%d '
`;

/** The socket asks for nothing; the port asks for TLS and a password. */
const HBA = `
local all all trust
hostssl all all 127.0.0.1/32 scram-sha-256
`;

export const HOW_TO_INSTALL =
  "PostgreSQL is missing: apt-get install postgresql, then systemctl disable --now postgresql";

/** The folder of the newest PostgreSQL's programs; undefined where there is none. */
export function findPostgres(): string | undefined {
  const debian = existsSync(DEBIAN_FOLDER)
    ? readdirSync(DEBIAN_FOLDER)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => path.join(DEBIAN_FOLDER, version, "bin"))
    : [];
  const folders = [...debian, ...(process.env["PATH"] ?? "").split(":")];
  return folders.find((folder) => PROGRAMS.every((program) => existsSync(path.join(folder, program))));
}

/** PostgreSQL refuses to run as root: then it runs as the user of the package, or as nobody. */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const user = ["postgres", "nobody"].flatMap((name) => users.filter(([each]) => each === name)).at(0);
  if (user === undefined) throw new Error("root cannot run PostgreSQL, and there is no user postgres or nobody");
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/**
 * PostgreSQL in a temporary folder, on a socket there and on a port of this machine. It ends with the process that started it, however that ends,
 * and its folder goes with it.
 */
export class PostgresCluster {
  readonly folder: string;
  readonly #bin: string;
  readonly #user = unprivileged();
  #guard: ChildProcess | undefined;
  #port = 0;

  private constructor(bin: string) {
    this.#bin = bin;
    this.folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), "erp-bridge-pg-")));
  }

  /** `settings` are lines of postgresql.conf. */
  static async start({ settings = "" } = {}): Promise<PostgresCluster> {
    const bin = findPostgres();
    if (bin === undefined) throw new Error(HOW_TO_INSTALL);
    const cluster = new PostgresCluster(bin);
    cluster.#startGuard();
    await cluster.#make(settings);
    for (let starts = 1; ; starts++) {
      cluster.#port = PORTS.from + Math.floor(Math.random() * PORTS.count);
      if (!(await isFree(cluster.#port))) continue;
      try {
        await cluster.start();
        return cluster;
      } catch (error) {
        if (starts >= STARTS_MAX) throw error;
      }
    }
  }

  get socket(): string {
    return path.join(this.folder, `.s.PGSQL.${this.#port}`);
  }

  get port(): number {
    return this.#port;
  }

  /** The certificate that a client of the port trusts. */
  get certificate(): string {
    return path.join(this.folder, "ca.crt");
  }

  /** Of the role `postgres` that may do everything, on the socket. */
  url(database: string, user = "postgres"): string {
    return socketUrl({ folder: this.folder, port: this.#port, database, user });
  }

  /** On the port: TLS, and the password of a role that `addRole` made. */
  tlsUrl(database: string, user: string, password = PASSWORD): string {
    return `postgres://${user}:${encodeURIComponent(password)}@localhost:${this.#port}/${database}`;
  }

  async addRole(role: string, options = ""): Promise<void> {
    await this.query("postgres", `CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}' ${options}`);
  }

  /** What `psql` prints for these statements: one row a line, columns parted by |. */
  async query(database: string, sql: string): Promise<string> {
    const connection = ["-h", this.folder, "-p", String(this.#port), "-U", "postgres", "-d", database];
    const { stdout } = await run(this.#program("psql"), [...connection, "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", sql]);
    return stdout.trimEnd();
  }

  async start(): Promise<void> {
    await this.#control("start", "-l", path.join(this.folder, "log"), "-o", `-p ${this.#port} -k ${this.folder}`);
  }

  /** An orderly stop, which ends what is under way. */
  async stop(): Promise<void> {
    await this.#control("stop", "-m", "fast");
  }

  /** As if every process of it were killed; the next start recovers. */
  async crash(): Promise<void> {
    await this.#control("stop", "-m", "immediate");
  }

  log(): string {
    return readFileSync(path.join(this.folder, "log"), "utf8");
  }

  /** Ends it, and removes its folder. */
  async close(): Promise<void> {
    const guard = this.#guard;
    if (guard === undefined) return;
    this.#guard = undefined;
    guard.ref();
    const ended = new Promise((resolve) => guard.once("exit", resolve));
    guard.stdin?.end();
    await ended;
  }

  #program(name: string): string {
    return path.join(this.#bin, name);
  }

  async #control(command: string, ...args: string[]): Promise<void> {
    // Not a pipe: the server keeps what its starter had, and the pipe would never end.
    const child = spawn(this.#program("pg_ctl"), ["-D", this.#data, "-w", "-s", command, ...args], {
      ...this.#user,
      cwd: this.folder,
      stdio: "ignore",
    });
    const code = await new Promise((resolve, reject) => child.once("exit", resolve).once("error", reject));
    if (code !== 0) throw new Error(`pg_ctl ${command} ended with ${String(code)}:\n${this.log().slice(-2_000)}`);
  }

  get #data(): string {
    return path.join(this.folder, "data");
  }

  async #make(settings: string): Promise<void> {
    const asUser = { ...this.#user, cwd: this.folder };
    const how = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"];
    await run(this.#program("initdb"), ["-D", this.#data, ...how], asUser);
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "data/server.key"];
    execFileSync("openssl", ["req", "-x509", "-days", "2", ...key, "-out", "data/server.crt", ...subject], {
      ...asUser,
      stdio: "ignore",
    });
    writeFileSync(this.certificate, readFileSync(path.join(this.#data, "server.crt")));
    writeFileSync(path.join(this.#data, "postgresql.conf"), SETTINGS + settings, { flag: "a" });
    writeFileSync(path.join(this.#data, "pg_hba.conf"), HBA);
  }

  /** Waits until this process has let go of its input, and then cleans up: it outlives a kill of the tests. */
  #startGuard(): void {
    chmodSync(this.folder, 0o755);
    const { uid, gid } = this.#user;
    if (uid !== undefined && gid !== undefined) chownSync(this.folder, uid, gid);
    const script = 'read -r _; "$1/pg_ctl" -D "$2/data" -s -m immediate stop; rm -rf "$2"';
    const guard = spawn("sh", ["-c", script, "sh", this.#bin, this.folder], {
      ...this.#user,
      cwd: "/",
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    guard.unref();
    // A socket, which alone would keep this process alive.
    (guard.stdin as unknown as { unref(): void }).unref();
    this.#guard = guard;
  }
}

/** A connection through the socket of this folder and number. */
export function socketUrl(place: { folder: string; port: number; database: string; user: string }): string {
  return `postgres://${place.user}@/${place.database}?host=${encodeURIComponent(place.folder)}&port=${place.port}`;
}
