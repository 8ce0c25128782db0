/*
 * The files of a configuration: its own, the Client Secret's and the certificate authorities'. On a reload the daemon
 * has a helper process read them.
 */
import path from "node:path";
import { childProgram } from "../platform/child-program.ts";
import { helperFor } from "../platform/helper-process.ts";
import type { ConfigFunctions } from "./config-helper.ts";
import { loadConfig } from "./load.ts";
import { mirrorRouteOf, routeOf } from "./route.ts";
import { noteReads, type ReadFiles } from "./small-file.ts";

/** Beside this file, both in the sources and in the bundle. */
const HELPER = childProgram("config-helper", import.meta.url);

export interface Asked {
  file: string;
  env: NodeJS.ProcessEnv;
}

/** Reads all files. Problems with them are ignored here, and reported when the files are used. */
export function readHere(asked: Asked): ReadFiles {
  return noteReads(() => {
    try {
      const { config } = loadConfig(asked);
      routeOf(config);
      mirrorRouteOf(config);
    } catch {
      // Ignored, as above.
    }
  });
}

/** @throws BridgeError `disk_failed` where the disk does not answer, `stopped` */
export async function readAside(asked: Asked, isStopping: () => boolean): Promise<ReadFiles> {
  const place = path.dirname(path.resolve(asked.file));
  return await helperFor<ConfigFunctions>(HELPER, place).call("read", { place, isStopping }, asked);
}
