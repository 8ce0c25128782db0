import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";

const SOURCE = path.join(import.meta.dirname, "disk-shim.c");
/** The fields of `struct control` in disk-shim.c, in their order. */
const FIELDS = ["operations", "action", "from", "until", "error", "hit", "hitKind", "hitFile"] as const;
const FIELD_BYTES = 8;
const ACTIONS = { nothing: 0, kill: 1, tear: 2, fail: 3 } as const;
const KINDS = ["", "write", "truncation", "sync", "", "", "removal"];
const FILES = ["", "database", "write-ahead log", "journal", "shared memory", "folder", "progress note"];
const FOREVER = 2 ** 52;

/** Compiles the library that stands between the program and its disk; undefined where there is no C compiler. */
export function buildShim(folder: string): string | undefined {
  if (process.platform !== "linux" || spawnSync("gcc", ["--version"], { stdio: "ignore" }).status !== 0)
    return undefined;
  const library = path.join(folder, "disk-shim.so");
  execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl", "-pthread"]);
  return library;
}

/** The switches of a loaded shim, from outside: the same memory, reached through the file that both have. */
export class DiskControl {
  readonly file: string;
  readonly #fd: number;

  constructor(file: string) {
    this.file = file;
    writeFileSync(file, Buffer.alloc(FIELDS.length * FIELD_BYTES));
    this.#fd = openSync(file, "r+");
  }

  /** So many writes, truncations and syncs were begun since `reset`. */
  get operations(): number {
    return this.#read("operations");
  }

  /** So many of them met with what was arranged. */
  get hits(): number {
    return this.#read("hit");
  }

  /** `write of the database` */
  get firstHit(): string {
    return `${KINDS[this.#read("hitKind")]} of the ${FILES[this.#read("hitFile")]}`;
  }

  /** Counts from zero again, and nothing happens. */
  reset(): void {
    for (const field of FIELDS) this.#write(field, 0);
  }

  /** Ends the process at the so-manyth operation from now; `tear`: in its middle where it is a write. */
  killAt(operation: number, how: "kill" | "tear" = "kill"): void {
    this.#arrange(ACTIONS[how], operation, 1);
  }

  /** Lets so many operations fail, beginning with the so-manyth from now. */
  failAt(operation: number, failure: { errno: number; times: number | "until freed" }): void {
    this.#write("error", failure.errno);
    this.#arrange(ACTIONS.fail, operation, failure.times === "until freed" ? FOREVER : failure.times);
  }

  /** The disk is well again. */
  free(): void {
    this.#write("action", ACTIONS.nothing);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #arrange(action: number, operation: number, times: number): void {
    this.#write("action", ACTIONS.nothing);
    this.#write("hit", 0);
    const from = this.operations + operation;
    this.#write("from", from);
    this.#write("until", from + times);
    this.#write("action", action);
  }

  #read(field: (typeof FIELDS)[number]): number {
    const bytes = Buffer.alloc(FIELD_BYTES);
    readSync(this.#fd, bytes, 0, FIELD_BYTES, FIELDS.indexOf(field) * FIELD_BYTES);
    return Number(bytes.readBigInt64LE());
  }

  #write(field: (typeof FIELDS)[number], value: number): void {
    const bytes = Buffer.alloc(FIELD_BYTES);
    bytes.writeBigInt64LE(BigInt(value));
    writeSync(this.#fd, bytes, 0, FIELD_BYTES, FIELDS.indexOf(field) * FIELD_BYTES);
  }
}
