/* Keys of the images feed alone: where its files are, and how they are sent. */

import * as z from "zod";
import { m } from "../messages/messages.ts";
import { FILE_NAMES, IMAGE_SENDS, IMAGE_TYPES } from "./feed-names.ts";
import { bytes, type Json, key, name, oneOf, place, refuse, saying, section, text, textsOf, worded } from "./kinds.ts";
import { namesIn } from "./syntax.ts";

const ASK = "ask the service";

const types = worded(
  z
    .array(oneOf(IMAGE_TYPES))
    .min(1)
    .refine((list) => new Set(list).size === list.length, saying(m.config.duplicateType)),
  m.kinds.listOf({ kinds: IMAGE_TYPES }),
);

export const imageKeys = {
  source: key(name(m.kinds.column).prefault("source"), m.keys.imagesSource),
  send: key(oneOf(IMAGE_SENDS).prefault("url"), m.keys.imagesSend, `How images are taken is not shown: ${ASK}.`),
  folder: key(place(m.kinds.folder).nullable().prefault(null), m.keys.imagesFolder),
  bytes_max: key(
    bytes("1KB", "50MB").prefault("10MB"),
    m.keys.imagesBytesMax,
    `Size limits are not shown: ${ASK}, or lower it where images are refused with 413.`,
  ),
  types: key(
    types.prefault(["image/jpeg", "image/png", "image/webp", "image/gif"]),
    m.keys.imagesTypes,
    `Which kinds of images are taken is not shown: ${ASK}.`,
  ),
  multipart: section(m.keys.imagesMultipart, {
    file: key(text(200).prefault("file"), m.keys.imagesMultipartFile, `The form is not shown: ${ASK}.`),
    record: key(text(200).nullable().prefault(null), m.keys.imagesMultipartRecord, `The form is not shown: ${ASK}.`),
  }),
} as const;

/** The parsed settings that these rules need. */
interface Images {
  scope: string;
  record: Json;
  send: (typeof IMAGE_SENDS)[number];
  folder: string | null;
  multipart: { file: string };
}

/** Only literal text and the type may surround the bytes: text from the ERP could be mistaken for part of them. */
const BYTES_ALONE = /^[^{}]*(\{file\.type\}[^{}]*)?\{file\.base64\}[^{}]*$/;

/** Refuses keys that do not go together. `standard` is the default record, of a feed that sends addresses. */
export function refuseImages(value: Images, context: z.core.$RefinementCtx, standard: Json): void {
  const { send, record } = value;
  const uses = textsOf(record).map(([path, part]) => ({ path: ["record", ...path], part, names: namesIn(part) }));
  const known: readonly string[] = FILE_NAMES;
  for (const { path, names } of uses) {
    const wrong = names.find((one) => one.startsWith("file.") && (send === "url" || !known.includes(one)));
    if (wrong === undefined) continue;
    const detail =
      send === "url"
        ? m.config.fileNamesNeedSend({ name: wrong })
        : m.config.onlyFileNames({ name: wrong, names: known });
    refuse(context, { what: m.config.unknownFileName, detail, path });
  }
  if (send === "url") return;
  if (value.folder === null) refuse(context, { what: m.config.folderMissing, path: ["folder"] });
  if (value.scope === "whole") {
    refuse(context, { what: m.config.wholeWithFiles, path: ["scope"] });
  }
  if (JSON.stringify(record) === JSON.stringify(standard)) {
    refuse(context, { what: m.config.recordOfAddresses, path: ["record"] });
    return;
  }
  const carriers = uses.filter(({ names }) => names.includes("file.base64"));
  if (send === "multipart") refuseForm(value, carriers, context);
  else refuseCarriers(carriers, context);
}

type Uses = readonly { path: PropertyKey[]; part: string }[];

function refuseForm({ record, multipart }: Images, carriers: Uses, context: z.core.$RefinementCtx): void {
  for (const { path } of carriers) {
    refuse(context, { what: m.config.bytesInForm, path });
  }
  if (Object.hasOwn(record as object, multipart.file)) {
    const what = m.config.partNameTaken;
    refuse(context, { what, path: ["record", multipart.file], aboutKey: true });
  }
}

function refuseCarriers(carriers: Uses, context: z.core.$RefinementCtx): void {
  if (carriers.length === 0) {
    refuse(context, { what: m.config.bytesMissing, path: ["record"] });
  }
  for (const { path, part } of carriers) {
    if (BYTES_ALONE.test(part)) continue;
    refuse(context, { what: m.config.textBesideBytes, path });
  }
}
