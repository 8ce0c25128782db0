import { expect } from "vitest";
import type { RequestKind, SandboxRequest } from "../../src/sandbox/messages.ts";
import { routeOf } from "../../src/sandbox/routes.ts";
import type { Exit, Program } from "./program.ts";
import type { Shop } from "./shop.ts";

export interface Moment {
  kind: RequestKind;
  /** `request`: it has arrived and will have no effect; `answer`: it has had its effect, and the answer is lost. */
  at: "request" | "answer";
  /** How many such requests pass before. */
  skip?: number;
}

/** A confirm that names nothing waits until every batch has come round again, one a start. */
const STARTS_MAX = 8;

/**
 * Starts the program and kills it at exactly that moment of its talk with the service. `onConfirm` sees every confirm
 * as it arrives. Resolves when the program is dead.
 */
export async function crashOnce(
  shop: Shop,
  { kind, at, skip = 0 }: Moment,
  args: readonly string[],
  onConfirm: (request: SandboxRequest) => void,
): Promise<void> {
  const { hooks, sandbox } = shop;
  const kindOf = (request: SandboxRequest) => routeOf(request.method, request.path, sandbox.service.options).kind;
  let left = skip;
  let isReached = false;
  let failure: unknown;
  let program: Program | undefined;
  const killAt = async (request: SandboxRequest) => {
    if (kindOf(request) !== kind || left-- !== 0) return;
    isReached = true;
    await program?.kill();
    // Nobody reads an answer any more; thrown before the effect, it also keeps the effect away.
    throw new Error("the program is dead");
  };
  hooks.onRequest = async (request) => {
    try {
      if (kindOf(request) === "confirm") onConfirm(request);
    } catch (error) {
      failure ??= error;
    }
    if (at === "request") await killAt(request);
  };
  hooks.onAnswer = async (request) => {
    if (at === "answer") await killAt(request);
  };
  let exit: Exit;
  let starts = 0;
  do {
    program = shop.start(...args);
    exit = await program.exited;
  } while (!isReached && exit.code === 0 && ++starts < STARTS_MAX);
  delete hooks.onRequest;
  delete hooks.onAnswer;
  if (failure !== undefined) throw failure;
  expect({ isReached, ...exit }, program.stderr()).toEqual({ isReached: true, code: null, signal: "SIGKILL" });
}
