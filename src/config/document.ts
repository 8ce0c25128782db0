import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from "yaml";
import { isSecretKey, readSource, type Source } from "./source.ts";
import { syntaxProblems } from "./syntax-problems.ts";
import { expandVariables, hasReference } from "./variables.ts";

export type Path = readonly PropertyKey[];

/** Where a value stands, as offsets into the text. */
export interface Place {
  path: Path;
  /** Its key, or the value itself where there is none. */
  keyAt: number;
  valueAt: number;
  /** The value came from the environment, so no message may show it. */
  fromEnvironment: boolean;
}

export interface DocumentProblem {
  path: Path;
  at: number;
  problem: string;
}

export interface ReadDocument {
  value: unknown;
  places: ReadonlyMap<string, Place>;
  problems: DocumentProblem[];
  source: Source;
}

/** What the schema tells the reader about a value. */
export interface Expectations {
  /** Converts text from the environment where a number or a boolean is wanted. */
  convert(path: Path, text: string): unknown;
  /** What an empty value (`orders:` and nothing more) stands for. */
  empty(path: Path): unknown;
}

/** No configuration comes near; an alias bomb does at once. */
const NODES_MAX = 20_000;
const DEPTH_MAX = 40;

export function placeKey(path: Path): string {
  return JSON.stringify(path);
}

/** Reads YAML 1.2 into plain values, each with its place. Problems of syntax come alone, since nothing else is certain then. */
export function readDocument(text: string, env: NodeJS.ProcessEnv, expect: Expectations): ReadDocument {
  const lines = new LineCounter();
  const source = readSource(text, lines);
  let document: Document;
  try {
    document = parseDocument(text, {
      version: "1.2",
      schema: "core",
      merge: false,
      uniqueKeys: false,
      stringKeys: false,
      prettyErrors: false,
      logLevel: "silent",
      lineCounter: lines,
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { value: {}, places: new Map(), problems: [{ path: [], at: 0, problem: "is nested too deeply" }], source };
  }
  const broken = syntaxProblems(document);
  if (broken.length > 0) {
    source.hideBlindly();
    return { value: {}, places: new Map(), problems: broken, source };
  }
  const reader = new Reader({ document, env, expect, source });
  const value = reader.root();
  return { value, places: reader.places, problems: reader.problems, source };
}

interface ReaderOptions {
  document: Document;
  env: NodeJS.ProcessEnv;
  expect: Expectations;
  source: Source;
}

class Reader {
  readonly places = new Map<string, Place>();
  readonly problems: DocumentProblem[] = [];
  readonly #options: ReaderOptions;
  #nodes = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  root(): unknown {
    const { contents } = this.#options.document;
    if (contents === null || (isScalar(contents) && contents.value === null)) {
      this.#refuse([], 0, "is empty; erp-bridge init writes one with every key explained");
      return {};
    }
    if (isMap(contents)) return this.#read(contents, { path: [], keyAt: 0 });
    this.#refuse([], contents.range?.[0] ?? 0, "holds no keys; it must begin with a line such as service:");
    return {};
  }

  #refuse(path: Path, at: number, problem: string): undefined {
    this.problems.push({ path, at, problem });
    return undefined;
  }

  #read(node: Node | null, { path, keyAt }: { path: Path; keyAt: number }): unknown {
    const at = node?.range?.[0] ?? keyAt;
    this.#nodes++;
    if (this.#nodes > NODES_MAX) {
      return this.#nodes === NODES_MAX + 1 ? this.#refuse(path, at, `holds more than ${NODES_MAX} values`) : undefined;
    }
    if (path.length > DEPTH_MAX) return this.#refuse(path, at, "is nested too deeply");
    const place: Place = { path, keyAt, valueAt: at, fromEnvironment: false };
    this.places.set(placeKey(path), place);
    if (node === null) return this.#scalar(null, place);
    if (isAlias(node)) return this.#alias(node, place);
    if (isMap(node)) return this.#map(node.items, path);
    if (isSeq(node)) return node.items.map((item, index) => this.#item(item, [...path, index], at));
    return this.#scalar(isScalar(node) ? node.value : null, place, node);
  }

  #item(item: unknown, path: Path, at: number): unknown {
    const node = item as Node | null;
    return this.#read(node, { path, keyAt: node?.range?.[0] ?? at });
  }

  #alias(node: Node, place: Place): unknown {
    if (!isAlias(node)) return undefined;
    const target = node.resolve(this.#options.document);
    if (target === undefined) return this.#refuse(place.path, place.valueAt, "refers to an anchor that does not exist");
    const around = target.range !== undefined && target.range !== null && place.valueAt < target.range[1];
    if (around) return this.#refuse(place.path, place.valueAt, "refers to itself");
    if (this.#isSecret(place.path)) this.#options.source.hide(target.range);
    const value = this.#read(target, { path: place.path, keyAt: place.keyAt });
    const read = this.places.get(placeKey(place.path));
    // A message about the value points at the alias, which is what stands under the key.
    if (read !== undefined) this.places.set(placeKey(place.path), { ...read, valueAt: place.valueAt });
    return value;
  }

  #isSecret(path: Path): boolean {
    return path.some((step) => typeof step === "string" && isSecretKey(step));
  }

  #map(items: readonly Pair[], path: Path): unknown {
    const value: Record<string, unknown> = {};
    const firstLines = new Map<string, number>();
    for (const pair of items) {
      const keyNode = isScalar(pair.key) ? pair.key : null;
      const keyAt = (pair.key as Node | null)?.range?.[0] ?? 0;
      const key = keyNode === null || keyNode.value === null ? null : this.#keyText(keyNode.value, keyNode.source);
      if (key === null) {
        this.#refuse(path, keyAt, "holds a key that is no text");
        continue;
      }
      const inner = [...path, key];
      const node = pair.value as Node | null;
      if (this.#isSecret(inner)) this.#options.source.hide(node?.range);
      const line = firstLines.get(key);
      if (line !== undefined) this.#refuse(inner, keyAt, `is a duplicate; it stands in line ${line} already`);
      else if (key === "__proto__") this.#refuse(inner, keyAt, "is a name that cannot be used");
      else {
        firstLines.set(key, this.#options.source.placeOf(keyAt).line);
        value[key] = this.#read(node, { path: inner, keyAt });
      }
    }
    return value;
  }

  /** A key such as `1.0` means its letters, not the number. */
  #keyText(value: unknown, source: string | undefined): string {
    return typeof value === "string" ? value : (source ?? String(value));
  }

  #scalar(value: unknown, place: Place, node?: Node): unknown {
    const { env, expect } = this.#options;
    if (value === null || value === undefined) return expect.empty(place.path);
    if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) {
      return this.#refuse(
        place.path,
        place.valueAt,
        "is a number too large to be exact; put it in quotes if it is text",
      );
    }
    if (typeof value !== "string" || !hasReference(value)) return value;
    place.fromEnvironment = true;
    const expansion = expandVariables(value, env);
    if ("problem" in expansion) return this.#refuse(place.path, node?.range?.[0] ?? place.valueAt, expansion.problem);
    return expect.convert(place.path, expansion.text);
  }
}
