import { rmSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { BASE64, FORM, jpeg, shaOf, startImages } from "../../support/images.ts";
import { IMPORT_TIMEOUT_MS } from "../../support/pushed.ts";
import { itWhole } from "../../support/whole.ts";

const LOST_AFTER = { match: { path: "import" }, when: "after", do: { kind: "reset" } } as const;

describe.each([
  ["base64", BASE64],
  ["multipart", FORM],
] as const)("an image sent as %s", (_, settings) => {
  it("whose answer was lost is sent again with its newest content, not before the time-out, also if that was sent before", async () => {
    const images = await startImages(settings);
    const first = images.put("a.jpg", jpeg("first"));
    images.row("A", 1, "a.jpg");
    await images.run("images");
    const second = images.put("a.jpg", jpeg("second"));
    images.sandbox.faults.add(LOST_AFTER);
    await images.compare("images");
    expect(images.contents("A", 1)).toEqual([shaOf(first), shaOf(second)]);
    images.put("a.jpg", jpeg("first"));
    await images.compare("images");
    expect(images.contents("A", 1)).toHaveLength(2);
    images.clock.advance(IMPORT_TIMEOUT_MS);
    await images.run("images");
    expect(images.contents("A", 1)).toEqual([shaOf(first), shaOf(second), shaOf(first)]);
    await images.compare("images");
    expect(images.accepted()).toBe(3);
  });

  itWhole("in doubt goes again after a restart with what its file holds by then", async () => {
    const images = await startImages(settings);
    images.put("a.jpg", jpeg("first"));
    images.row("A", 1, "a.jpg");
    images.sandbox.faults.add({ match: { path: "import" }, do: { kind: "reset" } });
    await images.run("images");
    const newest = images.put("a.jpg", jpeg("newest"));
    await images.restart();
    images.clock.advance(IMPORT_TIMEOUT_MS);
    await images.run("images");
    images.clock.advance(IMPORT_TIMEOUT_MS);
    for (let passes = 0; passes < 3; passes++) await images.run("images");
    expect(images.contents("A", 1)).toEqual([shaOf(newest)]);
    expect(images.rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
  });

  itWhole(
    "whose file changes before its request is built carries the new content, and the old one is never sent",
    async () => {
      let meanwhile: (() => void) | undefined;
      const images = await startImages({ ...settings, chunk: 1 }, { sandbox: { onRequest: () => meanwhile?.() } });
      images.put("a.jpg", jpeg("a"));
      images.put("b.jpg", jpeg("b"));
      images.put("c.jpg", jpeg("c"));
      images.row("A", 1, "a.jpg");
      images.row("B", 1, "b.jpg");
      images.row("C", 1, "c.jpg");
      let changed: Buffer | undefined;
      meanwhile = () => {
        meanwhile = undefined;
        changed = images.put("b.jpg", jpeg("changed"));
        rmSync(path.join(images.photos, "c.jpg"));
      };
      await images.run("images");
      expect(images.contents("B", 1)).toEqual([shaOf(changed ?? Buffer.alloc(0))]);
      expect(images.sentOf("B")).toContain(shaOf(changed ?? Buffer.alloc(0)));
      expect(images.contents("C", 1)).toEqual([]);
      expect(images.held()).toEqual(["C/1 source: the file is not there"]);
    },
  );

  itWhole(
    "that is refused alone is quarantined with the service's words, and tried again when its file changes",
    async () => {
      const images = await startImages(settings);
      images.put("a.jpg", jpeg("a"));
      images.row("A", 1, "a.jpg");
      await images.run("images");
      images.sandbox.service.setOptions({ limits: { maxBodyBytes: 3_000 } });
      const large = images.put("b.jpg", jpeg("b", 20_000));
      images.put("c.jpg", jpeg("c"));
      images.row("B", 1, "b.jpg");
      images.row("C", 1, "c.jpg");
      await images.run("images");
      expect(images.held()).toEqual(['B/1 413: {"error":"the body is larger than 3000 bytes"}']);
      expect(images.contents("C", 1)).toHaveLength(1);
      const [held] = images.rows<{ payload: string }>("SELECT payload FROM quarantine");
      expect(held?.payload).toContain(`sha256:${shaOf(large)}`);
      expect(held?.payload.length).toBeLessThan(300);
      const small = images.put("b.jpg", jpeg("smaller"));
      await images.run("images");
      expect(images.held()).toEqual([]);
      expect(images.contents("B", 1)).toEqual([shaOf(small)]);
    },
  );

  itWhole("is taken away without its file where on_delete says how", async () => {
    const images = await startImages({ ...settings, on_delete: { alt: "deleted" }, delete_after: "0s" });
    const bytes = images.put("a.jpg", jpeg("a"));
    images.row("A", 1, "a.jpg", "front");
    await images.run("images");
    rmSync(path.join(images.photos, "a.jpg"));
    images.erp.exec("DELETE FROM images");
    await images.run("images");
    expect(images.contents("A", 1)).toEqual([shaOf(bytes), null]);
    expect(Object.values(images.site("images"))).toMatchObject([{ sku: "A", alt: "deleted" }]);
  });
});

describe("a request of many images", () => {
  it("is split where the service finds it too large, down to the image that is", async () => {
    const images = await startImages(BASE64, { sandbox: { options: { limits: { maxBodyBytes: 9_000 } } } });
    for (let n = 1; n <= 8; n++) {
      images.put(`${n}.jpg`, jpeg(`${n}`, n === 5 ? 10_000 : 2_000));
      images.row("A", n, `${n}.jpg`);
    }
    for (let passes = 0; passes < 3; passes++) await images.run("images");
    expect(images.held()).toEqual(['A/5 413: {"error":"the body is larger than 9000 bytes"}']);
    expect(images.accepted()).toBe(7);
  });

  itWhole("carries no more than some megabytes, and the bytes of one content are read once for it", async () => {
    const images = await startImages(BASE64);
    for (const name of ["a", "b", "c"]) images.put(`${name}.jpg`, jpeg(name, 5_000_000));
    images.row("A", 1, "a.jpg");
    images.row("A", 2, "a.jpg");
    images.row("B", 1, "b.jpg");
    images.row("C", 1, "c.jpg");
    await images.run("images");
    const sizes = images.sandbox.ledger.effects("import").map(({ accepted }) => accepted.length);
    expect(sizes).toEqual([2, 2]);
    expect(new Set(images.contents("A", 1))).toEqual(new Set(images.contents("A", 2)));
  });
});

describe("a form", () => {
  it("may hold the record as one part, and its parts may have other names", async () => {
    const images = await startImages(
      {
        ...FORM,
        record: { sku: "{sku}", position: "{position|number}" },
        multipart: { file: "picture", record: "data" },
      },
      { sandbox: { options: { imports: { images: { key: ["data"] } } } } },
    );
    const bytes = images.put("ph oto 'ü\".jpg", jpeg("a"));
    images.row("A", 1, "ph oto 'ü\".jpg");
    await images.run("images");
    expect(Object.values(images.site("images"))).toEqual([
      {
        data: '{"sku":"A","position":1}',
        picture: { name: "ph oto 'ü\".jpg", type: "image/jpeg", size: bytes.length, sha256: shaOf(bytes) },
      },
    ]);
  });
});

describe("a record that names its file", () => {
  it("says name, type, size and hash, and puts text before the bytes", async () => {
    const record = {
      sku: "{sku}",
      position: "{position}",
      about: ["{file.name}", { type: "{file.type}", size: "{file.size}", hash: "{file.sha256}" }],
      content: "data:{file.type};base64,{file.base64}",
    };
    const images = await startImages({ ...BASE64, record });
    const bytes = images.put("deep/a.jpg", jpeg("a"));
    images.row("A", 1, "deep/a.jpg");
    await images.run("images");
    expect(Object.values(images.site("images"))).toMatchObject([
      {
        about: ["a.jpg", { type: "image/jpeg", size: bytes.length, hash: shaOf(bytes) }],
        content: { sha256: shaOf(bytes), size: bytes.length },
      },
    ]);
  });

  itWhole("cannot be made to carry another file by what the ERP writes", async () => {
    const images = await startImages(BASE64);
    const hidden = images.put("hidden.jpg", jpeg("hidden"));
    images.put("a.jpg", jpeg("a"));
    images.row("H", 1, "hidden.jpg");
    images.row("A", 1, "a.jpg", `sha256:${shaOf(hidden)}`);
    await images.run("images");
    expect(images.site("images")["A 1"]).toMatchObject({ alt: `sha256:${shaOf(hidden)}` });
  });
});
