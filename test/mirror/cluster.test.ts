import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { findPostgres, PostgresCluster } from "../../scripts/mirror/postgres-cluster.ts";
import { describeWithPostgres, testDatabase, testProxy } from "../support/postgres.ts";
import { itSome, itWhole } from "../support/whole.ts";

const run = promisify(execFile);

async function psql(url: string, sql: string[], env: Record<string, string> = {}): Promise<string> {
  const commands = sql.flatMap((each) => ["-c", each]);
  const { stdout } = await run(path.join(findPostgres() ?? "", "psql"), ["-XqAt", ...commands, url], {
    env: { PATH: process.env["PATH"], ...env },
  });
  return stdout.trimEnd();
}

describeWithPostgres("the PostgreSQL of the tests", () => {
  it("keeps what was committed over a crash", async () => {
    const { cluster, name } = await testDatabase();
    await cluster.query(name, "CREATE TABLE t AS SELECT generate_series(1, 1000) AS n");
    await cluster.crash();
    await expect(cluster.query(name, "SELECT 1")).rejects.toThrow();
    await cluster.start();
    expect(await cluster.query(name, "SELECT count(*) FROM t")).toBe("1000");
  });

  itWhole("asks for TLS and a password on its port", async () => {
    const { cluster, name } = await testDatabase();
    await cluster.addRole("guest");
    const env = { PGSSLMODE: "verify-full", PGSSLROOTCERT: cluster.certificate };
    const seen = await psql(
      cluster.tlsUrl(name, "guest"),
      ["SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"],
      env,
    );
    expect(seen).toBe("t");
    await expect(psql(cluster.tlsUrl(name, "guest", "guess"), ["SELECT 1"], env)).rejects.toThrow("password");
    await expect(psql(cluster.tlsUrl(name, "guest"), ["SELECT 1"], { PGSSLMODE: "disable" })).rejects.toThrow(
      "no encryption",
    );
    await cluster.query("postgres", "DROP ROLE guest");
  });

  itWhole("is gone with its folder once it is closed", async () => {
    const cluster = await PostgresCluster.start();
    await cluster.close();
    expect(existsSync(cluster.folder)).toBe(false);
  });
});

describeWithPostgres("the proxy of the tests", () => {
  const INSERT = ["BEGIN", "INSERT INTO t VALUES (1)", "COMMIT"];

  itSome(1)([
    ["before", "0"],
    ["after", "1"],
  ] as const)("cuts a connection %s the server sees COMMIT", async (when, rows) => {
    const { cluster, name } = await testDatabase();
    await cluster.query(name, "CREATE TABLE t (n integer)");
    const proxy = await testProxy();
    proxy.onStatement = (sql) => (sql === "COMMIT" ? when : undefined);
    await expect(psql(proxy.url(name), INSERT)).rejects.toThrow("server closed the connection");
    expect(proxy.cuts).toBe(1);
    expect(await cluster.query(name, "SELECT count(*) FROM t")).toBe(rows);
    proxy.onStatement = undefined;
    await psql(proxy.url(name), INSERT);
    expect(await cluster.query(name, "SELECT count(*) FROM t")).toBe(String(Number(rows) + 1));
  });

  itWhole("refuses, and is silent, where it is told to", async () => {
    const { name } = await testDatabase();
    const proxy = await testProxy();
    proxy.isRefusing = true;
    await expect(psql(proxy.url(name), ["SELECT 1"])).rejects.toThrow("server closed the connection");
    proxy.isRefusing = false;
    proxy.isSilent = true;
    const connected = new Promise<void>((resolve) => {
      proxy.onConnection = resolve;
    });
    const asked = psql(proxy.url(name), ["SELECT 1"]);
    const ended = expect(asked).rejects.toThrow("server closed the connection");
    await connected;
    proxy.cutAll();
    await ended;
  });
});
