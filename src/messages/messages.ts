import { en } from "./en.ts";
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

/** Every message by area and name: `m.config.tooLarge({ bytesMax })`, or `m.config.empty` where it has no parameters. */
export const m = makers();

function makers(): Makers<typeof en> {
  const areas = Object.entries(en).map(([area, texts]) => {
    const named = Object.entries(texts).map(([name, text]) => [name, makerOf(`${area}.${name}`, text)]);
    return [area, Object.fromEntries(named)];
  });
  return Object.fromEntries(areas) as Makers<typeof en>;
}

function makerOf(id: string, text: unknown) {
  return typeof text === "string" ? new Message(id) : (params: Record<string, Value>) => new Message(id, params);
}
