/*
 * A file that SQLite has open in this process, accessed through SQLite's own descriptor: closing another one would drop
 * this process's POSIX locks. Refers to the file that first had the name, even after the name was removed.
 */
import { fdatasyncSync, fstatSync, openSync, readSync } from "node:fs";
import { findDescriptor, identityOf, isOf } from "./file-checks.ts";

export class SqliteFile {
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

  /** Whether the file has no name left. */
  isRemoved(): boolean {
    return fstatSync(this.#descriptor()).nlink === 0;
  }

  /** Differs after each change: size and modification time. */
  version(): string {
    const { size, mtimeNs } = fstatSync(this.#descriptor(), { bigint: true });
    return `${size}@${mtimeNs}`;
  }

  /** The bytes at `position`; fewer than `length` at the end of the file. */
  read(position: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(this.#descriptor(), bytes, 0, length, position));
  }

  #descriptor(): number {
    if (this.#known === undefined || !isOf(this.#known, this.#identity)) this.#known = this.#find();
    return this.#known;
  }

  #find(): number {
    // Without /proc a new descriptor is opened and never closed.
    return findDescriptor(this.#identity) ?? openSync(this.#name, "r");
  }
}
