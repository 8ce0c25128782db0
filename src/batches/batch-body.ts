/* A body like an answer with a batch, made of stored records. Pure. */
import type { JsonPath, PathStep } from "../answers/json-path.ts";

/** Where an answer has its list of orders and the batch's id. */
export interface BatchPaths {
  list: JsonPath;
  batchId: JsonPath;
}

interface Place {
  steps: readonly PathStep[];
  /** JSON. */
  text: string;
}

/** @param batchId JSON literal; null: the batch has none. One whose path leads into the list is in a record. */
export function makeBatchBody(paths: BatchPaths, batchId: string | null, records: readonly string[]): Buffer {
  const list = { steps: paths.list.steps, text: `[${records.join()}]` };
  const id = batchId === null ? [] : [{ steps: paths.batchId.steps, text: batchId }];
  return Buffer.from(jsonOf([list, ...id]), "utf8");
}

function jsonOf(places: readonly Place[]): string {
  const own = places.find(({ steps }) => steps.length === 0);
  if (own !== undefined) return own.text;
  const firsts = [...new Set(places.map(({ steps: [first = ""] }) => first))];
  const valueAt = (step: PathStep) =>
    jsonOf(places.flatMap(({ steps: [first, ...steps], text }) => (first === step ? [{ steps, text }] : [])));
  const keys = firsts.filter((step) => typeof step === "string");
  if (keys.length > 0) return `{${keys.map((key) => `${JSON.stringify(key)}:${valueAt(key)}`).join()}}`;
  const indices = firsts.filter((step) => typeof step === "number");
  const length = Math.max(...indices.map((index) => (index < 0 ? -index : index + 1)));
  const stepAt = (at: number) => indices.find((index) => index === at || index === at - length);
  const values = Array.from({ length }, (_, at) => {
    const step = stepAt(at);
    return step === undefined ? "null" : valueAt(step);
  });
  return `[${values.join()}]`;
}
