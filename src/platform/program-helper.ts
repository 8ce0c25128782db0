/*
 * Runs a program inside a helper process: the program may be on a disk that does not answer, and starting it would
 * block.
 */
import { type HelperCall, serveCalls } from "./helper-process.ts";
import { type ProgramCall, runProgram } from "./run-program.ts";

const functions = {
  run: ({ signal }: HelperCall, call: Omit<ProgramCall, "signal">): Promise<void> => runProgram({ ...call, signal }),
};

export type ProgramFunctions = typeof functions;

serveCalls(functions);
