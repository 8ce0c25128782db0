/* Shops in which nothing happens, each with its connection, its look every second and its word every 15 seconds: what that costs PostgreSQL. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { MirrorTarget } from "../../src/config/mirror.ts";
import { MirrorLink } from "../../src/mirror/connection.ts";
import { lockPosition, lookAtPosition, savePosition } from "../../src/mirror/position.ts";
import type { PostgresCluster } from "../mirror/postgres-cluster.ts";
import { atMost, print } from "./print.ts";

const SHOPS = 500;
/** Connections that are made at a time. */
const AT_ONCE = 10;
const EVERY_MS = 1_000;
/** Looks between two words to the head office. */
const LOOKS_PER_WORD = 15;
const MEASURED_MS = 30_000;
const TICKS_PER_S = 100;

export async function benchShops(cluster: PostgresCluster, database: string, target: MirrorTarget): Promise<void> {
  await cluster.query(
    database,
    `SET search_path TO erp_bridge;
     INSERT INTO shop_keys SELECT 'idle-' || n FROM generate_series(1, ${SHOPS}) AS n;
     INSERT INTO positions (shop, database_id, orders_seq, events_seq) SELECT 'idle-' || n, n, 0, 0 FROM generate_series(1, ${SHOPS}) AS n`,
  );
  const links = Array.from({ length: SHOPS }, (_, at) => ({ shop: `idle-${at + 1}`, link: linkOf(target, at) }));
  for (let at = 0; at < SHOPS; at += AT_ONCE)
    await Promise.all(links.slice(at, at + AT_ONCE).map(({ link, shop }) => lookAtPosition(link, shop)));
  let isOver = false;
  let looks = 0;
  const idle = async ({ link, shop }: (typeof links)[number]) => {
    await sleep(Math.random() * EVERY_MS);
    for (let look = Math.floor(Math.random() * LOOKS_PER_WORD); !isOver; look++) {
      const from = performance.now();
      await lookAtPosition(link, shop);
      looks += 1;
      if (look % LOOKS_PER_WORD === 0) await link.transaction(async (tx) => await say(tx, shop));
      await sleep(Math.max(0, EVERY_MS - (performance.now() - from)));
    }
  };
  const idling = links.map(idle);
  await sleep(2 * EVERY_MS);
  const [cpu, from, before] = [cpuSeconds(cluster), performance.now(), looks];
  await sleep(MEASURED_MS);
  const seconds = (performance.now() - from) / 1_000;
  const cores = (cpuSeconds(cluster) - cpu) / seconds;
  const perSecond = (looks - before) / seconds;
  isOver = true;
  await Promise.all(idling);
  for (const { link } of links) link.close();
  print(`${SHOPS} idle shops: looks`, `${perSecond.toFixed(0)} a second`);
  print(`${SHOPS} idle shops: processor time of PostgreSQL`, `${cores.toFixed(2)} cores`, atMost(cores, 0.33));
}

async function say(tx: Parameters<typeof lockPosition>[0], shop: string): Promise<void> {
  await lockPosition(tx, shop);
  await savePosition(tx, shop, { sentence: "All is well.", silentAfterS: 120 });
}

function linkOf(target: MirrorTarget, at: number): MirrorLink {
  return new MirrorLink({ target, authorities: [], schema: "erp_bridge", shop: `idle-${at + 1}`, timeoutMs: 30_000 });
}

/** Of the postmaster, its children, and those of them that have ended. */
function cpuSeconds({ folder }: PostgresCluster): number {
  const postmaster = readFileSync(path.join(folder, "data", "postmaster.pid"), "utf8").split("\n")[0];
  const ticks = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        const [, rest = ""] = /\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
        const fields = rest.split(" ");
        const own = Number(fields[11]) + Number(fields[12]);
        if (pid === postmaster) return own + Number(fields[13]) + Number(fields[14]);
        return fields[1] === postmaster ? own : 0;
      } catch {
        return 0;
      }
    });
  return ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_S;
}
