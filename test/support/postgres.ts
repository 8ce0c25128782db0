import { describe, expect, it, onTestFinished } from "vitest";
import { CuttingProxy } from "../../scripts/mirror/cutting-proxy.ts";
import { findPostgres, HOW_TO_INSTALL, PostgresCluster } from "../../scripts/mirror/postgres-cluster.ts";
import { tempFolder } from "./temp.ts";

/** Set where PostgreSQL must be there: then its tests fail without it, where they are skipped elsewhere. */
const isRequired = process.env["TEST_POSTGRES"] === "required";

/** Tests that need a PostgreSQL. Where it is missing they are skipped, and their name says how to install it. */
export function describeWithPostgres(name: string, tests: () => void): void {
  if (findPostgres() !== undefined) describe(name, tests);
  else if (isRequired) describe(name, () => it("finds PostgreSQL", () => expect.fail(HOW_TO_INSTALL)));
  else {
    console.warn(`${name}: skipped. ${HOW_TO_INSTALL}`);
    describe.skip(`${name} (${HOW_TO_INSTALL})`, tests);
  }
}

/** One for each worker, which ends with it: starting one takes a second. */
let cluster: Promise<PostgresCluster> | undefined;
let databases = 0;

export function sharedCluster(): Promise<PostgresCluster> {
  cluster ??= PostgresCluster.start();
  return cluster;
}

export interface TestDatabase {
  cluster: PostgresCluster;
  name: string;
  /** Of the role that may do everything. */
  url: string;
}

/** An empty database for the running test. */
export async function testDatabase(): Promise<TestDatabase> {
  const shared = await sharedCluster();
  databases += 1;
  const name = `test_${databases}`;
  await shared.query("postgres", `CREATE DATABASE ${name}`);
  onTestFinished(async () => {
    await shared.query("postgres", `DROP DATABASE ${name} WITH (FORCE)`);
  });
  return { cluster: shared, name, url: shared.url(name) };
}

/** A proxy before the shared cluster, for the running test. */
export async function testProxy(): Promise<CuttingProxy> {
  const shared = await sharedCluster();
  const proxy = await CuttingProxy.start(tempFolder("proxy"), () => shared.socket);
  onTestFinished(() => proxy.close());
  return proxy;
}
