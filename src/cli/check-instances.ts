import { existsSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { accountOf } from "../daemon/account.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { EXIT, type ExitCode } from "../platform/errors.ts";
import { type CheckResult, failed, passed } from "../probe/check-result.ts";

/** A setting that two instances of one machine must not share. */
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

/** A copy of the database has the shop's own configuration beside it; that is no other instance. */
function isOfCopy(folder: string, name: string): boolean {
  const copy = /^(.+)\.config\.yaml$/.exec(name)?.[1];
  return copy !== undefined && existsSync(path.join(folder, copy));
}

/**
 * The configurations in the same folder, which belong to other instances. Leaves out invalid files and links to this
 * one.
 */
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
        // The other instance's secret is not needed and may be unreadable.
        return [loadConfig({ file: path.join(folder, name), env, secret: "none" })];
      } catch {
        return [];
      }
    });
}

/** Whether another instance shares what only one may use. */
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

/** Resolves links in the existing part of a path. */
function realPath(place: string): string {
  if (existsSync(place)) return realpathSync(place);
  const folder = path.dirname(place);
  return folder === place ? place : path.join(realPath(folder), path.basename(place));
}
