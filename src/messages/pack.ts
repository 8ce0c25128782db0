import { Message, type Value } from "./message.ts";
import { m } from "./messages.ts";

/** A message as plain data, for another process or a column. */
export interface PackedMessage {
  id: string;
  params: Record<string, Exclude<Value, Message | readonly unknown[]> | PackedMessage | (string | PackedMessage)[]>;
}

export function packed({ id, params }: Message): PackedMessage {
  const pack = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(pack) : value instanceof Message ? packed(value) : value;
  return { id, params: mapValues(params, pack) as PackedMessage["params"] };
}

export function unpacked(data: PackedMessage): Message {
  const unpack = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(unpack);
    return typeof value === "object" && value !== null ? unpacked(value as PackedMessage) : value;
  };
  return new Message(data.id, mapValues(data.params, unpack) as Message["params"]);
}

/** The message stored beside its English text; where this version renders another text, the stored text itself. */
export function messageBehind(text: string, data: unknown): Message {
  try {
    const message = unpacked(data as PackedMessage);
    if (String(message) === text) return message;
  } catch {
    // Not a message, or one of another version.
  }
  return m.common.foreign({ text });
}

/** The same message with the texts among its parameters changed, at any depth. */
export function withTexts(message: Message, change: (text: string) => string): Message {
  const changed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(changed);
    if (value instanceof Message) return withTexts(value, change);
    return typeof value === "string" ? change(value) : value;
  };
  return new Message(message.id, mapValues(message.params, changed) as Message["params"]);
}

function mapValues(object: object, change: (value: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}
