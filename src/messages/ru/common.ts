import type { common as en } from "../en/common.ts";

export const common = {
  foreign: ({ text }) => text,
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
