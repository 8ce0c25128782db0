import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
} from "yaml";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { isSecretKey, readSource, type Source } from "./source.ts";
import { expandVariables, hasReference } from "./variables.ts";
import { excessIn, syntaxProblems } from "./yaml-problems.ts";

export type Path = readonly PropertyKey[];

/** Position of a value, as offsets into the text. */
interface Place {
  path: Path;
  /** Of the key, or of the value itself where it has no key. */
  keyAt: number;
  valueAt: number;
  /** The value came from the environment, so no message may show it. */
  fromEnvironment: boolean;
}

export interface DocumentProblem {
  path: Path;
  at: number;
  problem: Message;
}

export interface ReadDocument {
  value: unknown;
  places: ReadonlyMap<string, Place>;
  problems: DocumentProblem[];
  source: Source;
}

/** What the schema expects of a value, for the reader. */
export interface Expectations {
  /** Converts text from an environment variable where the schema wants a number or a boolean. */
  convert(path: Path, text: string): unknown;
  /** The value of an empty node (`orders:` and nothing more). */
  empty(path: Path): unknown;
}

/** Far above any configuration; an alias bomb reaches it at once. */
const NODES_MAX = 20_000;
const DEPTH_MAX = 40;

export function placeKey(path: Path): string {
  return JSON.stringify(path);
}

/**
 * Parses YAML 1.2 into plain values with their positions. Where there are syntax problems only those are returned,
 * since nothing else is certain.
 */
export function readDocument(text: string, env: NodeJS.ProcessEnv, expect: Expectations): ReadDocument {
  const lines = new LineCounter();
  const source = readSource(text, lines);
  const excess = excessIn(text);
  if (excess !== null) {
    for (const { index } of text.matchAll(/^/gm)) lines.addNewLine(index);
    source.hideBlindly(text.indexOf("\n", excess.at) + 1 || undefined);
    return { value: {}, places: new Map(), problems: [{ path: [], ...excess }], source };
  }
  let document: Document;
  try {
    document = parseDocument(text, {
      version: "1.2",
      schema: "core",
      merge: false,
      // The parser compares each key with all earlier ones: seconds for the thousands in a hostile text. The reader
      // finds duplicates itself, by their source text (`1.0` and `"1.0"` are one key), and reports the line of the
      // first.
      uniqueKeys: false,
      stringKeys: false,
      prettyErrors: false,
      // Lower levels do not report a second document.
      logLevel: "error",
      lineCounter: lines,
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { value: {}, places: new Map(), problems: [{ path: [], at: 0, problem: m.config.tooDeep }], source };
  }
  const broken = syntaxProblems(document, text);
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

/** The reader's position. */
interface Spot {
  path: Path;
  keyAt: number;
  /** The outermost alias that led here. */
  alias: number | null;
}

class Reader {
  readonly places = new Map<string, Place>();
  readonly problems: DocumentProblem[] = [];
  readonly #options: ReaderOptions;
  /** Collected while reading in document order, because the parser's own lookup walks the document for each alias. */
  readonly #anchors = new Map<string, Node>();
  #nodes = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  root(): unknown {
    const { contents } = this.#options.document;
    if (contents === null || (isScalar(contents) && contents.value === null)) {
      this.#refuse([], 0, m.config.emptyFile);
      return {};
    }
    if (isMap(contents)) return this.#read(contents, { path: [], keyAt: 0, alias: null });
    this.#refuse([], contents.range?.[0] ?? 0, m.config.noKeys);
    return {};
  }

  #refuse(path: Path, at: number, problem: Message): undefined {
    const before = this.problems.at(-1);
    if (before?.at !== at || before.problem !== problem) this.problems.push({ path, at, problem });
    return undefined;
  }

  #read(node: Node | null, spot: Spot): unknown {
    const { path, alias } = spot;
    const at = alias ?? node?.range?.[0] ?? spot.keyAt;
    this.#nodes++;
    if (this.#nodes > NODES_MAX) {
      return this.#nodes === NODES_MAX + 1
        ? this.#refuse([], at, m.config.tooManyValues({ valuesMax: NODES_MAX }))
        : undefined;
    }
    if (path.length > DEPTH_MAX) return this.#refuse(path.slice(0, 2), at, m.config.tooDeep);
    if (isAlias(node)) return this.#alias(node, spot);
    if (alias === null && node !== null && "anchor" in node && typeof node.anchor === "string") {
      this.#anchors.set(node.anchor, node);
    }
    const place: Place = { path, keyAt: spot.keyAt, valueAt: at, fromEnvironment: false };
    this.places.set(placeKey(path), place);
    if (isMap(node)) return this.#map(node.items, spot, node.flow === true);
    if (isSeq(node))
      return node.items.map((item, index) => this.#item(item as Node | null, index, { ...spot, keyAt: at }));
    return this.#scalar(isScalar(node) ? node.value : null, place);
  }

  #item(node: Node | null, index: number, list: Spot): unknown {
    return this.#read(node, {
      ...list,
      path: [...list.path, index],
      keyAt: list.alias ?? node?.range?.[0] ?? list.keyAt,
    });
  }

  #alias(node: Alias, spot: Spot): unknown {
    const at = spot.alias ?? node.range?.[0] ?? spot.keyAt;
    const target = this.#anchors.get(node.source);
    if (target === undefined) return this.#refuse(spot.path, at, m.config.unknownAnchor);
    if (this.#isSecret(spot.path)) this.#options.source.hide(target.range);
    // Problems inside the target are reported at the alias, because that is the value of the key.
    return this.#read(target, { ...spot, alias: at });
  }

  #isSecret(path: Path): boolean {
    return path.some((step) => typeof step === "string" && isSecretKey(step));
  }

  #map(items: readonly Pair[], { path, alias }: Spot, isFlow: boolean): unknown {
    const value: Record<string, unknown> = {};
    const firstLines = new Map<string, number>();
    for (const pair of items) {
      const keyNode = isScalar(pair.key) ? pair.key : null;
      const keyAt = alias ?? (pair.key as Node | null)?.range?.[0] ?? 0;
      const key = keyNode === null || keyNode.value === null ? null : this.#keyText(keyNode.value, keyNode.source);
      if (key === null) {
        this.#refuse(path, keyAt, m.config.holdsOddKey);
        continue;
      }
      if (isFlow && pair.value === null) {
        this.#refuse(path, keyAt, m.config.bareBraces);
        continue;
      }
      const inner = [...path, key];
      const node = pair.value as Node | null;
      if (this.#isSecret(inner)) this.#options.source.hide(node?.range);
      const line = firstLines.get(key);
      if (line !== undefined) this.#refuse(inner, keyAt, m.config.duplicateKey({ line }));
      else if (key === "__proto__") this.#refuse(inner, keyAt, m.config.forbiddenName);
      else {
        firstLines.set(key, this.#options.source.placeOf(keyAt).line);
        value[key] = this.#read(node, { path: inner, keyAt, alias });
      }
    }
    return value;
  }

  /** A key such as `1.0` is its source text, not a number. */
  #keyText(value: unknown, source: string | undefined): string {
    return typeof value === "string" ? value : (source ?? String(value));
  }

  #scalar(value: unknown, place: Place): unknown {
    const { env, expect } = this.#options;
    if (value === null || value === undefined) return expect.empty(place.path);
    if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) {
      return this.#refuse(place.path, place.valueAt, m.config.inexactNumber);
    }
    if (typeof value !== "string" || !hasReference(value)) return value;
    place.fromEnvironment = true;
    const expansion = expandVariables(value, env);
    if ("problem" in expansion) return this.#refuse(place.path, place.valueAt, expansion.problem);
    return expect.convert(place.path, expansion.text);
  }
}
