import { rmSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { BASE64, FORM, jpeg, type PushedImages, shaOf, startImages } from "../../support/images.ts";
import { itSome, runs } from "../../support/whole.ts";

const ROWS = ["A", "B", "C"] as const;
const FILES = ["1.jpg", "2.jpg", "deep/3.jpg"] as const;
const RUNS = runs(2, 25);

type Step =
  | { do: "put" | "put in flight"; name: string; words: string }
  | { do: "spoil" | "remove"; name: string }
  | { do: "row"; sku: string; name: string }
  | { do: "pass" | "compare" | "wait" | "restart" }
  | { do: "lose"; when: "before" | "after" }
  | { do: "answer"; status: 413 | 500 };

const name = fc.constantFrom(...FILES);
const words = fc.constantFrom("one", "two", "three");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("put" as const), name, words }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("put in flight" as const), name, words }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("spoil" as const, "remove" as const), name }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("row" as const), sku: fc.constantFrom(...ROWS), name }) },
  { weight: 8, arbitrary: fc.constant<Step>({ do: "pass" }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: "compare" }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: "wait" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "restart" }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("lose" as const),
      when: fc.constantFrom("before" as const, "after" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("answer" as const), status: fc.constantFrom(413 as const, 500 as const) }),
  },
);

/** The folder and the table as they should be, beside what the bridge makes of them. */
class World {
  readonly images: PushedImages;
  readonly #files = new Map<string, Buffer | "spoiled">();
  readonly #rows = new Map<string, string>();
  readonly #hooks: { inFlight: (() => void) | undefined };

  constructor(images: PushedImages, hooks: { inFlight: (() => void) | undefined }) {
    this.images = images;
    this.#hooks = hooks;
  }

  async take(what: Step): Promise<void> {
    const { images } = this;
    switch (what.do) {
      case "put":
        return void this.#files.set(what.name, images.put(what.name, jpeg(what.words)));
      case "put in flight":
        this.#hooks.inFlight = () => void this.#files.set(what.name, images.put(what.name, jpeg(what.words)));
        return void (await images.run("images"));
      case "spoil":
        images.put(what.name, "no image");
        return void this.#files.set(what.name, "spoiled");
      case "remove":
        rmSync(path.join(images.photos, what.name), { force: true });
        return void this.#files.delete(what.name);
      case "row":
        images.row(what.sku, 1, what.name);
        return void this.#rows.set(what.sku, what.name);
      case "pass":
        return void (await images.run("images"));
      case "compare":
        return await images.compare("images");
      case "wait":
        return images.clock.advance(130_000);
      case "restart":
        return await images.restart();
      case "lose":
        return void images.sandbox.faults.add({ match: { path: "import" }, when: what.when, do: { kind: "reset" } });
      case "answer":
        return void images.sandbox.faults.add({
          match: { path: "import" },
          do: { kind: "status", status: what.status },
        });
    }
  }

  async settle(): Promise<void> {
    const { images } = this;
    images.sandbox.faults.clear();
    this.#hooks.inFlight = undefined;
    // A refusal of the service ends with another content; a row of a missing file stays where it is.
    for (const [file, bytes] of this.#files) {
      if (bytes !== "spoiled")
        this.#files.set(file, images.put(file, Buffer.concat([bytes, Buffer.from(`last ${file}`)])));
    }
    for (let passes = 0; passes < 4; passes++) {
      images.clock.advance(31 * 60_000);
      await images.compare("images");
    }
  }

  check(): void {
    const { images } = this;
    const held = images.held();
    for (const [sku, file] of this.#rows) {
      const bytes = this.#files.get(file);
      const reason = bytes === undefined ? "the file is not there" : "the file is text, not an image";
      if (!Buffer.isBuffer(bytes)) {
        expect(held).toContain(`${sku}/1 source: ${reason}`);
        continue;
      }
      expect(images.contents(sku, 1).at(-1), `${sku} shows ${file}`).toBe(shaOf(bytes));
      expect(images.sentOf(sku)).toContain(shaOf(bytes));
    }
    const bad = [...this.#rows.values()].filter((file) => !Buffer.isBuffer(this.#files.get(file)));
    expect(held).toHaveLength(bad.length);
    expect(images.rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: bad.length }]);
    expect(images.holds()).toEqual([]);
  }
}

describe("whatever happens to files, rows and requests", () => {
  itSome(1)([
    ["base64", BASE64],
    ["multipart", FORM],
  ] as const)(
    "ends with each row's image on the site, or the row in quarantine for its file, sent as %s",
    async (_, settings) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 30 }), async (steps) => {
          const hooks: { inFlight: (() => void) | undefined } = { inFlight: undefined };
          const onRequest = () => {
            const { inFlight } = hooks;
            hooks.inFlight = undefined;
            inFlight?.();
          };
          const images = await startImages({ ...settings, chunk: 2 }, { sandbox: { onRequest } });
          const world = new World(images, hooks);
          // So that a refusal is a record's fault from the start.
          await world.take({ do: "put", name: "1.jpg", words: "one" });
          await world.take({ do: "row", sku: "A", name: "1.jpg" });
          await world.take({ do: "pass" });
          for (const each of steps) await world.take(each);
          await world.settle();
          world.check();
          await images.close();
        }),
        { numRuns: RUNS },
      );
    },
    60_000 + RUNS * 5_000,
  );
});
