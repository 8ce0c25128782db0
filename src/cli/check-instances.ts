import { existsSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { accountOf } from "../daemon/account.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { EXIT, type ExitCode } from "../platform/errors.ts";
import { type CheckResult, failed, passed } from "../probe/check-result.ts";

/** What two instances of one machine must not share, and what comes of it. */
interface Shared {
  of: (config: LoadedConfig["config"]) => string | null;
  problem: (value: string, file: string) => Message;
  exitCode: ExitCode;
}

const NOT_SHARED: readonly Shared[] = [
  { of: accountOf, problem: (_, file) => m.check.sameAccount({ file }), exitCode: EXIT.config },
  {
    of: ({ database }) => realPath(database.path),
    problem: (value, file) => m.check.sameDatabase({ file, value }),
    exitCode: EXIT.config,
  },
  {
    of: ({ http }) => (http.listen === null ? null : `${http.listen.host}:${http.listen.port}`),
    problem: (value, file) => m.check.samePort({ file, address: value }),
    exitCode: EXIT.attention,
  },
  {
    of: ({ backup }) => (backup.journal === null ? null : realPath(backup.journal)),
    problem: (value, file) => m.check.sameJournal({ file, folder: value }),
    exitCode: EXIT.attention,
  },
  {
    of: ({ backup }) => realPath(backup.dir),
    problem: (value, file) => m.check.sameCopies({ file, folder: value }),
    exitCode: EXIT.attention,
  },
];

/** What lies beside a copy of the database is this shop's own configuration once more. */
function isOfCopy(folder: string, name: string): boolean {
  const copy = /^(.+)\.config\.yaml$/.exec(name)?.[1];
  return copy !== undefined && existsSync(path.join(folder, copy));
}

/** The configurations that lie beside this one, as those of other instances do. Files that are none are left out, and links to it. */
export function loadNeighbours(file: string, env: NodeJS.ProcessEnv): LoadedConfig[] {
  const folder = path.dirname(path.resolve(file));
  const own = realPath(path.resolve(file));
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names
    .filter((name) => /\.ya?ml$/.test(name) && realPath(path.join(folder, name)) !== own && !isOfCopy(folder, name))
    .sort()
    .flatMap((name) => {
      try {
        // Its secret is none of this instance's business, and may not be readable.
        return [loadConfig({ file: path.join(folder, name), env, secret: "none" })];
      } catch {
        return [];
      }
    });
}

/** Whether another instance has what only one may have. */
export function checkInstances(loaded: LoadedConfig, env: NodeJS.ProcessEnv): CheckResult[] {
  const others = loadNeighbours(loaded.file, env);
  if (others.length === 0) return [];
  const found = others.flatMap((other) =>
    NOT_SHARED.flatMap(({ of, problem, exitCode }): CheckResult[] => {
      const value = of(loaded.config);
      if (value === null || value !== of(other.config)) return [];
      return [failed("instances", problem(value, other.file), exitCode)];
    }),
  );
  if (found.length > 0) return found;
  return [passed("instances", m.check.nothingShared({ names: others.map(({ file }) => path.basename(file)) }))];
}

/** Links resolved as far as the place is there. */
function realPath(place: string): string {
  if (existsSync(place)) return realpathSync(place);
  const folder = path.dirname(place);
  return folder === place ? place : path.join(realPath(folder), path.basename(place));
}
