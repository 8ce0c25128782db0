import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Account, acquireAccountLock } from "../../src/platform/account-lock.ts";
import { itWhole } from "../support/whole.ts";

const LOCK = path.resolve("src/platform/account-lock.ts");
let number = 0;

function accountOf(): Account {
  number += 1;
  return { baseUrl: `http://127.0.0.1/${process.pid}/${number}`, clientId: "shop-1", clientSecret: "s3cret-of-shop-1" };
}

async function acquire(account: Account): Promise<string> {
  const lock = await acquireAccountLock(account);
  if ("release" in lock) onTestFinished(lock.release);
  return lock.state;
}

describe("the lock of an account", () => {
  it("is had by one, and free again when it is given back", async () => {
    const account = accountOf();
    const first = await acquireAccountLock(account);
    expect(first.state).toBe("ours");
    expect(await acquire(account)).toBe("taken");
    expect(await acquire(accountOf())).toBe("ours");
    if ("release" in first) first.release();
    expect(await acquire(account)).toBe("ours");
  });

  itWhole("is free at once when its process is killed", async () => {
    const account = accountOf();
    const code = `import(${JSON.stringify(LOCK)}).then(({ acquireAccountLock }) => acquireAccountLock(${JSON.stringify(account)})).then(({ state }) => { process.send(state); setInterval(() => {}, 1000); })`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    expect(await once(child, "message")).toContain("ours");
    expect(await acquire(account)).toBe("taken");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await acquire(account)).toBe("ours");
  });

  it("cannot be kept from a daemon by somebody who does not know the secret", async () => {
    const account = accountOf();
    const key = createHmac("sha256", "erp-bridge name")
      .update(JSON.stringify([account.baseUrl, account.clientId]))
      .digest("hex");
    for (const answer of ["", "no", "x".repeat(32), "x".repeat(100_000)]) {
      const squatter = createServer((socket) =>
        socket
          .on("error", () => {})
          .resume()
          .end(answer),
      );
      squatter.listen(`\0erp-bridge-account-${key.slice(0, 40)}`);
      await once(squatter, "listening");
      expect(await acquire(account)).toBe("unknown");
      squatter.close();
      await once(squatter, "close");
    }
    expect(await acquire(account)).toBe("ours");
  });

  it("answers nobody who sends too little or too much, and goes on", async () => {
    const account = accountOf();
    expect(await acquire(account)).toBe("ours");
    expect(await acquire({ ...account, clientSecret: "another-secret" })).toBe("unknown");
    expect(await acquire(account)).toBe("taken");
  });
});
