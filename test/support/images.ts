import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { StartOptions } from "../../src/sandbox/start-sandbox.ts";
import { mergeSettings, type Settings } from "./bridge.ts";
import { type PushedFeeds, startFeeds } from "./pushed.ts";
import { tempFolder } from "./temp.ts";

export const BASE64 = {
  send: "base64",
  record: { sku: "{sku}", position: "{position|number}", alt: "{alt}", content: "{file.base64}" },
};
export const FORM = { send: "multipart", record: { sku: "{sku}", position: "{position}", alt: "{alt}" } };

export interface PushedImages extends PushedFeeds {
  /** The folder with the images. */
  photos: string;
  /** Writes a file there, and creates its folders. */
  put(name: string, content: Buffer | string): Buffer;
  /** Writes a row, as the ERP does. */
  row(sku: string, position: number, source: string | null, alt?: string | null): void;
  /** SHA-256 of the files that the service received under a key, in order. */
  contents(sku: string, position: number): unknown[];
  /** The number of images that the service accepted. */
  accepted(): number;
  held(): string[];
  /** The record that the bridge has stored as sent for position 1. */
  sentOf(sku: string): string | undefined;
}

/** A bridge with a folder of images, after the first pass of the feed. */
export async function startImages(
  images: Settings,
  options: { sandbox?: StartOptions; settings?: Settings } = {},
): Promise<PushedImages> {
  const photos = path.join(tempFolder("photos"), "photos");
  mkdirSync(photos);
  const imports = { images: { path: "/api/v1/import/images", folder: photos, ...images } };
  const feeds = await startFeeds({
    settings: mergeSettings({ imports }, options.settings ?? {}),
    ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
    arm: ["images"],
  });
  const { erp, sandbox } = feeds;
  const insert = erp.prepare(
    `INSERT INTO images (sku, position, source, alt) VALUES (?, ?, ?, ?)
     ON CONFLICT (sku, position) DO UPDATE SET source = excluded.source, alt = excluded.alt`,
  );
  const acceptances = () => sandbox.ledger.effects("import").flatMap(({ accepted }) => accepted);
  const own = {
    photos,
    put: (name: string, content: Buffer | string) => {
      const bytes = Buffer.from(content);
      mkdirSync(path.dirname(path.join(photos, name)), { recursive: true });
      writeFileSync(path.join(photos, name), bytes);
      return bytes;
    },
    row: (sku: string, position: number, source: string | null, alt: string | null = null) =>
      void insert.run(sku, BigInt(position), source, alt),
    contents: (sku: string, position: number) =>
      acceptances()
        .filter(({ key }) => [`["${sku}",${position}]`, `["${sku}","${position}"]`].includes(key))
        .map(({ record }) => {
          const { content, file } = JSON.parse(record) as Record<string, { sha256?: string } | null | undefined>;
          return (content ?? file)?.sha256 ?? null;
        }),
    accepted: () => acceptances().length,
    sentOf: (sku: string) =>
      feeds.rows<{ sent: string }>("SELECT sent FROM images_sent WHERE sku = ? AND position = '1'", sku)[0]?.sent,
    held: () =>
      feeds
        .quarantined()
        .filter(({ state }) => state === "held")
        .map(({ reference, reason }) => `${reference} ${reason}`),
  };
  return Object.defineProperties(own, Object.getOwnPropertyDescriptors(feeds)) as typeof own & PushedFeeds;
}

export function shaOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A file that begins like a JPEG; the rest makes it unique. */
export function jpeg(words: string, size = 0): Buffer {
  const filling = Buffer.alloc(Math.max(0, size - 4 - words.length), 0x2a);
  return Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.from(words), filling]);
}

export function png(words: string): Buffer {
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.from(words)]);
}
