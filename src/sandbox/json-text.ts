/**
 * JSON nodes that keep their literals. `JSON.parse` would round `9007199254740993` and turn `0.250` into `0.25`, and
 * the sandbox checks whether such text was preserved.
 */
export type JsonNode =
  | { readonly kind: "object"; readonly text: string; readonly entries: readonly (readonly [string, JsonNode])[] }
  | { readonly kind: "array"; readonly text: string; readonly items: readonly JsonNode[] }
  | { readonly kind: "string"; readonly text: string; readonly value: string }
  | { readonly kind: "literal"; readonly text: string };

const DEPTH_MAX = 200;
const SPACE = /[ \t\n\r]*/y;
const LITERAL = /[^,\]}\s]+/y;
/** Matches long plain runs without a branch: a base64 image is one string of megabytes. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy;

/** Scans text that `JSON.parse` has accepted, so its only error is excessive depth. */
class Scanner {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  node(depth: number): JsonNode {
    if (depth > DEPTH_MAX) throw new SyntaxError(`nested deeper than ${DEPTH_MAX} levels`);
    this.take(SPACE);
    const first = this.text[this.at];
    if (first === "{") return this.object(depth);
    if (first === "[") return this.array(depth);
    if (first === '"') return this.string();
    return { kind: "literal", text: this.take(LITERAL) };
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  private string(): JsonNode & { kind: "string" } {
    const text = this.take(STRING);
    return { kind: "string", text, value: JSON.parse(text) as string };
  }

  private array(depth: number): JsonNode {
    const start = this.at;
    const items: JsonNode[] = [];
    this.members("]", () => items.push(this.node(depth + 1)));
    return { kind: "array", text: this.text.slice(start, this.at), items };
  }

  private object(depth: number): JsonNode {
    const start = this.at;
    const entries: [string, JsonNode][] = [];
    this.members("}", () => {
      const key = this.string().value;
      this.take(SPACE);
      this.at++;
      entries.push([key, this.node(depth + 1)]);
    });
    return { kind: "object", text: this.text.slice(start, this.at), entries };
  }

  private members(close: string, member: () => void): void {
    this.at++;
    this.take(SPACE);
    while (this.text[this.at] !== close) {
      if (this.text[this.at] === ",") this.at++;
      this.take(SPACE);
      member();
      this.take(SPACE);
    }
    this.at++;
  }
}

/** Parses JSON text into nodes that keep their own text. Throws SyntaxError. */
export function readJson(text: string): JsonNode {
  JSON.parse(text);
  return new Scanner(text).node(0);
}

/** The node at a path of object keys (the last of equal keys, as in JSON.parse), or undefined. */
export function nodeAt(node: JsonNode, path: readonly string[]): JsonNode | undefined {
  let found: JsonNode | undefined = node;
  for (const key of path) {
    if (found?.kind !== "object") return undefined;
    found = found.entries.findLast(([name]) => name === key)?.[1];
  }
  return found;
}

/** A property to write: its path and its JSON text. */
export interface Property {
  readonly path: readonly string[];
  readonly text: string;
}

type Branch = Map<string, string | Branch>;

function writeBranch(branch: Branch): string {
  const members = [...branch].map(
    ([key, value]) => `${JSON.stringify(key)}:${typeof value === "string" ? value : writeBranch(value)}`,
  );
  return `{${members.join(",")}}`;
}

/** Writes an object with properties at paths; properties with a common prefix share their objects. */
export function writeObject(properties: readonly Property[]): string {
  const root: Branch = new Map();
  for (const { path, text } of properties) {
    let branch = root;
    for (const key of path.slice(0, -1)) {
      const next = branch.get(key);
      if (typeof next === "object") {
        branch = next;
      } else {
        const made: Branch = new Map();
        branch.set(key, made);
        branch = made;
      }
    }
    const last = path.at(-1);
    if (last !== undefined) branch.set(last, text);
  }
  return writeBranch(root);
}
