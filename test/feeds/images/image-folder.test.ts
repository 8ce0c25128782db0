import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { lstat, rename } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { findFolder, lookAtImage, readImage } from "../../../src/feeds/images/read-image.ts";
import { BASE64, jpeg, png, shaOf, startImages } from "../../support/images.ts";
import { tempFolder } from "../../support/temp.ts";
import { itWhole } from "../../support/whole.ts";

/** A file that nobody may send. */
function secretFile(): { folder: string; sha256: string } {
  const folder = tempFolder("outside");
  const bytes = jpeg("secret");
  writeFileSync(path.join(folder, "a.jpg"), bytes);
  return { folder, sha256: shaOf(bytes) };
}

describe("the folder of the images", () => {
  it("is not left by a link, a step upwards or an absolute name, and what stays inside is followed", async () => {
    const images = await startImages(BASE64);
    const { photos } = images;
    const outside = secretFile();
    const inside = images.put("deep/in.jpg", jpeg("inside"));
    symlinkSync(path.join(outside.folder, "a.jpg"), path.join(photos, "link.jpg"));
    symlinkSync(outside.folder, path.join(photos, "linked"));
    symlinkSync("link.jpg", path.join(photos, "twice.jpg"));
    symlinkSync("loop.jpg", path.join(photos, "loop.jpg"));
    symlinkSync("deep", path.join(photos, "alias"));
    const sources = ["link.jpg", "linked/a.jpg", "twice.jpg", "loop.jpg"];
    sources.push(
      `../${path.basename(outside.folder)}/a.jpg`,
      path.join(outside.folder, "a.jpg"),
      "deep",
      "deep/in.jpg/x",
    );
    sources.forEach((source, index) => void images.row("BAD", index, source));
    images.row("GOOD", 1, "alias/in.jpg");
    images.row("GOOD", 2, path.join(photos, "deep/in.jpg"));
    await images.run("images");
    expect(images.held()).toEqual([
      "BAD/0 source: the file is a link that leads out of the folder",
      "BAD/1 source: the file is a link that leads out of the folder",
      "BAD/2 source: the file is a link that leads out of the folder",
      "BAD/3 source: the file is a link that leads nowhere",
      "BAD/4 source: holds a step upwards (..)",
      "BAD/5 source: lies outside the folder",
      "BAD/6 source: the file is a folder",
      "BAD/7 source: the file is not there",
    ]);
    expect(images.contents("GOOD", 1)).toEqual([shaOf(inside)]);
    expect(images.contents("GOOD", 2)).toEqual([shaOf(inside)]);
    expect(images.accepted()).toBe(2);
  });

  itWhole("may itself be reached by a link", async () => {
    const images = await startImages(BASE64);
    const real = `${images.photos}-real`;
    renameSync(images.photos, real);
    symlinkSync(real, images.photos);
    const bytes = images.put("a.jpg", jpeg("a"));
    images.row("A", 1, "a.jpg");
    await images.run("images");
    expect(images.contents("A", 1)).toEqual([shaOf(bytes)]);
  });

  itWhole("gives nothing that is no ordinary file, and waits for none of it", async () => {
    const images = await startImages(BASE64);
    execFileSync("sh", ["-c", 'mkfifo "$1"', "sh", path.join(images.photos, "fifo.jpg")]);
    symlinkSync("/dev/zero", path.join(images.photos, "zero.jpg"));
    images.row("A", 1, "fifo.jpg");
    images.row("A", 2, "zero.jpg");
    await images.run("images");
    expect(images.held()).toEqual([
      "A/1 source: the file is not a regular file",
      "A/2 source: the file is a link that leads out of the folder",
    ]);
  });

  itWhole("stops the feed where it is missing, blames no row, and goes on by itself", async () => {
    const images = await startImages(BASE64);
    const bytes = images.put("a.jpg", jpeg("a"));
    renameSync(images.photos, `${images.photos}-away`);
    images.row("A", 1, "a.jpg");
    expect(await images.run("images")).toMatchObject({ outcome: "failed", error: { code: "folder_missing" } });
    expect(images.quarantined()).toEqual([]);
    renameSync(`${images.photos}-away`, images.photos);
    await images.run("images");
    expect(images.contents("A", 1)).toEqual([shaOf(bytes)]);
  });

  itWhole("never gives what lies outside, however often a folder and a link change places meanwhile", async () => {
    const folder = await findFolder(tempFolder("race"));
    const outside = secretFile();
    const bytes = jpeg("inside");
    mkdirSync(path.join(folder, "dir"));
    writeFileSync(path.join(folder, "dir", "a.jpg"), bytes);
    symlinkSync(outside.folder, path.join(folder, "trap"));
    const looks = { inside: 0, outside: 0 };
    let isOver = false;
    const move = (from: string, to: string) => rename(path.join(folder, from), path.join(folder, to));
    const swap = async () => {
      for (let turn = 0; !isOver; turn++) {
        await move("dir", "aside");
        await move("trap", "dir");
        // So that a look meets every state in each of its steps.
        for (let steps = turn % 5; steps > 0; steps--) await lstat(folder);
        await move("dir", "trap");
        await move("aside", "dir");
        for (let steps = turn % 7; steps > 0; steps--) await lstat(folder);
      }
    };
    const look = async () => {
      for (let times = 0; times < 1_000; times++) {
        const seen = await lookAtImage(folder, "dir/a.jpg", { known: undefined, bytesMax: 1_000, nowMs: 0 });
        if (seen.kind !== "found") throw new Error("it was never seen before");
        if (seen.file.sha256 === outside.sha256) looks.outside += 1;
        if (seen.file.sha256 === shaOf(bytes)) looks.inside += 1;
        const read = await readImage(folder, "dir/a.jpg", { sha256: outside.sha256, bytesMax: 1_000 });
        if (read !== undefined) looks.outside += 1;
      }
    };
    const swapping = swap();
    await Promise.all([look(), look(), look(), look()]);
    isOver = true;
    await swapping;
    expect(looks.outside).toBe(0);
    expect(looks.inside).toBeGreaterThan(0);
  });
});

describe("a file", () => {
  itWhole("is judged by its bytes and its size, and taken once it is as it should be", async () => {
    const images = await startImages({ ...BASE64, bytes_max: "1KB", types: ["image/jpeg"] });
    images.put("text.jpg", "<html>");
    images.put("png.jpg", png("x"));
    images.put("large.jpg", jpeg("large", 1_001));
    images.put("empty.jpg", "");
    const fits = images.put("fits.dat", jpeg("fits", 1_000));
    ["text.jpg", "png.jpg", "large.jpg", "empty.jpg"].forEach((source, index) => void images.row("BAD", index, source));
    images.row("GOOD", 1, "fits.dat");
    await images.run("images");
    expect(images.held()).toEqual([
      "BAD/0 source: the file is text, not an image",
      "BAD/1 source: the file is image/png, which types does not name",
      "BAD/2 source: the file has 1001 bytes, more than bytes_max allows (1000)",
      "BAD/3 source: the file is empty",
    ]);
    expect(images.contents("GOOD", 1)).toEqual([shaOf(fits)]);
    for (const name of ["text.jpg", "png.jpg", "large.jpg", "empty.jpg"]) images.put(name, jpeg(name));
    await images.run("images");
    expect(images.held()).toEqual([]);
    expect(images.accepted()).toBe(5);
  });

  itWhole("is quarantined where its source is an address or nothing, because nothing is fetched", async () => {
    const images = await startImages(BASE64);
    images.row("A", 1, "https://shop.example/a.jpg");
    images.row("A", 2, null);
    images.erp.prepare("INSERT INTO images (sku, position, source) VALUES ('A', 3, ?)").run(Buffer.from("x"));
    await images.run("images");
    expect(images.held()).toEqual([
      "A/1 source: is an address, which is never fetched; only files are sent (imports.images.send: base64)",
      "A/2 source: is empty",
      "A/3 source: is neither an address nor the name of a file",
    ]);
  });

  itWhole("is waited for while it is being written, and put aside where that does not end", async () => {
    const images = await startImages(BASE64);
    const { clock } = images;
    const file = path.join(images.photos, "a.jpg");
    // The test's clock does not move by itself, so the file is told when it was written.
    const write = (words: string) => {
      const bytes = images.put("a.jpg", jpeg(words));
      utimesSync(file, clock.nowMs() / 1_000, clock.nowMs() / 1_000);
      return bytes;
    };
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (ms, signal) => {
      await sleep(ms, signal);
      if (ms > 0) write("more");
    };
    write("half");
    images.row("A", 1, "a.jpg");
    await images.run("images");
    expect(images.held()).toEqual(["A/1 source: the file is being written"]);
    clock.sleep = sleep;
    const bytes = write("all");
    const before = clock.monotonicMs();
    await images.run("images");
    expect(clock.monotonicMs() - before).toBeGreaterThanOrEqual(2_000);
    expect(images.held()).toEqual([]);
    expect(images.contents("A", 1)).toEqual([shaOf(bytes)]);
  });

  itWhole("is known again by its inode and its times, and read once more only when they change", async () => {
    const images = await startImages(BASE64);
    const bytes = images.put("a.jpg", jpeg("a"));
    images.row("A", 1, "a.jpg");
    await images.run("images");
    images.rows("UPDATE image_files SET type = 'image/png' RETURNING 1");
    images.row("A", 1, "a.jpg", "words");
    await images.run("images");
    expect(images.contents("A", 1)).toEqual([shaOf(bytes), shaOf(bytes)]);
    expect(images.rows("SELECT type FROM image_files")).toEqual([{ type: "image/png" }]);
    utimesSync(path.join(images.photos, "a.jpg"), 1, 1);
    await images.compare("images");
    expect(images.rows("SELECT type FROM image_files")).toEqual([{ type: "image/jpeg" }]);
    expect(images.accepted()).toBe(2);
  });

  itWhole("that is large is read in pieces, so that everything else has its turn meanwhile", async () => {
    const folder = await findFolder(tempFolder("large"));
    const bytes = jpeg("large", 20_000_000);
    writeFileSync(path.join(folder, "a.jpg"), bytes);
    let turns = 0;
    const turn = () => {
      turns += 1;
      timer = setImmediate(turn);
    };
    let timer = setImmediate(turn);
    const limits = { known: undefined, bytesMax: 50_000_000, nowMs: 0 };
    expect(await lookAtImage(folder, "a.jpg", limits)).toMatchObject({ file: { sha256: shaOf(bytes) } });
    const read = await readImage(folder, "a.jpg", { sha256: shaOf(bytes), bytesMax: 50_000_000 });
    clearImmediate(timer);
    expect(read?.equals(bytes)).toBe(true);
    // Less than half a megabyte at a time.
    expect(turns).toBeGreaterThan((2 * bytes.length) / 500_000);
  });

  it.skipIf(process.getuid?.() === 0)("that may not be read is quarantined for it", async () => {
    const images = await startImages(BASE64);
    images.put("a.jpg", jpeg("a"));
    chmodSync(path.join(images.photos, "a.jpg"), 0o000);
    images.row("A", 1, "a.jpg");
    await images.run("images");
    expect(images.held()).toEqual(["A/1 source: the file may not be read (permissions)"]);
  });
});
