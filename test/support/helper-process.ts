/*
 * Replaces src/platform/helper-process.ts. A bridge's start inspects the folders of copies and of the journal in helper
 * processes, each of which costs 50 ms of CPU time. In tests this process inspects them itself; all other calls still
 * use a helper process, and a program started in its own process uses helpers for everything.
 */
import * as real from "../../src/platform/helper-process.ts";

export * from "../../src/platform/helper-process.ts";

type Functions = Record<string, (call: real.HelperCall, ...args: never[]) => unknown>;

/** The functions of src/backup/backup-helper.ts, loaded by vitest.config.ts before the tests. */
const here: Functions = {};

export function serveCalls(functions: Functions): void {
  Object.assign(here, functions);
}

export function helperFor(...key: Parameters<typeof real.helperFor>): unknown {
  return new Proxy(real.helperFor(...key), {
    get: (helper, name) => {
      if (name === "callSync") return callHere;
      const value: unknown = Reflect.get(helper, name, helper);
      return typeof value === "function" ? value.bind(helper) : value;
    },
  });
}

function callHere(name: string, _options: unknown, ...args: never[]): unknown {
  const call = { signal: new AbortController().signal, progress: () => {} };
  // A copy, as if sent through a pipe.
  return structuredClone(here[name]?.(call, ...args));
}
