/*
 * Reads the configuration and the files that it names, in a helper process started by `read-files`: they may be on a
 * disk that does not answer.
 */
import { type HelperCall, serveCalls } from "../platform/helper-process.ts";
import { type Asked, readHere } from "./read-files.ts";
import type { ReadFiles } from "./small-file.ts";

const functions = { read: (_call: HelperCall, asked: Asked): ReadFiles => readHere(asked) };

export type ConfigFunctions = typeof functions;

serveCalls(functions);
