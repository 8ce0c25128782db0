import { TextDecoder } from "node:util";
import type { SandboxOptions } from "./options.ts";

/** The encoding of a Russian Windows, which 1C and scripts beside it write where nobody tells them otherwise. */
const CYRILLIC = "windows-1251";

const BYTE_OF = new Map(
  Array.from({ length: 256 }, (_, byte) => [new TextDecoder(CYRILLIC).decode(Uint8Array.of(byte)), byte]),
);

/** What it cannot encode is written as JSON can: `\u2603`. */
export function encodeText(text: string, charset: SandboxOptions["charset"]): Buffer {
  if (charset === "utf-8") return Buffer.from(text);
  return Buffer.from([...text].flatMap((char) => BYTE_OF.get(char) ?? escaped(char)));
}

function escaped(char: string): number[] {
  const units = char.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [...Buffer.from(units.join(""))];
}

export function nameCharset(
  headers: Readonly<Record<string, string>>,
  charset: SandboxOptions["charset"],
): Readonly<Record<string, string>> {
  const type = headers["content-type"];
  if (type === undefined || charset === "utf-8") return headers;
  return { ...headers, "content-type": type.replace("charset=utf-8", `charset=${charset}`) };
}
