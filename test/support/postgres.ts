import { describe, expect, it, onTestFinished } from "vitest";
import { CuttingProxy } from "../../scripts/mirror/cutting-proxy.ts";
import { findPostgres, HOW_TO_INSTALL, PostgresCluster } from "../../scripts/mirror/postgres-cluster.ts";
import { tempFolder } from "./temp.ts";

/** Where set, the tests of PostgreSQL fail without it, instead of being skipped. */
const isRequired = process.env["TEST_POSTGRES"] === "required";

/** Tests that need PostgreSQL. Without it they are skipped, and their name says how to install it. */
export function describeWithPostgres(name: string, tests: () => void): void {
  if (findPostgres() !== undefined) describe(name, tests);
  else if (isRequired) describe(name, () => it("finds PostgreSQL", () => expect.fail(HOW_TO_INSTALL)));
  else {
    console.warn(`${name}: skipped. ${HOW_TO_INSTALL}`);
    describe.skip(`${name} (${HOW_TO_INSTALL})`, tests);
  }
}

/** One per worker, stopped with it: starting one takes a second. */
let cluster: Promise<PostgresCluster> | undefined;
let databases = 0;

export function sharedCluster(): Promise<PostgresCluster> {
  cluster ??= PostgresCluster.start();
  return cluster;
}

export interface TestDatabase {
  cluster: PostgresCluster;
  name: string;
  /** With the superuser's role. */
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

/** A proxy to the shared cluster, for the running test. */
export async function testProxy(): Promise<CuttingProxy> {
  const shared = await sharedCluster();
  const proxy = await CuttingProxy.start(tempFolder("proxy"), () => shared.socket);
  onTestFinished(() => proxy.close());
  return proxy;
}
