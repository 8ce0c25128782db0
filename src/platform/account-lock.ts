/*
 * Allows one program per account on a machine, the daemon or `sync`: two would each take the other's orders, whatever
 * database they use.
 * The lock is a socket in Linux's abstract namespace: it has no file that could be left behind or planted, and it ends
 * with the process. Because any local user could bind the name, the holder proves that it has the client secret; a
 * daemon refuses to start only where another daemon of the same account holds the name.
 */
import { createHmac, randomBytes, scryptSync, timingSafeEqual } from "node:crypto";
import { connect, createServer, type Server, type Socket } from "node:net";

export interface Account {
  baseUrl: string;
  clientId: string;
  clientSecret: string;
}

export type AccountLock =
  | { state: "ours"; release: () => void }
  /** Another program on this machine works for this account. */
  | { state: "taken" }
  /** A program of something else has the name, or the system has no such sockets: the state is unknown. */
  | { state: "unknown"; release: () => void };

const NONCE_BYTES = 32;
const ANSWER_WITHIN_MS = 1_000;
/** Expensive enough that the secret cannot be guessed from an answer; costs a few milliseconds at start. */
const SCRYPT = { N: 4096, r: 8, p: 1 };

export async function acquireAccountLock(account: Account): Promise<AccountLock> {
  const name = `\0erp-bridge-account-${keyOf(account, "name").toString("hex").slice(0, 40)}`;
  const key = scryptSync(account.clientSecret, keyOf(account, "proof"), NONCE_BYTES, SCRYPT);
  const server = createServer((socket) => answer(socket, key));
  const problem = await listen(server, name);
  if (problem === undefined) {
    // The lock alone must not keep the process alive.
    server.unref();
    return { state: "ours", release: () => server.close() };
  }
  const isOther = problem === "EADDRINUSE" && (await provesSecret(name, key));
  return isOther ? { state: "taken" } : { state: "unknown", release: () => {} };
}

function keyOf({ baseUrl, clientId }: Account, purpose: string): Buffer {
  return createHmac("sha256", `erp-bridge ${purpose}`)
    .update(JSON.stringify([baseUrl, clientId]))
    .digest();
}

function listen(server: Server, name: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(name, () => resolve(undefined));
  });
}

/** Challenge and response: the caller sends a nonce, the holder answers with an HMAC of it. */
function answer(socket: Socket, key: Buffer): void {
  socket.setTimeout(ANSWER_WITHIN_MS, () => socket.destroy());
  socket.on("error", () => {});
  const parts: Buffer[] = [];
  socket.on("data", (part: Buffer) => {
    parts.push(part);
    const nonce = Buffer.concat(parts);
    if (nonce.length === NONCE_BYTES) socket.end(proofOf(key, nonce));
    else if (nonce.length > NONCE_BYTES) socket.destroy();
  });
}

function proofOf(key: Buffer, nonce: Buffer): Buffer {
  return createHmac("sha256", key).update(nonce).digest();
}

function provesSecret(name: string, key: Buffer): Promise<boolean> {
  const nonce = randomBytes(NONCE_BYTES);
  return new Promise((resolve) => {
    const socket = connect(name, () => socket.write(nonce));
    const end = (isProven: boolean) => {
      socket.destroy();
      resolve(isProven);
    };
    const parts: Buffer[] = [];
    socket.setTimeout(ANSWER_WITHIN_MS, () => end(false));
    socket.on("error", () => end(false));
    socket.on("data", (part: Buffer) => parts.push(part));
    socket.on("end", () => {
      const proof = Buffer.concat(parts);
      const wanted = proofOf(key, nonce);
      end(proof.length === wanted.length && timingSafeEqual(proof, wanted));
    });
  });
}
