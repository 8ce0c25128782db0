/*
 * In the place of src/platform/helper-process.ts. A start of a bridge looks at the folders of copies and of the journal in
 * processes of their own, of which each costs 50 ms of computing. In tests this process looks itself; every other call goes
 * to a process, as in the program, and a start of the program in a process of its own does all of it.
 */
import * as real from "../../src/platform/helper-process.ts";

export * from "../../src/platform/helper-process.ts";

type Functions = Record<string, (call: real.HelperCall, ...args: never[]) => unknown>;

/** Of src/backup/backup-helper.ts, which vitest.config.ts has loaded before the tests. */
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
  // A copy, as through a pipe.
  return structuredClone(here[name]?.(call, ...args));
}
