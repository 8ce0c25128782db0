/*
 * What is learned of the fields beside the lists of one endpoint: which of them depend on the list, and how. Pure.
 */
import { adoptUnusual, describeBeside, type UsualEmpty } from "./empty-form.ts";
import type { EmptyNames } from "./empty-names.ts";
import { keyOf, type MetadataField } from "./metadata-fields.ts";

export interface KnownField {
  /**
   * `seen`: beside records. `falls`: it states "nothing" where there is nothing. `free`: its value does not depend on
   * the list.
   */
  state: "new" | "seen" | "falls" | "free";
  /** It contradicts an answer: a person may confirm that it has no meaning. */
  isDoubted?: true;
  /**
   * For a count: the number of batches in which it was equal to the number of records, up to three; 0: in one batch it
   * was not.
   */
  equal?: number;
  /** For a count: in how many of these it was no sum over the lines of the records, up to three. */
  apart?: number;
  /** It states that a batch is incomplete: a person may confirm that it has no meaning. */
  isShort?: true;
  /** For a number without a known name: up to two different values at which it was equal to the number of records. */
  sizes?: readonly number[];
  /** For a count that was larger than the last batch. */
  short?: ShortCount;
}

/** A count of the batch's records or of all waiting records: how it changes shows which. */
export interface ShortCount {
  batch: string;
  count: number;
  size: number;
  /** The batch was as large as any before: the service may have a limit. */
  isFull: boolean;
  /** How often the number changed while the batch was the same. */
  changes: number;
}

/** What was learned about the answers of one endpoint. */
export interface LearnedMetadata {
  /** An empty list was received. */
  hasEmpty: boolean;
  known: Record<string, KnownField>;
  /**
   * Since when incomplete batches are served, by this machine's clock: by batch, and for all of them without a complete
   * one in between.
   */
  emptySince?: Readonly<Record<string, string>>;
  /** The number of records of the largest batch. */
  sizeMax?: number;
  /** The usual form of empty answers, and whether they name a batch. */
  empty?: UsualEmpty;
  names?: EmptyNames;
  /** Pages of a batch have borne its name. */
  pagesNamed?: true;
  /**
   * Batches that were confirmed although they may contain more, since a person was last notified: their number, and the
   * last one.
   */
  short?: { batches: number; at: string; what: string };
}

export const KNOWN_MAX = 60;

/** After so many batches a count is known to be that of the records. */
export const EQUAL_TIMES = 3;

/** Whether a number may count lines or pieces: it is a sum over those that are there, as it was before. */
export function isOfLines(field: MetadataField, known: KnownField | undefined): boolean {
  return field.isExplained === true && (known?.apart ?? 0) < EQUAL_TIMES;
}

/** The same with a number that was equal to that of the records, and no such sum. */
export function withApart(known: KnownField, { count, isExplained }: MetadataField, size: number): KnownField {
  const { apart = 0 } = known;
  return count === size && isExplained !== true && apart < EQUAL_TIMES ? { ...known, apart: apart + 1 } : known;
}

/** Whether a count was equal to the number of records in enough batches, and in all of them, and can count nothing else. */
export function isLearned(known: KnownField | undefined): boolean {
  return (known?.equal ?? 0) >= EQUAL_TIMES && (known?.apart ?? 0) >= EQUAL_TIMES;
}

/** Marks these fields as independent of the list. */
export function ignoreFields(learned: LearnedMetadata, keys: readonly string[]): LearnedMetadata {
  const ignored = keys.map((key) => [key, { ...learned.known[key], state: "free" as const, equal: 0 }] as const);
  return { ...learned, known: { ...learned.known, ...Object.fromEntries(ignored) } };
}

export function withKnown(learned: LearnedMetadata, field: MetadataField, known: KnownField): LearnedMetadata {
  return { ...learned, known: { ...learned.known, [keyOf(field)]: known } };
}

export const FALLS: KnownField = { state: "falls" };

export function withState(learned: LearnedMetadata, field: MetadataField, state: KnownField["state"]): LearnedMetadata {
  const key = keyOf(field);
  const before = learned.known[key];
  if (before?.state === state) return learned;
  if (before === undefined && Object.keys(learned.known).length >= KNOWN_MAX) return learned;
  const isDoubted = before?.isDoubted === true && state !== "free";
  const { state: _state, isDoubted: _doubted, equal, ...others } = before ?? {};
  const kept = { ...(equal === undefined ? {} : { equal }), ...(state === "free" ? {} : others) };
  return { ...learned, known: { ...learned.known, [key]: { state, ...(isDoubted ? { isDoubted } : {}), ...kept } } };
}

/** Marks these fields as contradicting an answer. */
export function doubtFields(learned: LearnedMetadata, fields: readonly MetadataField[]): LearnedMetadata {
  let next = learned;
  for (const field of fields) {
    const key = keyOf(field);
    const before = next.known[key] ?? { state: "new" };
    if (before.isDoubted !== true) next = { ...next, known: { ...next.known, [key]: { ...before, isDoubted: true } } };
  }
  return next;
}

/** What contradicted the answers, for a person. */
export function listDoubted({ empty, known }: LearnedMetadata): string[] {
  const fields = Object.entries(known).flatMap(([key, { isDoubted, isShort }]) => (isDoubted || isShort ? [key] : []));
  return empty?.unusual === undefined ? fields : [...fields, describeBeside(empty.unusual.last)];
}

/** A person has confirmed that the fields which contradicted the answers have no meaning. */
export function acceptDoubted(learned: LearnedMetadata): LearnedMetadata {
  const { empty } = learned;
  const adopted = empty === undefined ? empty : adoptUnusual(empty);
  const next = adopted === empty || adopted === undefined ? learned : { ...learned, empty: adopted };
  const entries = Object.entries(learned.known);
  if (!entries.some(([, { isDoubted, isShort }]) => isDoubted || isShort)) return next;
  const known = entries.map(
    ([key, field]) => [key, field.isDoubted || field.isShort ? { state: "free" as const, equal: 0 } : field] as const,
  );
  return { ...next, known: Object.fromEntries(known) };
}
