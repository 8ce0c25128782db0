import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { stringify } from "yaml";
import { readMirrorUrl } from "../../src/config/mirror.ts";
import { initSchema } from "../../src/mirror/schema/init-schema.ts";
import { pickOne, type Random, seededRandom } from "../../src/sandbox/random.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { type CampaignWork, findLacking } from "./campaign-work.ts";
import { compareMirror, countUp, type Difference } from "./compare-mirror.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { type ErpBook, ErpWorker, newBook } from "./erp-worker.ts";
import { PostgresCluster } from "./postgres-cluster.ts";

const SHOP = "north";
const SCHEMA = "erp_bridge";
const STATUS_PATH = "/api/v1/1c/orders/{order_id}/status";
const TICK_MS = 200;
/** One order in so many is changed at the service as each is made. */
const CHANGES = 0.3;
/** A statement or a COMMIT to be cut comes within so long. */
const CUT_WITHIN_MS = 20_000;
/** A bridge that was killed is at work again within so long. */
const WORK_WITHIN_MS = 15_000;
const WORK_BEGINS_MS = 60_000;

export interface CampaignSizes {
  kills: number;
  crashes: number;
  cuts: number;
  workers: number;
  ordersPerMinute: number;
  /** Between two faults, at most. */
  gapMs: number;
  settleMs: number;
}

export interface CampaignOptions extends CampaignSizes {
  folder: string;
  program: string;
  seed: number;
  say: (line: string) => void;
}

export interface CampaignResult extends Difference {
  orders: number;
  work: CampaignWork;
  /** What it did too little of to mean something. */
  lacking: string[];
}

/** A real bridge between the mock service and a real PostgreSQL, and everything that may break between them. */
export async function runMirrorCampaign(options: CampaignOptions): Promise<CampaignResult> {
  mkdirSync(options.folder, { recursive: true });
  const cluster = await PostgresCluster.start();
  const campaign = new MirrorCampaign(options, cluster);
  try {
    return await campaign.run();
  } finally {
    await campaign.close();
    await cluster.close();
  }
}

class MirrorCampaign {
  readonly #options: CampaignOptions;
  readonly #cluster: PostgresCluster;
  readonly #random: Random;
  readonly #book: ErpBook = newBook();
  readonly #closing: (() => Promise<unknown> | unknown)[] = [];
  #sandbox!: Sandbox;
  #proxy!: CuttingProxy;
  #bridge: ChildProcess | undefined;
  #isOver = false;
  #cutCommits = 0;
  #killsAtWork = 0;
  /** COMMITs of the bridges before this one. */
  #commitsBefore = 0;

  constructor(options: CampaignOptions, cluster: PostgresCluster) {
    this.#options = options;
    this.#cluster = cluster;
    this.#random = seededRandom(options.seed);
  }

  async run(): Promise<CampaignResult> {
    await this.#prepare();
    this.#startBridge();
    const workers = Array.from({ length: this.#options.workers }, (_, at) => this.#worker(at));
    const working = workers.map((worker) => worker.run());
    const making = this.#makeOrders();
    await this.#beginWork();
    await this.#doFaults();
    this.#isOver = true;
    for (const worker of workers) worker.stop();
    await Promise.all([...working, making]);
    this.#proxy.onStatement = undefined;
    const work = await this.#countWork();
    const counts = Object.entries(work).map(([name, count]) => `${name} ${count}`);
    this.#options.say(`done so far: ${counts.join(", ")}; ${this.#book.failures} transactions of the ERP failed`);
    const difference = await this.#settle();
    const lacking = findLacking(this.#options, work);
    return { ...difference, orders: this.#sandbox.service.orders().length, work, lacking };
  }

  async #countWork(): Promise<CampaignWork> {
    const { commits, rollbacks, marked, requests } = this.#book;
    const ordersDown = await this.#cluster.query("postgres", `SELECT count(*) FROM ${SCHEMA}.orders`);
    return {
      killsAtWork: this.#killsAtWork,
      cutConnections: this.#proxy.cuts,
      cutCommits: this.#cutCommits,
      bridgeCommits: this.#proxy.commits,
      erpCommits: commits,
      erpRollbacks: rollbacks,
      ordersDown: Number(ordersDown),
      marked: marked.size,
      requests: requests.size,
      rowsUp: countUp(this.#database),
      effects: this.#sandbox.ledger.effects("status").length,
    };
  }

  async close(): Promise<void> {
    await this.#killBridge();
    for (const close of this.#closing.reverse()) await close();
  }

  async #prepare(): Promise<void> {
    const { folder, seed } = this.#options;
    const target = readMirrorUrl(this.#cluster.url("postgres"));
    if ("problem" in target) throw new Error(String(target.problem));
    await initSchema({ link: { target, authorities: [], schema: SCHEMA, timeoutMs: 60_000 }, shop: SHOP });
    this.#proxy = await CuttingProxy.start(folder, () => this.#cluster.socket);
    this.#closing.push(() => this.#proxy.close());
    this.#sandbox = await startSandbox({ seed, options: { batchSize: 200 } });
    this.#closing.push(() => this.#sandbox.close());
    const everySecond = { schedule: "* * * * * *" };
    writeFileSync(
      this.#configFile,
      stringify({
        service: {
          base_url: this.#sandbox.url,
          client_id: this.#sandbox.clientId,
          client_secret: this.#sandbox.clientSecret,
          requests_per_second: 10_000,
          timeouts: { import: "5s" },
        },
        database: { path: "bridge.db" },
        orders: everySecond,
        updates: everySecond,
        statuses: { path: STATUS_PATH, ...everySecond },
        imports: { stocks: { ...everySecond, guard: { percent: 100 } } },
        backup: { schedule: "0 0 1 1 *" },
        http: { listen: "off" },
        mirror: {
          url: this.#proxy.url("postgres", `${SCHEMA}_shop_${SHOP}`),
          shop: SHOP,
          timeout: "10s",
          ...everySecond,
        },
      }),
      { mode: 0o600 },
    );
  }

  get #configFile(): string {
    return path.join(this.#options.folder, "config.yaml");
  }

  get #database(): string {
    return path.join(this.#options.folder, "bridge.db");
  }

  #worker(at: number): ErpWorker {
    return new ErpWorker({
      url: () => this.#cluster.url("postgres"),
      schema: SCHEMA,
      shop: SHOP,
      random: seededRandom(this.#options.seed + 1 + at),
      book: this.#book,
      mayTruncate: at === 0,
    });
  }

  #startBridge(): void {
    const child = spawn(process.execPath, [this.#options.program, "run", "--config", this.#configFile], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    });
    child.stderr?.on("data", (bytes: Buffer) => appendFileSync(path.join(this.#options.folder, "bridge.log"), bytes));
    this.#bridge = child;
    this.#commitsBefore = this.#proxy.commits;
  }

  get #isAtWork(): boolean {
    return this.#proxy.commits > this.#commitsBefore;
  }

  async #killBridge(): Promise<void> {
    const child = this.#bridge;
    this.#bridge = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async #makeOrders(): Promise<void> {
    const { service } = this.#sandbox;
    const perTick = (this.#options.ordersPerMinute * TICK_MS) / 60_000;
    const ids: string[] = [];
    for (let owed = 0; !this.#isOver; owed += perTick) {
      for (; owed >= 1; owed -= 1) {
        ids.push(service.createOrder());
        const id = pickOne(this.#random, ids);
        // A status that the ERP asks for is to be seen on the order.
        if (this.#random() < CHANGES && !this.#book.asked.has(id))
          service.changeOrder(id, { total: `${ids.length}.50` });
      }
      await sleep(TICK_MS);
    }
  }

  /** Faults before the ERP's first mark and request would break nothing off. */
  async #beginWork(): Promise<void> {
    const { marked, requests } = this.#book;
    for (let waitedMs = 0; waitedMs < WORK_BEGINS_MS; waitedMs += 20) {
      if (marked.size > 0 && requests.size > 0) return;
      await sleep(20);
    }
  }

  async #doFaults(): Promise<void> {
    const { kills, crashes, cuts, gapMs, say } = this.#options;
    const left = { kill: kills, crash: crashes, cut: cuts };
    const all = kills + crashes + cuts;
    for (let done = 1; done <= all; done++) {
      await sleep(this.#random() * gapMs);
      const at = this.#random() * (left.kill + left.crash + left.cut);
      const fault = at < left.kill ? "kill" : at < left.kill + left.crash ? "crash" : "cut";
      left[fault] -= 1;
      if (fault === "kill") await this.#kill();
      else if (fault === "crash") await this.#crash();
      else await this.#cut();
      if (done % 50 === 0) say(`${done} of ${all} faults, ${this.#sandbox.service.orders().length} orders`);
    }
  }

  /** At work if possible: one that still starts has nothing to lose. */
  async #kill(): Promise<void> {
    for (let waitedMs = 0; !this.#isAtWork && waitedMs < WORK_WITHIN_MS; waitedMs += 20) await sleep(20);
    await sleep(this.#random() * this.#options.gapMs);
    if (this.#isAtWork) this.#killsAtWork += 1;
    await this.#killBridge();
    this.#startBridge();
  }

  async #crash(): Promise<void> {
    await this.#cluster.crash();
    await sleep(this.#random() * 500);
    await this.#cluster.start();
  }

  /** At a COMMIT two times in three; else at some statement, or between two. */
  async #cut(): Promise<void> {
    const kind = pickOne(this.#random, ["commit before", "commit after", "commit after", "statement", "all"] as const);
    if (kind === "all") {
      this.#proxy.cutAll();
      return;
    }
    let isDone = false;
    let skip = kind === "statement" ? Math.floor(this.#random() * 12) : Math.floor(this.#random() * 3);
    this.#proxy.onStatement = (sql) => {
      if (isDone || (kind !== "statement" && sql !== "COMMIT") || skip-- > 0) return undefined;
      isDone = true;
      if (sql === "COMMIT") this.#cutCommits += 1;
      return kind === "commit after" || (kind === "statement" && this.#random() < 0.5) ? "after" : "before";
    };
    for (let waitedMs = 0; !isDone && waitedMs < CUT_WITHIN_MS; waitedMs += 20) await sleep(20);
    this.#proxy.onStatement = undefined;
  }

  /** Waits until nothing waits and nothing differs, or for so long after the shop's last change. */
  async #settle(): Promise<Difference> {
    const erp = new pg.Client({ connectionString: this.#cluster.url("postgres") });
    await erp.connect();
    await erp.query(`SET search_path TO ${SCHEMA}`);
    const sides = {
      database: this.#database,
      ...{ erp, shop: SHOP, sandbox: this.#sandbox, book: this.#book },
    };
    try {
      let last = { newest: -1, atMs: 0 };
      for (;;) {
        if (this.#bridge === undefined || this.#bridge.exitCode !== null) this.#startBridge();
        await sleep(2_000);
        const difference = await compareMirror(sides);
        const { missing, differing, doubled, waiting, newest } = difference;
        if (newest !== last.newest) last = { newest, atMs: performance.now() };
        const isSettled = missing.length + differing.length + waiting.length === 0;
        if (isSettled || doubled.length > 0 || performance.now() - last.atMs > this.#options.settleMs)
          return difference;
      }
    } finally {
      await erp.end();
    }
  }
}
