import { styleText } from "node:util";

const FORMATS = { good: "green", warning: "yellow", error: "red", name: "bold", faint: "dim" } as const;

export type Style = keyof typeof FORMATS;

/** Colours a text for a terminal, or returns it unchanged. */
export type Paint = (style: Style, text: string) => string;

export const plain: Paint = (_, text) => text;

/** Colours on a terminal that supports them, unless switched off (https://no-color.org). */
export function paintFor(
  env: NodeJS.ProcessEnv,
  { isTerminal, isWanted = true }: { isTerminal: boolean; isWanted?: boolean },
): Paint {
  const isUnwanted = !isWanted || (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  if (!isTerminal || isUnwanted) return plain;
  return (style, text) => styleText(FORMATS[style], text, { validateStream: false });
}
