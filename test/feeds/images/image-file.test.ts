import { describe, expect, it } from "vitest";
import { HEAD_BYTES, type ImageFacts, placeOf, refusalOf, typeOf } from "../../../src/feeds/images/image-file.ts";
import { m } from "../../../src/messages/messages.ts";

const FOLDER = "/srv/photos";

describe("the source of an image", () => {
  it.each([
    ["a.jpg", ["a.jpg"]],
    ["./deep//er/./a b.jpg", ["deep", "er", "a b.jpg"]],
    ["/srv/photos/a.jpg", ["a.jpg"]],
    ["..a/b...jpg", ["..a", "b...jpg"]],
    ["фото/1.jpg", ["фото", "1.jpg"]],
    ["C:\\photos\\a.jpg", ["C:\\photos\\a.jpg"]],
  ])("%j is a file of the folder", (source, steps) => {
    expect(placeOf(source, FOLDER)).toEqual({ kind: "file", steps });
    expect(placeOf(source, `${FOLDER}/`)).toEqual({ kind: "file", steps });
  });

  it.each(["http://x.example/a.jpg", "HTTPS://x.example/a.jpg"])("%j is an address", (source) => {
    expect(placeOf(source, FOLDER)).toEqual({ kind: "address" });
  });

  it.each([
    ["", m.feeds.isEmpty],
    ["../a.jpg", m.feeds.upwards],
    ["deep/../a.jpg", m.feeds.upwards],
    ["/srv/photos/../a.jpg", m.feeds.upwards],
    ["/etc/passwd", m.feeds.outsideFolder],
    ["/srv/photos2/a.jpg", m.feeds.outsideFolder],
    ["/srv/photos", m.feeds.outsideFolder],
    ["/srv/photos/", m.feeds.namesFolder],
    [".", m.feeds.namesFolder],
    ["deep/", m.feeds.namesFolder],
    ["a\0.jpg", m.feeds.notFileName],
    ["a\ud800.jpg", m.feeds.notFileName],
    ["ftp://x.example/a.jpg", m.feeds.notAddressNorFile],
    ["file:///srv/photos/a.jpg", m.feeds.notAddressNorFile],
    ["a".repeat(5_000), m.feeds.nameTooLong],
  ])("%j is refused", (source, reason) => {
    expect(placeOf(source, FOLDER)).toEqual({ kind: "bad", reason });
  });
});

describe("the type of a file", () => {
  it.each([
    ["\xff\xd8\xff\xe0JFIF", "image/jpeg"],
    ["\x89PNG\r\n\x1a\n", "image/png"],
    ["GIF87a.", "image/gif"],
    ["GIF89a.", "image/gif"],
    ["RIFF\x10\0\0\0WEBPVP8 ", "image/webp"],
    ["RIFF\x10\0\0\0WAVEfmt ", "application/octet-stream"],
    ["\0\0\0\x1cftypavif", "image/avif"],
    ["\0\0\0\x1cftypheic", "image/heic"],
    ["II*\0", "image/tiff"],
    ["BM\x10\0\0\0\0\0\0\0", "image/bmp"],
    ["BMW is a car", "text/plain"],
    ["<svg xmlns=", "text/plain"],
    ["<!doctype html>", "text/plain"],
    ["%PDF-1.7", "application/pdf"],
    ["PK\x03\x04", "application/zip"],
    ["\x7fELF\0", "application/octet-stream"],
    ["\xff\xd8", "application/octet-stream"],
    ["\xd0\xa4\xd0", "text/plain"],
  ])("%j is %s", (head, type) => {
    expect(typeOf(Buffer.from(head, "latin1"))).toBe(type);
  });

  it("needs no more than the first bytes", () => {
    expect(typeOf(Buffer.concat([Buffer.from("GIF89a"), Buffer.alloc(HEAD_BYTES)]))).toBe("image/gif");
  });
});

describe("a file that may not be sent", () => {
  const limits = { bytesMax: 1_000, types: ["image/png"] };
  const good: ImageFacts = { problem: null, size: 1_000, sha256: "0".repeat(64), type: "image/png" };

  it.each([
    [{}, undefined],
    [{ problem: "ENOENT", sha256: null }, m.feeds.fileProblem({ problem: m.feeds.notThere })],
    [{ size: 1_001 }, m.feeds.fileTooLarge({ size: 1_001, bytesMax: 1_000 })],
    [{ size: 1_001, sha256: null, type: null }, m.feeds.fileTooLarge({ size: 1_001, bytesMax: 1_000 })],
    [{ size: 0, type: "text/plain" }, m.feeds.fileEmpty],
    [{ type: "text/plain" }, m.feeds.fileIsText],
    [{ type: "image/jpeg" }, m.feeds.fileOfType({ type: "image/jpeg" })],
    [{ type: "application/octet-stream" }, m.feeds.fileIsUnknown],
  ])("%j: %s", (facts, reason) => {
    expect(refusalOf({ ...good, ...facts }, limits)).toEqual(reason);
  });
});
