/*
 * What a configuration consists of: its file, the Client Secret's and that of the authorities. A daemon that reads them again
 * has a process of its own do it.
 */
import path from "node:path";
import { childProgram } from "../platform/child-program.ts";
import { helperFor } from "../platform/helper-process.ts";
import type { ConfigFunctions } from "./config-helper.ts";
import { loadConfig } from "./load.ts";
import { mirrorRouteOf, routeOf } from "./route.ts";
import { noteReads, type ReadFiles } from "./small-file.ts";

/** Beside this file, in the sources and in the bundle alike. */
const HELPER = childProgram("config-helper", import.meta.url);

export interface Asked {
  file: string;
  env: NodeJS.ProcessEnv;
}

/** Whatever is wrong with them is reported when they are used. */
export function readHere(asked: Asked): ReadFiles {
  return noteReads(() => {
    try {
      const { config } = loadConfig(asked);
      routeOf(config);
      mirrorRouteOf(config);
    } catch {
      // As above.
    }
  });
}

/** @throws BridgeError `disk_failed` where they do not answer, `stopped` */
export async function readAside(asked: Asked, isStopping: () => boolean): Promise<ReadFiles> {
  const place = path.dirname(path.resolve(asked.file));
  return await helperFor<ConfigFunctions>(HELPER, place).call("read", { place, isStopping }, asked);
}
