import { rmSync, utimesSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { BASE64, FORM, jpeg, png, shaOf, startImages } from "../../support/images.ts";
import { itWhole } from "../../support/whole.ts";

describe("images by address", () => {
  it("are sent as they stand, and their content is never asked for", async () => {
    const images = await startImages({});
    images.row("A", 1, "https://shop.example/a.jpg", "front");
    images.row("A", 2, "HTTP://shop.example/b.jpg");
    await images.run("images");
    expect(images.site("images")).toEqual({
      "A 1": { sku: "A", position: 1, url: "https://shop.example/a.jpg", alt: "front" },
      "A 2": { sku: "A", position: 2, url: "HTTP://shop.example/b.jpg", alt: null },
    });
    images.row("A", 1, "https://shop.example/a.jpg", "front");
    await images.run("images");
    await images.compare("images");
    expect(images.requests()).toHaveLength(1);
  });

  itWhole("are quarantined where a row names a file instead, unless the record makes an address of it", async () => {
    const images = await startImages({});
    images.row("A", 1, "a.jpg");
    await images.run("images");
    expect(images.held()).toEqual([
      "A/1 source: is no http(s) address, and only addresses are sent (imports.images.send: url)",
    ]);
    const made = await startImages({
      record: { sku: "{sku}", position: "{position}", url: "https://x.example/{source}" },
    });
    made.row("A", 1, "a.jpg");
    await made.run("images");
    expect(made.site("images")).toEqual({ "A 1": { sku: "A", position: 1, url: "https://x.example/a.jpg" } });
  });
});

describe.each([
  ["base64", BASE64],
  ["multipart", FORM],
] as const)("images as %s", (_, settings) => {
  it("arrive byte for byte, and are sent again only when they change", async () => {
    const images = await startImages(settings);
    const first = images.put("a.jpg", jpeg("first"));
    const second = images.put("deep/er/b.png", png("second"));
    images.row("A", 1, "a.jpg", 'front "view"');
    images.row("A", 2, "deep/er/b.png");
    await images.run("images");
    expect(images.contents("A", 1)).toEqual([shaOf(first)]);
    expect(images.contents("A", 2)).toEqual([shaOf(second)]);
    expect(Object.values(images.site("images"))[0]).toMatchObject({ sku: "A", alt: 'front "view"' });

    images.row("A", 1, "a.jpg", 'front "view"');
    utimesSync(path.join(images.photos, "a.jpg"), 1, 1);
    await images.run("images");
    await images.compare("images");
    expect(images.accepted()).toBe(2);
  });

  itWhole("keep no bytes in the database", async () => {
    const images = await startImages(settings);
    const bytes = images.put("a.jpg", jpeg("x", 200_000));
    images.row("A", 1, "a.jpg");
    await images.run("images");
    const [sent] = images.rows<{ sent: string }>("SELECT sent FROM images_sent");
    expect(sent?.sent).toContain(`sha256:${shaOf(bytes)}`);
    expect(sent?.sent.length).toBeLessThan(200);
  });

  itWhole(
    "are sent anew where the content changes under the same name: at once with the row, else in the night",
    async () => {
      const images = await startImages(settings);
      images.put("a.jpg", jpeg("one"));
      images.put("b.jpg", jpeg("one b"));
      images.row("A", 1, "a.jpg");
      images.row("B", 1, "b.jpg");
      await images.run("images");
      const touched = images.put("a.jpg", jpeg("two"));
      const untouched = images.put("b.jpg", jpeg("two b"));
      images.row("A", 1, "a.jpg");
      await images.run("images");
      expect(images.contents("A", 1).at(-1)).toBe(shaOf(touched));
      expect(images.contents("B", 1)).toHaveLength(1);
      await images.compare("images");
      expect(images.contents("B", 1).at(-1)).toBe(shaOf(untouched));
      expect(images.accepted()).toBe(4);
    },
  );

  itWhole("are not sent again under another name with the same content, nor where two rows show one file", async () => {
    const images = await startImages(settings);
    images.put("a.jpg", jpeg("same"));
    images.put("copy.jpg", jpeg("same"));
    images.row("A", 1, "a.jpg");
    images.row("B", 1, "a.jpg");
    await images.run("images");
    images.row("A", 1, "copy.jpg");
    await images.run("images");
    expect(images.accepted()).toBe(2);
    expect(images.rows("SELECT path FROM image_files ORDER BY path")).toEqual([
      { path: "a.jpg" },
      { path: "copy.jpg" },
    ]);
    images.row("B", 1, "copy.jpg");
    await images.compare("images");
    expect(images.accepted()).toBe(2);
    expect(images.rows("SELECT path FROM image_files")).toEqual([{ path: "copy.jpg" }]);
  });

  itWhole(
    "wait in quarantine for a file that is missing, and go when it appears, without a word from the ERP",
    async () => {
      const images = await startImages(settings);
      images.row("A", 1, "a.jpg");
      await images.run("images");
      expect(images.held()).toEqual(["A/1 source: the file is not there"]);
      await images.run("images");
      const bytes = images.put("a.jpg", jpeg("there"));
      await images.run("images");
      expect(images.held()).toEqual([]);
      expect(images.contents("A", 1)).toEqual([shaOf(bytes)]);
    },
  );

  itWhole("stay on the site where the file goes away", async () => {
    const images = await startImages(settings);
    images.put("a.jpg", jpeg("there"));
    images.row("A", 1, "a.jpg");
    await images.run("images");
    rmSync(path.join(images.photos, "a.jpg"));
    await images.compare("images");
    expect(images.held()).toEqual(["A/1 source: the file is not there"]);
    expect(images.accepted()).toBe(1);
  });
});
