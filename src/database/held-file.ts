/*
 * A file that SQLite has open in this process, used through SQLite's own descriptor: closing one of our own would drop this
 * process's locks. Stays with the file that had the name at first, also where that has lost it.
 */
import { fdatasyncSync, fstatSync, openSync, readSync } from "node:fs";
import { findDescriptor, identityOf, isOf } from "./file-checks.ts";

export class HeldFile {
  readonly #name: string;
  readonly #identity: string;
  #known: number | undefined;

  constructor(name: string) {
    this.#name = name;
    this.#identity = identityOf(name);
  }

  flush(): void {
    fdatasyncSync(this.#descriptor());
  }

  size(): number {
    return fstatSync(this.#descriptor()).size;
  }

  /** Whether it has no name anywhere any more. */
  isRemoved(): boolean {
    return fstatSync(this.#descriptor()).nlink === 0;
  }

  /** Another one after each change: its size and the time of the last write. */
  version(): string {
    const { size, mtimeNs } = fstatSync(this.#descriptor(), { bigint: true });
    return `${size}@${mtimeNs}`;
  }

  /** What lies at `position`; shorter than asked for where the file ends. */
  read(position: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(this.#descriptor(), bytes, 0, length, position));
  }

  #descriptor(): number {
    if (this.#known === undefined || !isOf(this.#known, this.#identity)) this.#known = this.#find();
    return this.#known;
  }

  #find(): number {
    // Without /proc: one that is never closed.
    return findDescriptor(this.#identity) ?? openSync(this.#name, "r");
  }
}
