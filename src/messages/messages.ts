import { AREAS, textsOf } from "./catalogues.ts";
import type { en } from "./en.ts";
import { Message, type Said, type Value } from "./message.ts";

type Given<T> = T extends Said
  ? Message
  : T extends string
    ? string extends T
      ? T | Message
      : T
    : T extends readonly Said[]
      ? readonly Message[]
      : T extends readonly string[]
        ? readonly (string | Message)[]
        : T;

type Maker<Text> = Text extends (params: infer P) => string
  ? (params: { [K in keyof P]: Given<P[K]> }) => Message
  : Message;

type Makers<Texts> = { readonly [A in keyof Texts]: { readonly [N in keyof Texts[A]]: Maker<Texts[A][N]> } };

/**
 * All messages by area and name: `m.config.tooLarge({ bytesMax })`, or `m.config.empty` where there are no parameters.
 */
export const m = {} as Makers<typeof en>;

// The texts of an area determine which of them have parameters, so they are loaded when its first message is created.
for (const area of AREAS) {
  let made: object | undefined;
  Object.defineProperty(m, area, { enumerable: true, get: () => (made ??= makersOf(area)) });
}

function makersOf(area: string): object {
  const named = Object.entries(textsOf("en", area) ?? {}).map(([name, text]) => [
    name,
    makerOf(`${area}.${name}`, text),
  ]);
  return Object.fromEntries(named);
}

function makerOf(id: string, text: unknown) {
  return typeof text === "string" ? new Message(id) : (params: Record<string, Value>) => new Message(id, params);
}
