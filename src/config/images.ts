import * as z from "zod";
import { FILE_NAMES, IMAGE_SENDS, IMAGE_TYPES } from "./image-names.ts";
import { bytes, type Json, key, name, oneOf, refuse, section, text, textsOf, worded } from "./kinds.ts";
import { namesIn } from "./syntax.ts";

/** What only the images feed knows: where its files are, and how they travel. */

const ASK = "ask the service";

const types = worded(
  z
    .array(oneOf(IMAGE_TYPES))
    .min(1)
    .refine((list) => new Set(list).size === list.length, "names a type twice"),
  `a list of ${IMAGE_TYPES.join(", ")}`,
);

const folder = worded(
  text(1000).refine((value) => !value.startsWith("file:"), "is not a place on disk"),
  "a folder",
);

export const imageKeys = {
  source: key(
    name("a column").prefault("source"),
    "Column that names the image: an http(s) address, or a file below folder.",
  ),
  send: key(
    oneOf(IMAGE_SENDS).prefault("url"),
    "How an image travels: as its address, as {file.base64} in the record, or beside the record in a form of its own; a row of the other kind is quarantined.",
    `How images are taken is not shown: ${ASK}.`,
  ),
  folder: key(
    folder.nullable().prefault(null),
    "The only folder that files are read from, relative to this file; no link and no .. leads out of it.",
  ),
  bytes_max: key(
    bytes("1KB", "50MB").prefault("10MB"),
    "A larger file is quarantined unread.",
    `Size limits are not shown: ${ASK}, or lower it where images are refused with 413.`,
  ),
  types: key(
    types.prefault(["image/jpeg", "image/png", "image/webp", "image/gif"]),
    "Files of another kind are quarantined; their first bytes decide, not their names.",
    `Which kinds of images are taken is not shown: ${ASK}.`,
  ),
  multipart: section("The form of send: multipart.", {
    file: key(text(200).prefault("file"), "Name of the part that holds the file.", `The form is not shown: ${ASK}.`),
    record: key(
      text(200).nullable().prefault(null),
      "Name of a part that holds the record as JSON; null: each property is a part of its own, without those that are null.",
      `The form is not shown: ${ASK}.`,
    ),
  }),
} as const;

/** A settled feed of images, as far as these rules look at it. */
interface Images {
  scope: string;
  record: Json;
  send: (typeof IMAGE_SENDS)[number];
  folder: string | null;
  multipart: { file: string };
}

/** Only literal text and the type may stand beside the bytes: what the ERP wrote could be taken for them. */
const BYTES_ALONE = /^[^{}]*(\{file\.type\}[^{}]*)?\{file\.base64\}[^{}]*$/;

/** Keys that do not go together. `standard` is the record of a feed that sends addresses. */
export function refuseImages(value: Images, context: z.core.$RefinementCtx, standard: Json): void {
  const { send, record } = value;
  const uses = textsOf(record).map(([path, part]) => ({ path: ["record", ...path], part, names: namesIn(part) }));
  const known: readonly string[] = FILE_NAMES;
  for (const { path, names } of uses) {
    const wrong = names.find((one) => one.startsWith("file.") && (send === "url" || !known.includes(one)));
    if (wrong === undefined) continue;
    const why = send === "url" ? "which needs send: base64 or multipart" : `but there are only {${known.join("}, {")}}`;
    refuse(context, { what: "names what is not known of a file", detail: `{${wrong}}, ${why}`, path });
  }
  if (send === "url") return;
  if (value.folder === null) refuse(context, { what: "must be set where files are sent", path: ["folder"] });
  if (value.scope === "whole") {
    refuse(context, {
      what: "must be changed where files are sent: each request would carry every file",
      path: ["scope"],
    });
  }
  if (JSON.stringify(record) === JSON.stringify(standard)) {
    refuse(context, {
      what: "is still the one for addresses: write the properties that go with the file",
      path: ["record"],
    });
    return;
  }
  const carriers = uses.filter(({ names }) => names.includes("file.base64"));
  if (send === "multipart") refuseForm(value, carriers, context);
  else refuseCarriers(carriers, context);
}

type Uses = readonly { path: PropertyKey[]; part: string }[];

function refuseForm({ record, multipart }: Images, carriers: Uses, context: z.core.$RefinementCtx): void {
  for (const { path } of carriers) {
    refuse(context, { what: "names {file.base64}, but in a form the file is a part of its own", path });
  }
  if (Object.hasOwn(record as object, multipart.file)) {
    const what = "has the name of the file's own part (multipart.file)";
    refuse(context, { what, path: ["record", multipart.file], aboutKey: true });
  }
}

function refuseCarriers(carriers: Uses, context: z.core.$RefinementCtx): void {
  if (carriers.length === 0) {
    refuse(context, { what: "names no {file.base64}, so the file would not be sent", path: ["record"] });
  }
  for (const { path, part } of carriers) {
    if (BYTES_ALONE.test(part)) continue;
    refuse(context, { what: "may hold nothing but {file.base64}, fixed text and {file.type} before it", path });
  }
}
