/* Loaded before the program: ends it by SIGKILL before the file operation with the number KILL_AT_STEP. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const at = Number(process.env["KILL_AT_STEP"]);
let step = 0;
for (const name of ["renameSync", "rmSync", "copyFileSync", "fsyncSync", "writeFileSync", "fchmodSync"]) {
  const real = fs[name];
  fs[name] = (...args) => {
    step += 1;
    if (step === at) process.kill(process.pid, "SIGKILL");
    return real(...args);
  };
}
syncBuiltinESMExports();
