/*
 * A consistent, verified copy of a database that is in use. Guarantees that a file of the copy's name is complete: it
 * is made under a temporary name, verified, flushed, and only then renamed; an existing file is never overwritten. A
 * crash leaves the temporary file, which the next copy of that name removes; one that is still being made stays.
 */

import { type ChildProcess, fork } from "node:child_process";
import { closeSync, existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { refuseLinkedDatabase } from "../database/file/file-checks.ts";
import { foreignJournalError, journalSince } from "../database/file/foreign-journal.ts";
import { asBridgeError, faultCodeOf } from "../database/sqlite-errors.ts";
import { m } from "../messages/messages.ts";
import { childProgram } from "../platform/child-program.ts";
import { BridgeError } from "../platform/errors.ts";
import { createFile, nameFresh, removeName, setMode, syncFolder } from "../platform/fresh-file.ts";
import type { CopyMessage, CopyOrder } from "./copy-child.ts";
import { readOwnerOfCopy } from "./copy-owner.ts";
import { listUnfinished, type Unfinished, unfinishedName } from "./unfinished-copy.ts";

export interface CopyProgress {
  step: "copying" | "verifying";
  /** From 0 to 1. */
  share: number;
}

export interface CopyOptions {
  source: string;
  target: string;
  /** The present time: UTC, ISO 8601. */
  at: string;
  /** Written beside the copy as `TARGET.config.yaml`. */
  configText: string;
  signal: AbortSignal;
  onProgress?: (progress: CopyProgress) => void;
}

export interface MadeCopy {
  file: string;
  bytes: number;
  /** Tables that could not be checked, because they need functions of the ERP's; they are in the copy nevertheless. */
  skipped: string[];
  /** SQLite's complaints about objects of the ERP's, which may be sound for the ERP. */
  erpComplaints: string[];
}

export function configBeside(target: string): string {
  return `${target}.config.yaml`;
}

/** The longest of the names that a copy takes: SQLite's beside the unfinished one. */
export function longestBeside(target: string): string {
  return `${unfinishedName(target, "any")}-journal`;
}

/**
 * @throws BridgeError `usage` (the name exists), `stopped`, `disk_full`, `disk_failed`, `database_refused`,
 * `database_corrupt`
 */
export async function copyDatabase(options: CopyOptions): Promise<MadeCopy> {
  const { source, target } = options;
  refuseLinkedDatabase(source);
  if (journalSince(source) !== undefined) throw foreignJournalError(source);
  const { database } = readOwnerOfCopy(source);
  const partial = unfinishedName(target, database);
  for (const name of [target, configBeside(target)]) refuseTaken(name);
  let isConfigWritten = false;
  try {
    removeLeft(target, database);
    // Created here, empty and private, so that customers' data never has more readers than its source.
    closeSync(createFile(partial, 0o600));
    const made = await runChild({ source, partial, copiedAt: options.at }, options);
    setMode(partial, statSync(source).mode & 0o770);
    onFreeName(configBeside(target), (file) => {
      writeFileSync(file, options.configText, { flag: "wx", mode: 0o600, flush: true });
    });
    isConfigWritten = true;
    onFreeName(target, (file) => nameFresh(partial, file));
    syncFolder(path.dirname(target));
    return { file: target, ...made };
  } catch (error) {
    for (const suffix of ["", "-journal", "-wal", "-shm"]) removeName(`${partial}${suffix}`);
    if (isConfigWritten && !existsSync(target)) rmSync(configBeside(target), { force: true });
    throw asBridgeError(error, m.backup.copyingTo({ target }), target);
  }
}

/** Removes what interrupted copies of this name left. */
function removeLeft(target: string, database: string | undefined): void {
  let left: Unfinished[];
  try {
    left = listUnfinished(path.dirname(target), database);
  } catch {
    return; // a folder that cannot be read may take a copy, and any other fault shows at once
  }
  for (const { file, isOver, ...one } of left) {
    if (isOver && path.basename(one.target) === path.basename(target)) removeName(file);
  }
}

function refuseTaken(file: string): void {
  if (!existsSync(file)) return;
  throw new BridgeError("usage", m.backup.fileExists({ file }), { hint: m.backup.otherName });
}

/** Another process may have taken the name while the copy was made. */
function onFreeName(file: string, name: (file: string) => void): void {
  try {
    name(file);
  } catch (error) {
    if (faultCodeOf(error) === "EEXIST") refuseTaken(file);
    throw error;
  }
}

function runChild(order: CopyOrder, { signal, onProgress }: CopyOptions): Promise<Omit<MadeCopy, "file">> {
  if (signal.aborted) return Promise.reject(stopped());
  return new Promise((resolve, reject) => {
    const child = startChild();
    let end: CopyMessage | undefined;
    let died: { code: number | null; by: NodeJS.Signals | null } | undefined;
    let isDrained = false;
    const onAbort = () => void child.kill("SIGKILL");
    signal.addEventListener("abort", onAbort, { once: true });
    const settle = () => {
      // Waits for both, because the last message may arrive after the exit.
      if (died === undefined || !isDrained) return;
      signal.removeEventListener("abort", onAbort);
      if (end?.kind === "done") resolve({ bytes: end.bytes, skipped: end.skipped, erpComplaints: end.erpComplaints });
      else if (signal.aborted) reject(stopped());
      else reject(end === undefined ? diedEarly(died.code, died.by) : failureOf(end));
    };
    child.on("message", (message: CopyMessage) => {
      if (message.kind !== "progress") end = message;
      else onProgress?.({ step: message.step, share: message.done / Math.max(1, message.total) });
    });
    child.once("disconnect", () => {
      isDrained = true;
      settle();
    });
    child.once("exit", (code, by) => {
      died = { code, by };
      settle();
    });
    child.once("error", (error) => {
      signal.removeEventListener("abort", onAbort);
      reject(error);
    });
    child.send(order);
  });
}

/** The environment is not passed on: it may hold the client secret. SIGUSR1 must not open a debugger. */
function startChild(): ChildProcess {
  return fork(childProgram("copy-child", import.meta.url), [], {
    env: {},
    execArgv: ["--disable-sigusr1"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
}

function failureOf(message: CopyMessage): Error {
  if (message.kind !== "failed") return new BridgeError("internal", m.backup.noResult);
  if (message.found !== undefined) {
    return new BridgeError("database_corrupt", m.backup.copyDamaged({ found: message.found }), {
      hint: m.backup.likelyDamaged,
    });
  }
  return Object.assign(new Error(message.message), message.fault === undefined ? {} : { code: message.fault });
}

function stopped(): BridgeError {
  return new BridgeError("stopped", m.backup.copyBrokenOff);
}

function diedEarly(code: number | null, killedBy: NodeJS.Signals | null): BridgeError {
  return new BridgeError("internal", m.backup.helperEnded({ why: killedBy ?? String(code) }));
}
