import { describe, expect, it } from "vitest";
import { MINIMAL, parse, problemsOf } from "./support.ts";

const images = (keys: string) => `${MINIMAL}imports: { images: { path: /api/v1/import/images, ${keys} } }`;
const RECORD = 'record: { sku: "{sku}", data: "{file.base64}" }';

describe("images in the configuration", () => {
  it.each([
    ['send: base64, folder: photos, record: { sku: "{sku}", data: "data:{file.type};base64,{file.base64}" }'],
    ['send: multipart, folder: photos, record: { sku: "{sku}", name: "{file.name}" }'],
    ['record: { sku: "{sku}", url: "https://shop.example/{source}" }'],
  ])("may say %s", (keys) => {
    expect(() => parse(images(keys))).not.toThrow();
  });

  it("has its folder relative to the file", () => {
    expect(parse(images(`send: base64, folder: photos, ${RECORD}`)).config.imports.images.folder).toBe(
      "/nowhere/photos",
    );
  });

  it.each([
    ["files without a folder", `send: base64, ${RECORD}`, "imports.images.folder: must be set where files are sent"],
    [
      "the record for addresses",
      "send: base64, folder: p",
      "imports.images.record: is still the one for addresses: write the properties that go with the file",
    ],
    [
      "a record that carries nothing",
      'send: base64, folder: p, record: { sku: "{sku}" }',
      "imports.images.record: names no {file.base64}, so the file would not be sent",
    ],
    [
      "what the ERP wrote beside the bytes",
      'send: base64, folder: p, record: { data: "{alt}{file.base64}" }',
      "imports.images.record.data: may hold nothing but {file.base64}, fixed text and {file.type} before it",
    ],
    [
      "bytes in the record of a form",
      `send: multipart, folder: p, ${RECORD}`,
      "imports.images.record.data: names {file.base64}, but in a form the file is a part of its own",
    ],
    [
      "a property with the name of the file's part",
      'send: multipart, folder: p, record: { file: "{sku}" }',
      "imports.images.record.file: has the name of the file's own part (multipart.file)",
    ],
    [
      "a file where addresses are sent",
      RECORD,
      "imports.images.record.data: names what is not known of a file: {file.base64}, which needs send: base64 or multipart",
    ],
    [
      "what no file has",
      'send: multipart, folder: p, record: { sku: "{file.width}" }',
      "imports.images.record.sku: names what is not known of a file: {file.width}, but there are only " +
        "{file.base64}, {file.name}, {file.type}, {file.size}, {file.sha256}",
    ],
    [
      "a whole table of files",
      `scope: whole, send: base64, folder: p, ${RECORD}`,
      "imports.images.scope: must be changed where files are sent: each request would carry every file",
    ],
    [
      "a type that is no image",
      "types: [image/svg+xml]",
      "imports.images.types[0]: must be one of image/jpeg, image/png, image/webp, image/gif, image/avif, image/heic, image/bmp, image/tiff",
    ],
  ])("may not say %s", (_, keys, problem) => {
    expect(problemsOf(images(keys)).map((text) => text.replace(/^\d+:\d+ /, ""))).toEqual([problem]);
  });

  it("are known to no other feed", () => {
    const [problem] = problemsOf(`${MINIMAL}imports: { stocks: { send: base64 } }`);
    expect(problem).toContain("imports.stocks.send: is not a known key here");
  });
});
