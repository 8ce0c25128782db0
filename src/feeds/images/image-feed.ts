import { Buffer } from "node:buffer";
import type { PathStep } from "../../answers/json-path.ts";
import { elementsOf, kindOf, memberOf, membersOf, type Span, stringOf, textOf } from "../../answers/json-text.ts";
import { scanJson } from "../../answers/scan-json.ts";
import type { Template, TemplateNode } from "../../answers/template.ts";
import type { IMAGE_SENDS } from "../../config/feed-names.ts";
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { type FormPart, writeForm } from "../send/multipart.ts";
import { type ImagePlace, placeOf } from "./image-file.ts";

const BYTES = "file.base64";

/** Additional settings of the images feed, with the configuration's names. */
export interface ImageSettings {
  source: string;
  send: (typeof IMAGE_SENDS)[number];
  folder: string | null;
  bytes_max: number;
  types: readonly string[];
  multipart: { file: string; record: string | null };
}

export interface ImageRules {
  /** The column that names the image. */
  source: string;
  send: "url" | "base64" | "multipart";
  /** Absolute; unused where addresses are sent. */
  folder: string;
  bytesMax: number;
  types: readonly string[];
  /** Names of the parts of a form: of the file, and of the record; null where each property is its own part. */
  parts: { file: string; record: string | null };
  /** Places of the bytes in a record. */
  places: readonly (readonly PathStep[])[];
  /** Sources are sent unchanged, so they must be URLs. */
  needsAddress: boolean;
}

/** The stored record (in a form the file is a separate part), and the properties that deleted rows override. */
export function readImageSettings(settings: ImageSettings, record: unknown): { kept: unknown; onDelete: object } {
  if (settings.send === "url") return { kept: record, onDelete: {} };
  const kept = settings.send === "base64" ? record : { ...(record as object), [settings.multipart.file]: `{${BYTES}}` };
  // A deleted row has no file any more, so the properties with its bytes become null.
  const carriers = Object.entries(kept as object).filter(([, value]) => JSON.stringify(value).includes(`{${BYTES}}`));
  return { kept, onDelete: Object.fromEntries(carriers.map(([name]) => [name, null])) };
}

export function compileImages(settings: ImageSettings, record: Template): ImageRules {
  const { source, send, folder, bytes_max: bytesMax, types, multipart } = settings;
  return {
    source,
    send,
    folder: folder ?? "",
    bytesMax,
    types,
    parts: multipart,
    places: send === "url" ? [] : placesOf(record.root, BYTES, []),
    needsAddress: send === "url" && hasBare(record.root, source),
  };
}

/** Places of texts with the placeholder; keys cannot contain placeholders, so they are the same in all records. */
function placesOf(node: TemplateNode, name: string, at: readonly PathStep[]): PathStep[][] {
  if (node.kind === "list") return node.items.flatMap((item, index) => placesOf(item, name, [...at, index]));
  if (node.kind === "object") return node.members.flatMap(({ key, value }) => placesOf(value, name, [...at, key]));
  if (node.kind !== "text") return [];
  return node.parts.some((part) => typeof part !== "string" && part.name === name) ? [[...at]] : [];
}

function hasBare(root: TemplateNode, name: string): boolean {
  return placesOf(root, name, []).some((place) => {
    const node = place.reduce<TemplateNode>(stepInto, root);
    return node.kind === "text" && node.parts.length === 1;
  });
}

function stepInto(node: TemplateNode, step: PathStep): TemplateNode {
  if (node.kind === "list") return node.items[Number(step)] ?? node;
  return node.kind === "object" ? (node.members.find(({ key }) => key === step)?.value ?? node) : node;
}

/** Location of a row's image, or why it cannot be sent with the configured method. */
export function imagePlaceOf(rules: ImageRules, source: unknown): ImagePlace {
  const bad = (text: Message): ImagePlace => ({ kind: "bad", reason: m.common.about({ subject: rules.source, text }) });
  if (source === null || source === undefined || source === "") {
    return rules.send === "url" ? { kind: "address" } : bad(m.feeds.isEmpty);
  }
  if (typeof source !== "string") return bad(m.feeds.notImageName);
  const place = placeOf(source, rules.folder);
  if (rules.send === "url") {
    if (place.kind === "address" || !rules.needsAddress) return { kind: "address" };
    return bad(m.feeds.onlyAddresses);
  }
  if (place.kind === "address") {
    return bad(m.feeds.onlyFiles({ send: rules.send }));
  }
  return place.kind === "bad" ? bad(place.reason) : place;
}

/** Replaces the bytes of a file in stored and compared records. */
export function fileMark(sha256: string): string {
  return `sha256:${sha256}`;
}

const MARK = /sha256:([0-9a-f]{64})/;

/** One file of a request: its bytes as sent, for a JSON record already in base64. */
export interface LoadedFile {
  name: string;
  type: string;
  content: Buffer;
}

/** The SHA-256 hashes of the files in a record; none for the record of a deleted row. */
export function filesIn(rules: ImageRules, record: string): string[] {
  const bytes = Buffer.from(record, "utf8");
  return marksIn(rules, bytes).map(({ sha256 }) => sha256);
}

function marksIn(rules: ImageRules, record: Buffer): { span: Span; sha256: string; text: string }[] {
  const root: Span = scanJson(record);
  const found = rules.places.flatMap((place) => {
    const span = place.reduce<Span | undefined>((at, step) => at && childOf(record, at, step), root);
    if (span === undefined || kindOf(record, span) !== "string") return [];
    const text = textOf(record, span);
    const sha256 = MARK.exec(text)?.[1];
    return sha256 === undefined ? [] : [{ span, sha256, text }];
  });
  return found.sort((a, b) => a.span.start - b.span.start);
}

function childOf(record: Buffer, span: Span, step: PathStep): Span | undefined {
  if (typeof step === "string") return memberOf(record, span, step);
  return kindOf(record, span) === "array" ? elementsOf(record, span)[step] : undefined;
}

export interface ImportBody {
  contentType: string;
  body: string | Buffer;
}

/** The request's body: records with the bytes in place of their marks, or one record and its file as a form. */
export function imageBody(
  rules: ImageRules,
  request: { property: string; records: readonly string[]; fileOf: (sha256: string) => LoadedFile },
): ImportBody {
  const { property, records, fileOf } = request;
  if (rules.send === "multipart") return formOf(rules, records[0] ?? "{}", fileOf);
  const pieces: Buffer[] = [Buffer.from(`{${JSON.stringify(property)}:[`)];
  records.forEach((record, index) => {
    if (index > 0) pieces.push(Buffer.from(","));
    pieces.push(...filled(rules, record, fileOf));
  });
  pieces.push(Buffer.from("]}"));
  return { contentType: "application/json", body: Buffer.concat(pieces) };
}

function filled(rules: ImageRules, record: string, fileOf: (sha256: string) => LoadedFile): Buffer[] {
  const bytes = Buffer.from(record, "utf8");
  const pieces: Buffer[] = [];
  let done = 0;
  for (const { span, sha256, text } of marksIn(rules, bytes)) {
    const [before = "", after = ""] = text.split(fileMark(sha256), 2);
    pieces.push(bytes.subarray(done, span.start), Buffer.from(before));
    // Base64 has no characters that JSON must escape.
    pieces.push(fileOf(sha256).content, Buffer.from(after));
    done = span.end;
  }
  return [...pieces, bytes.subarray(done)];
}

/** Omits null properties: a form has no null. */
function formOf(rules: ImageRules, record: string, fileOf: (sha256: string) => LoadedFile): ImportBody {
  const bytes = Buffer.from(record, "utf8");
  const members = membersOf(bytes, scanJson(bytes)).filter(({ key }) => key !== rules.parts.file);
  const [sha256] = filesIn(rules, record);
  const file = sha256 === undefined ? [] : [filePart(rules.parts.file, fileOf(sha256))];
  return writeForm([...fieldsOf(rules, bytes, members), ...file], record);
}

function fieldsOf(rules: ImageRules, bytes: Buffer, members: readonly { key: string; value: Span }[]): FormPart[] {
  if (rules.parts.record !== null) {
    const text = members.map(({ key, value }) => `${JSON.stringify(key)}:${textOf(bytes, value)}`).join(",");
    return [{ name: rules.parts.record, body: Buffer.from(`{${text}}`) }];
  }
  return members
    .filter(({ value }) => kindOf(bytes, value) !== "null")
    .map(({ key, value }) => {
      const text = kindOf(bytes, value) === "string" ? stringOf(bytes, value) : textOf(bytes, value);
      return { name: key, body: Buffer.from(text) };
    });
}

function filePart(name: string, { name: fileName, type, content }: LoadedFile): FormPart {
  return { name, body: content, file: { name: fileName, type } };
}
