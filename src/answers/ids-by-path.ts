/* Finds the UUIDs in a JSON text of unknown shape and groups them by path. One pass over the bytes, at any depth. */
import { type Span, skipBlanks, skipValue } from "./json-text.ts";
import type { Slices } from "./slices.ts";
import { readOrderId } from "./uuid.ts";

/** The UUIDs at one path. A step into a list is `[]`; a key that is a UUID is `{}`. */
export interface PathIds {
  path: string;
  /** The last key in the path. */
  key: string;
  /** The ids as written, keyed by their lower-case form. */
  ids: Map<string, string>;
  /** The number of values at the path that are UUIDs. */
  times: number;
  /** The number of objects in which these UUIDs are members. */
  objects: number;
  isInList: boolean;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const LIST_OPEN = 0x5b;
const LIST_CLOSE = 0x5d;
const OBJECT_OPEN = 0x7b;
const OBJECT_CLOSE = 0x7d;
/** The length of a UUID with its quotes. */
const QUOTED_ID = 38;
const KEY_MAX = 100;
/** Deeper values are grouped by their first steps only. */
const DEPTH_MAX = 32;
const SLICE_BYTES = 1024 * 1024;

/** @param root of a valid JSON text */
export function* idsByPathInSlices(bytes: Buffer, root: Span): Slices<PathIds[]> {
  const found = new Map<string, PathIds>();
  const objects = new Map<string, number>();
  const steps: string[] = [];
  const isObject: boolean[] = [];
  let isKey = false;
  const pathOf = (count: number) => steps.slice(0, Math.min(count, DEPTH_MAX)).join("\n");
  const note = (text: string) => {
    const id = readOrderId(text);
    if (id === undefined) return;
    const path = pathOf(steps.length);
    let at = found.get(path);
    if (at === undefined) {
      const isInList = steps.slice(0, DEPTH_MAX).includes("[]");
      at = { path, key: steps.at(-1) ?? "", ids: new Map(), times: 0, objects: 0, isInList };
      found.set(path, at);
    }
    at.times += 1;
    at.ids.set(id, text);
  };
  let restAt = root.start + SLICE_BYTES;
  for (let at = root.start; at < root.end; ) {
    if (at >= restAt) {
      restAt = at + SLICE_BYTES;
      yield;
    }
    const byte = bytes[at];
    if (byte === QUOTE) {
      const end = skipValue(bytes, at, root.ends);
      if (isKey) {
        const key = bytes.toString("utf8", at + 1, Math.min(end - 1, at + 1 + KEY_MAX));
        const isId = readOrderId(key) !== undefined;
        steps[steps.length - 1] = isId ? "{}" : key;
        if (isId) note(key);
        isKey = false;
      } else if (end - at === QUOTED_ID) note(bytes.toString("latin1", at + 1, end - 1));
      at = end;
      continue;
    }
    if (byte === OBJECT_OPEN) {
      const path = pathOf(steps.length);
      objects.set(path, (objects.get(path) ?? 0) + 1);
      steps.push("");
      isObject.push(true);
      isKey = true;
    } else if (byte === LIST_OPEN) {
      steps.push("[]");
      isObject.push(false);
      isKey = false;
    } else if (byte === OBJECT_CLOSE || byte === LIST_CLOSE) {
      steps.pop();
      isObject.pop();
      isKey = false;
    } else if (byte === COMMA) isKey = isObject.at(-1) === true;
    at = skipBlanks(bytes, at + 1);
  }
  for (const [path, each] of found) {
    const parent = path.includes("\n") ? path.slice(0, path.lastIndexOf("\n")) : "";
    each.objects = objects.get(parent) ?? 0;
  }
  return [...found.values()];
}

/**
 * The sorted ids of an answer's records, where every record of its list has its own id under this key. Two answers with
 * the same ids contain the same orders, whatever else differs. Undefined where that is not certain.
 */
export function recordIdsOf(paths: readonly PathIds[], key: string): string[] | undefined {
  const [path, ...others] = paths.filter((each) => each.isInList && each.key === key);
  if (path === undefined || others.length > 0) return undefined;
  const isEach = path.times === path.ids.size && path.times === path.objects;
  return isEach ? [...path.ids.keys()].sort() : undefined;
}
