import type { Said } from "../message.ts";

/** How texts stand beside each other, and words that are not the program's own. */
export const common = {
  /** Words of the service, of SQLite or of a library, as they came. */
  foreign: ({ text }: { text: string }) => text,
  sentences: ({ parts }: { parts: readonly string[] }) => parts.join(" "),
  listed: ({ parts }: { parts: readonly string[] }) => parts.join(", "),
  joined: ({ parts }: { parts: readonly string[] }) => parts.join("; "),
  lines: ({ lines }: { lines: readonly string[] }) => lines.join("\n"),
  indented: ({ text }: { text: Said }) => `  ${text}`,
  about: ({ subject, text }: { subject: string; text: Said }) => `${subject}: ${text}`,
  kilobytes: ({ n }: { n: string }) => `${n} KB`,
  megabytes: ({ n }: { n: string }) => `${n} MB`,
  gigabytes: ({ n }: { n: string }) => `${n} GB`,
  /** Without the full stop of a sentence, within another one. */
  bare: ({ text }: { text: Said }) => text.replace(/\.$/, ""),
  nothingToDo: "nothing to do",
};
