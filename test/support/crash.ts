import { expect } from "vitest";
import type { RequestKind, SandboxRequest } from "../../src/sandbox/messages.ts";
import { routeOf } from "../../src/sandbox/routes.ts";
import type { Exit, Program } from "./program.ts";
import type { Shop } from "./shop.ts";

export interface Moment {
  kind: RequestKind;
  /** `request`: before the effect; `answer`: after the effect, and the answer is lost. */
  at: "request" | "answer";
  /** The number of such requests to let pass first. */
  skip?: number;
}

/** A confirm without a batch name waits until every batch was delivered again, one per start. */
const STARTS_MAX = 8;

/**
 * Starts the program and kills it at this point of its communication with the service. `onConfirm` is called for each
 * confirm when it arrives. Resolves when the program has ended.
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
    // No one reads the answer; an error before the effect also prevents the effect.
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
