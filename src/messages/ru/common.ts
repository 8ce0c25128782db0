import type { common as en } from "../en/common.ts";
import { translate } from "../translator.ts";

export const common = {
  foreign: ({ text }) => text,
  plain: ({ text }) => translate(text),
  sentences: ({ parts }) => parts.join(" "),
  listed: ({ parts }) => parts.join(", "),
  joined: ({ parts }) => parts.join("; "),
  lines: ({ lines }) => lines.join("\n"),
  indented: ({ text }) => `  ${text}`,
  about: ({ subject, text }) => `${subject}: ${text}`,
  kilobytes: ({ n }) => `${n.replace(".", ",")} КБ`,
  megabytes: ({ n }) => `${n.replace(".", ",")} МБ`,
  gigabytes: ({ n }) => `${n.replace(".", ",")} ГБ`,
  bare: ({ text }) => text.replace(/\.$/, ""),
  nothingToDo: "делать нечего",
} satisfies typeof en;
