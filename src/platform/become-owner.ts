/*
 * A command that root starts works in a folder that another user may write, where every name may be a link to a file of
 * root's. So once the configuration and the secret are read it becomes the owner of the database's folder, and a planted
 * name leads nowhere that this owner could not go himself. Each user who owns a folder or a link on the way to the
 * database decides where it lies, so all of them count. Where root owns the whole way nothing changes.
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
  /** Undefined where the system has no name for it. */
  name: string | undefined;
  home: string | undefined;
}

/** As many as Linux follows in one path. */
const LINKS_MAX = 40;
/** The group of an owner without a name in a folder of root's group. */
const NO_GROUP = 65_534;

/** Who, besides root, owns a folder or a link on the way to `place`, with the group of the last that each owns. */
export function ownersOnTheWay(place: string): Map<number, { gid: number; at: string }> {
  const owners = new Map<number, { gid: number; at: string }>();
  let todo = partsOf(path.resolve(place));
  let at = "/";
  for (let links = 0; todo.length > 0; ) {
    const [name = "", ...rest] = todo;
    const next = path.join(at, name);
    const stat = lstatSync(next, { throwIfNoEntry: false });
    // What is not there yet is made by the owner of what is there.
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

/** The name `..` stays: behind a link it means the folder that the link leads to. */
function partsOf(place: string): string[] {
  return place.split("/").filter((part) => part !== "" && part !== ".");
}

/**
 * From now on this process is the owner of the folder, for good. Does nothing where the process is not root's, or root
 * owns everything on the way.
 * @param env the surroundings that programs are started with
 * @throws BridgeError `database_refused` where that cannot be done, or several own parts of the way
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

/** Does one thing as the owner of the folder and goes on as root. */
export function asOwnerOf<Result>(folder: string, act: () => Result): Result {
  const goBack = actAsOwnerOf(folder);
  try {
    return act();
  } finally {
    goBack();
  }
}

/** The same for what takes its time: root again once the result is called. */
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

/** The groups that the system gives to this user, so that access to the ERP's files stays. */
function enterGroups({ name, gid }: Owner): void {
  // Documented, and missing in the types of Node.
  const { initgroups } = process as { initgroups?: (user: string, extraGroup: number) => void };
  if (name === undefined) process.setgroups?.([gid]);
  else initgroups?.(name, gid);
}

/** Asked as that user for an instant: Node has the account of the present one only. */
function accountOf(uid: number): UserInfo<string> | undefined {
  try {
    process.seteuid?.(uid);
    return userInfo({ encoding: "utf8" });
  } catch {
    return undefined; // an owner without a name
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
