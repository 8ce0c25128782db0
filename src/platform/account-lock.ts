/*
 * One daemon an account on a machine: two would each take the other's orders, whatever database they work on. The lock is
 * a socket in the kernel's abstract namespace, which has no file that could be left behind or planted, and ends with the
 * process. Any local user could take the name, so its holder has to prove that it has the client secret: a daemon
 * gives way only to another daemon of the account.
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
  /** Another daemon of this account runs on this machine. */
  | { state: "taken" }
  /** Another program has the name, or the system has no such sockets: the state is unknown. */
  | { state: "unknown"; release: () => void };

const NONCE_BYTES = 32;
const ANSWER_WITHIN_MS = 1_000;
/** Enough that the secret cannot be guessed from an answer, and a few milliseconds at the start. */
const SCRYPT = { N: 4096, r: 8, p: 1 };

export async function acquireAccountLock(account: Account): Promise<AccountLock> {
  const name = `\0erp-bridge-account-${keyOf(account, "name").toString("hex").slice(0, 40)}`;
  const key = scryptSync(account.clientSecret, keyOf(account, "proof"), NONCE_BYTES, SCRYPT);
  const server = createServer((socket) => answer(socket, key));
  const problem = await listen(server, name);
  if (problem === undefined) {
    // The lock must not keep a program alive that has nothing else to do.
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

/** The asking process sends a number; the answer shows that the secret is known, and nothing of the secret. */
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
