import { globSync, readFileSync } from "node:fs";
import fc from "fast-check";

/** A message as the English catalogue declares it. */
export interface Declared {
  id: string;
  area: string;
  name: string;
  /** Names and types of its parameters, as they are written. */
  params: readonly (readonly [name: string, type: string])[];
}

const ENTRY = /^ {2}(?:"([^"]+)"|(\w+)):\s*(?:\(\{[^}]*\}: \{([^}]*)\}\) =>)?/gm;

/** Every message with the types of its parameters, read from the source: at runtime nothing is left of types. */
export function declaredMessages(): Declared[] {
  const areas = globSync("src/messages/en/*.ts").flatMap((file) => [
    ...readFileSync(file, "utf8").matchAll(/^export const (\w+) = \{$(.*?)^\};$/gms),
  ]);
  return areas.flatMap(([, area = "", body = ""]) =>
    [...body.matchAll(ENTRY)].map(([, quoted, plain = quoted ?? "", types = ""]) => ({
      id: `${area}.${plain}`,
      area,
      name: plain,
      params: [...types.matchAll(/(\w+)(\??):\s+(?:\| )?([^;]+)/g)].map(
        ([, name = "", optional, type = ""]) =>
          [name, `${type.trim()}${optional === "?" ? " | undefined" : ""}`] as const,
      ),
    })),
  );
}

/** Text that no catalogue holds, so that it is recognised wherever it stands. */
const DATA = fc.stringMatching(/^[a-z]{3}[0-9]{3}$/).map((text) => `§${text}§`);

const BY_TYPE: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: DATA,
  Said: DATA,
  number: fc.oneof(fc.nat(130), fc.nat(), fc.constant(1.5)),
  boolean: fc.boolean(),
  null: fc.constant(null),
  undefined: fc.constant(undefined),
  "readonly string[]": fc.array(DATA, { minLength: 1, maxLength: 3 }),
  "readonly Said[]": fc.array(DATA, { minLength: 1, maxLength: 3 }),
};

/** Values for the parameters of a message, by their types. */
export function drawParams({ id, params }: Declared): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(Object.fromEntries(params.map(([name, type]) => [name, drawType(type, `${id}: ${name}`)])));
}

function drawType(type: string, place: string): fc.Arbitrary<unknown> {
  const draws = type.split(/\s+\|\s+/).map((one) => {
    const literal = /^"(.*)"$/.exec(one)?.[1];
    const drawn = literal === undefined ? BY_TYPE[one] : fc.constant(literal);
    if (drawn === undefined) throw new TypeError(`${place} has the type ${one}, which nothing can be drawn for.`);
    return drawn;
  });
  return fc.oneof(...draws);
}
