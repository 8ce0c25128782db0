/*
 * A command started by root works in a folder where another user can create names, and any of them may be a link to a
 * file of root's. So once the configuration and the secret are read, the process switches to the user who owns the
 * database's folder; a planted link then reaches nothing that this user could not reach anyway. Every user who owns a
 * folder or a link on the path decides where the database is, so all of them count. Where root owns the whole path,
 * nothing changes.
 */
import { lstatSync, readlinkSync } from "node:fs";
import { type UserInfo, userInfo } from "node:os";
import path from "node:path";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "./errors.ts";

interface Owner {
  uid: number;
  gid: number;
  /** Undefined where the user database has no entry. */
  name: string | undefined;
  home: string | undefined;
}

/** Linux follows as many in one path. */
const LINKS_MAX = 40;
/** For an owner without an account, in a folder of root's group. */
const NO_GROUP = 65_534;

/**
 * Owners, other than root, of the folders and links on the path to `place`, each with the group and path of the last
 * one that it owns.
 */
export function ownersOnTheWay(place: string): Map<number, { gid: number; at: string }> {
  const owners = new Map<number, { gid: number; at: string }>();
  let todo = partsOf(path.resolve(place));
  let at = "/";
  for (let links = 0; todo.length > 0; ) {
    const [name = "", ...rest] = todo;
    const next = path.join(at, name);
    const stat = lstatSync(next, { throwIfNoEntry: false });
    // What does not exist yet is created by the owner of the part that exists.
    if (stat === undefined) break;
    if (stat.uid !== 0) owners.set(stat.uid, { gid: stat.gid, at: next });
    if (!stat.isSymbolicLink()) {
      at = next;
      todo = rest;
      continue;
    }
    links += 1;
    if (links > LINKS_MAX) throw refuse(m.platform.tooManyLinks({ place, linksMax: LINKS_MAX }));
    const target = readlinkSync(next);
    if (path.isAbsolute(target)) at = "/";
    todo = [...partsOf(target), ...rest];
  }
  return owners;
}

/** Keeps `..`: behind a link it means the parent of the link's target. */
function partsOf(place: string): string[] {
  return place.split("/").filter((part) => part !== "" && part !== ".");
}

/**
 * Switches this process for good to the user who owns the folder. Does nothing where the process is not root's, or root
 * owns the whole path.
 * @param env environment for child processes; `USER`, `LOGNAME` and `HOME` are set in it
 * @throws BridgeError `database_refused` where the switch fails, or several users own parts of the path
 */
export function becomeOwnerOf(folder: string, env: NodeJS.ProcessEnv): void {
  const owner = ownerToBe(folder);
  if (owner === undefined) return;
  try {
    enterGroups(owner);
    process.setgid?.(owner.gid);
    process.setuid?.(owner.uid);
  } catch (error) {
    throw cannotBecome(owner, folder, error);
  }
  if (owner.name !== undefined) Object.assign(env, { USER: owner.name, LOGNAME: owner.name });
  env["HOME"] = owner.home ?? "/";
}

/** Runs `act` as the owner of the folder, then returns to root. */
export function asOwnerOf<Result>(folder: string, act: () => Result): Result {
  const goBack = actAsOwnerOf(folder);
  try {
    return act();
  } finally {
    goBack();
  }
}

/** The same for work that outlives one call: the returned function returns to root. */
export function actAsOwnerOf(folder: string): () => void {
  const owner = ownerToBe(folder);
  if (owner === undefined) return () => undefined;
  const groups = process.getgroups?.() ?? [];
  const goBack = () => {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  };
  try {
    enterGroups(owner);
    process.setegid?.(owner.gid);
    process.seteuid?.(owner.uid);
  } catch (error) {
    goBack();
    throw cannotBecome(owner, folder, error);
  }
  return goBack;
}

function ownerToBe(folder: string): Owner | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const owners = [...ownersOnTheWay(folder)];
  if (owners.length > 1) {
    const names = owners.map(([uid, { at }]) => `${at} (${nameOf(uid)})`).join(", ");
    throw refuse(m.platform.severalOwners({ folder, names }));
  }
  const [found] = owners;
  if (found === undefined) return undefined;
  const [uid, { gid }] = found;
  const known = accountOf(uid);
  return { uid, gid: known?.gid ?? (gid === 0 ? NO_GROUP : gid), name: known?.username, home: known?.homedir };
}

/** The user's own groups, so that access to the ERP's files stays. */
function enterGroups({ name, gid }: Owner): void {
  // Documented, but missing in Node's types.
  const { initgroups } = process as { initgroups?: (user: string, extraGroup: number) => void };
  if (name === undefined) process.setgroups?.([gid]);
  else initgroups?.(name, gid);
}

/** Switches to the user for a moment, because Node reads only the account of the current one. */
function accountOf(uid: number): UserInfo<string> | undefined {
  try {
    process.seteuid?.(uid);
    return userInfo({ encoding: "utf8" });
  } catch {
    return undefined; // the owner has no account
  } finally {
    process.seteuid?.(0);
  }
}

function nameOf(uid: number): string {
  return accountOf(uid)?.username ?? String(uid);
}

function refuse(message: Message, cause?: unknown): BridgeError {
  return new BridgeError("database_refused", message, { hint: m.platform.runAsUser, cause });
}

function cannotBecome({ uid, name }: Owner, folder: string, error: unknown): BridgeError {
  const code = (error as NodeJS.ErrnoException).code ?? String(error);
  return refuse(m.platform.cannotBecome({ user: name ?? String(uid), folder, code }), error);
}
