import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type FormPart, writeForm } from "../../src/feeds/send/multipart.ts";

/** The form as another reader takes it: what fetch itself makes of such a body. */
async function readBack(parts: readonly FormPart[], identity = "one") {
  const { contentType, body } = writeForm(parts, identity);
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
  return await Promise.all(
    [...form].map(async ([name, value]) =>
      typeof value === "string"
        ? [name, value]
        : [name, value.name, value.type, Buffer.from(await value.arrayBuffer())],
    ),
  );
}

describe("a form", () => {
  it("is read back as it was written, whatever its names, texts and bytes", async () => {
    const bytes = Buffer.concat([randomBytes(70_000), Buffer.from("\r\n--erp-bridge-\r\n\r\n--")]);
    expect(
      await readBack([
        { name: "sku", body: Buffer.from("A-1\r\nπ") },
        { name: 'a "quoted"\r\nname', body: Buffer.from("") },
        { name: "file", body: bytes, file: { name: 'фото "1"\n;a=b.jpg', type: "image/jpeg" } },
        { name: "empty", body: Buffer.alloc(0), file: { name: "", type: "image/png" } },
      ]),
    ).toEqual([
      ["sku", "A-1\r\nπ"],
      ['a "quoted"\r\nname', ""],
      ["file", 'фото "1"\n;a=b.jpg', "image/jpeg", bytes],
      ["empty", "", "image/png", Buffer.alloc(0)],
    ]);
  });

  it("is the same bytes for the same content, and has another boundary for another one", () => {
    const parts = [{ name: "sku", body: Buffer.from("A") }];
    expect(writeForm(parts, "one")).toEqual(writeForm(parts, "one"));
    expect(writeForm(parts, "one").contentType).not.toBe(writeForm(parts, "two").contentType);
  });

  it("cannot be broken by a text that holds the boundary of another form", async () => {
    const [, boundary = ""] = writeForm([], "one").contentType.split("boundary=");
    const body = Buffer.from(`x\r\n--${boundary}--\r\n`);
    expect(await readBack([{ name: "sku", body }], "two")).toEqual([["sku", body.toString()]]);
  });
});
