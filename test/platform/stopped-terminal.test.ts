import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { PATIENT } from "../support/program.ts";
import { until } from "../support/running-shop.ts";
import { tempFolder } from "../support/temp.ts";

const LINES = 20_000;

function isOver(pid: number): boolean {
  try {
    // Whoever should take note of its end is stopped.
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

it("goes on, and ends, on a terminal that takes no output", PATIENT, async () => {
  const folder = tempFolder();
  const done = path.join(folder, "done");
  const module = path.join(folder, "writer.mts");
  const logger = pathToFileURL(path.resolve("src/platform/logger.ts"));
  writeFileSync(
    module,
    `import { writeFileSync } from "node:fs";
     import { createLogger } from "${logger}";
     const log = createLogger({ level: "info", form: "text", hideSecrets: (text) => text });
     for (let line = 0; line < ${LINES}; line++) log.info({ line }, "erp-bridge is running and writes what it does");
     writeFileSync(${JSON.stringify(done)}, String(process.pid));
     process.exit(0);`,
  );
  // Nobody reads what it writes, so that it takes nothing from the terminal that it gives to the program.
  const command = `exec ${process.execPath} ${module}`;
  const terminal = spawn("/usr/bin/script", ["-qec", command, "/dev/null"], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void terminal.kill("SIGKILL"));
  await until(() => existsSync(done));
  await until(() => isOver(Number(readFileSync(done, "utf8"))));
  expect(terminal.exitCode).toBeNull();
});
