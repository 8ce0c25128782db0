import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { integerBetween, pickOne, type Random, randomUuid } from "../../src/sandbox/random.ts";

const SKUS = 300;
/** A transaction stays open for so long at most before it ends. */
const OPEN_MS_MAX = 1_500;
const REST_MS_MAX = 120;
const RECONNECT_MS = 200;
const STATUSES = ["paid", "packed", "shipped"];

/** What the workers have done, and what every one of them must find at the end. */
export interface ErpBook {
  /** Status requests that PostgreSQL has committed, by their ids: each must arrive once. */
  requests: Set<string>;
  /** Orders for which a status was asked: one each, so that the order's status says what arrived. */
  asked: Set<string>;
  /** Orders that it has marked. */
  marked: Set<string>;
  commits: number;
  rollbacks: number;
  failures: number;
}

export const newBook = (): ErpBook => ({
  requests: new Set(),
  asked: new Set(),
  marked: new Set(),
  commits: 0,
  rollbacks: 0,
  failures: 0,
});

interface ErpWorkerOptions {
  url: () => string;
  schema: string;
  shop: string;
  random: Random;
  book: ErpBook;
  mayTruncate: boolean;
}

/** An ERP in PostgreSQL: long transactions, some of them rolled back. What fails is tried anew, a request under its own id. */
export class ErpWorker {
  readonly #options: ErpWorkerOptions;
  #client: pg.Client | undefined;
  #isStopping = false;

  constructor(options: ErpWorkerOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    while (!this.#isStopping) {
      const work = pickOne(this.#options.random, [
        this.#mark,
        this.#mark,
        this.#changeStock,
        this.#changeStock,
        this.#changePrices,
        this.#rewriteStock,
        this.#askForStatus,
        this.#askForStatus,
      ]);
      try {
        await work.call(this);
      } catch {
        this.#options.book.failures += 1;
        await this.#disconnect();
        await sleep(RECONNECT_MS);
      }
      await sleep(this.#options.random() * REST_MS_MAX);
    }
    await this.#disconnect();
  }

  stop(): void {
    this.#isStopping = true;
  }

  async #connect(): Promise<pg.Client> {
    if (this.#client !== undefined) return this.#client;
    const client = new pg.Client({ connectionString: this.#options.url(), query_timeout: 20_000 });
    client.on("error", () => {});
    await client.connect();
    await client.query(`SET search_path TO ${this.#options.schema}`);
    this.#client = client;
    return client;
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  /** Statements with pauses between them, one in five times for nothing. Returns whether it was committed. */
  async #transaction(
    act: (query: (sql: string, ...values: unknown[]) => Promise<pg.QueryResult>) => Promise<void>,
  ): Promise<boolean> {
    const { random, book } = this.#options;
    const client = await this.#connect();
    const isLong = random() < 0.3;
    await client.query("BEGIN");
    await act(async (sql, ...values) => {
      const result = await client.query(sql, values);
      if (isLong) await sleep(random() * OPEN_MS_MAX);
      return result;
    });
    if (random() < 0.2) {
      await client.query("ROLLBACK");
      book.rollbacks += 1;
      return false;
    }
    await client.query("COMMIT");
    book.commits += 1;
    return true;
  }

  async #mark(): Promise<void> {
    const { shop, random, book } = this.#options;
    const ids: string[] = [];
    const isCommitted = await this.#transaction(async (query) => {
      const { rows } = await query(
        "SELECT order_id, revision FROM orders_pending WHERE shop = $1 ORDER BY random() LIMIT 20",
        shop,
      );
      for (const { order_id: id, revision } of rows.sort((a, b) => (a.order_id < b.order_id ? -1 : 1))) {
        const isBlocked = random() < 0.05;
        await query(
          `INSERT INTO erp_orders (shop, order_id, erp_number, seen_revision, state) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (shop, order_id) DO UPDATE SET seen_revision = greatest(erp_orders.seen_revision, excluded.seen_revision),
             state = excluded.state`,
          ...[shop, id, `E-${String(id).slice(0, 8)}`, isBlocked ? 0 : revision, isBlocked ? "blocked" : "taken"],
        );
        ids.push(String(id));
      }
    });
    if (isCommitted) for (const id of ids) book.marked.add(id);
  }

  async #changeStock(): Promise<void> {
    const { shop, random } = this.#options;
    await this.#transaction(async (query) => {
      const skus = Array.from({ length: integerBetween(random, 1, 10) }, () => integerBetween(random, 1, SKUS)).sort();
      for (const sku of new Set(skus)) {
        if (random() < 0.15) await query("DELETE FROM stock WHERE shop = $1 AND sku = $2", shop, `S-${sku}`);
        else
          await query(
            `INSERT INTO stock (shop, sku, quantity) VALUES ($1, $2, $3)
             ON CONFLICT (shop, sku, warehouse) DO UPDATE SET quantity = excluded.quantity`,
            ...[shop, `S-${sku}`, integerBetween(random, 0, 10_000) / 4],
          );
      }
    });
  }

  async #changePrices(): Promise<void> {
    const { shop, random } = this.#options;
    await this.#transaction(async (query) => {
      await query(
        `INSERT INTO prices (shop, sku, price) SELECT $1, 'S-' || n, $2::numeric + n FROM generate_series($3::int, $3::int + 40) AS n
         ON CONFLICT (shop, sku, price_type) DO UPDATE SET price = excluded.price`,
        ...[shop, integerBetween(random, 1, 99_999) / 100, integerBetween(random, 1, SKUS)],
      );
    });
  }

  async #rewriteStock(): Promise<void> {
    const { shop, random, mayTruncate } = this.#options;
    if (random() < 0.5) return;
    await this.#transaction(async (query) => {
      // Others' rows go with a TRUNCATE, and whoever holds some keeps it waiting.
      if (mayTruncate && random() < 0.5) await query("TRUNCATE stock");
      else await query("DELETE FROM stock WHERE shop = $1", shop);
      await query(
        `INSERT INTO stock (shop, sku, quantity) SELECT $1, 'S-' || n, n * $2::int FROM generate_series(1, $3::int) AS n
         ON CONFLICT (shop, sku, warehouse) DO UPDATE SET quantity = excluded.quantity`,
        ...[shop, integerBetween(random, 1, 9), integerBetween(random, 1, SKUS)],
      );
    });
  }

  /** Under an id of its own until PostgreSQL is known to have it: a COMMIT whose answer is lost is tried again. */
  async #askForStatus(): Promise<void> {
    const { shop, random, book } = this.#options;
    const client = await this.#connect();
    const { rows } = await client.query("SELECT order_id FROM orders WHERE shop = $1 ORDER BY random() LIMIT 3", [
      shop,
    ]);
    const orders = rows.map(({ order_id: id }) => String(id)).filter((id) => !book.asked.has(id));
    const requests = orders.map((orderId) => ({ orderId, id: randomUuid(random), status: pickOne(random, STATUSES) }));
    for (const { orderId } of requests) book.asked.add(orderId);
    while (!this.#isStopping && requests.length > 0) {
      try {
        const isCommitted = await this.#transaction(async (query) => {
          for (const { id, orderId, status } of requests) {
            await query(
              "INSERT INTO status_requests (id, shop, order_id, status, comment) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING",
              ...[id, shop, orderId, status, id],
            );
          }
        });
        if (!isCommitted) continue;
        for (const { id } of requests) book.requests.add(id);
        return;
      } catch {
        book.failures += 1;
        await this.#disconnect();
        await sleep(RECONNECT_MS);
      }
    }
  }
}
