import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { loadMigrations, MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { forgetLearned, LearnedTopic } from "../../src/pass/learned-rows.ts";
import { openNewStore } from "../support/new-store.ts";

interface Taught {
  times: number;
  last?: string;
}

const TOPIC = new LearnedTopic<Taught>("forms", { times: 0 });
const OTHER = new LearnedTopic<Taught>("counts", { times: 0 });

function open() {
  const { store } = openNewStore();
  return store;
}

describe("what is learned of answers", () => {
  it("is kept by topic and endpoint, and nothing is known at first", () => {
    const store = open();
    store.write(() => TOPIC.save(store, "confirm", { times: 2, last: "ok" }));
    expect(TOPIC.load(store, "confirm")).toEqual({ times: 2, last: "ok" });
    expect([TOPIC.load(store, "/import"), OTHER.load(store, "confirm")]).toEqual([{ times: 0 }, { times: 0 }]);
    store.write(() => forgetLearned(store));
    expect(TOPIC.load(store, "confirm")).toEqual({ times: 0 });
  });

  it("is written only where it is new", () => {
    const store = open();
    store.write(() => TOPIC.save(store, "confirm", { times: 2 }));
    const changes = () => store.db.prepare("SELECT total_changes() AS n").pluck().get();
    const before = changes();
    store.write(() => TOPIC.save(store, "confirm", { times: 2 }));
    expect(changes()).toBe(before);
  });

  it("forgets the endpoints of former configurations, those saved longest ago first", () => {
    const store = open();
    store.write(() => {
      OTHER.save(store, "kept", { times: 1 });
      for (let n = 0; n < 12; n++) TOPIC.save(store, `/import/${n}`, { times: n });
      TOPIC.save(store, "/import/0", { times: 100 });
      TOPIC.save(store, "/import/12", { times: 12 });
    });
    const endpoints = TOPIC.list(store).map(({ endpoint }) => endpoint);
    expect(endpoints).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 12].map((n) => `/import/${n}`));
    expect(OTHER.load(store, "kept")).toEqual({ times: 1 });
  });

  it("is unknown where it cannot be read, and has what an earlier version did not know", () => {
    const store = open();
    store.write(() =>
      store.db.exec(
        "INSERT INTO learned_answers VALUES ('forms', 'broken', '{'), ('forms', 'older', '{\"last\":\"ok\"}')",
      ),
    );
    expect(TOPIC.load(store, "broken")).toEqual({ times: 0 });
    expect(TOPIC.load(store, "older")).toEqual({ times: 0, last: "ok" });
  });

  it("comes over from the texts in which it stood before", () => {
    const db = new Database(":memory:");
    db.exec("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT");
    const save = db.prepare("INSERT INTO meta VALUES (?, ?)");
    const counts = { "data.accepted": { sizes: [3] } };
    save.run("answers", JSON.stringify({ confirm: { known: [], counts }, "/a": { known: [1] } }));
    save.run("lists", JSON.stringify({ orders: { hasEmpty: true } }));
    save.run("learned", JSON.stringify({ pageMax: 7 }));
    save.run("account", '["url","id"]');
    const [migration] = loadMigrations(MIGRATIONS_FOLDER).filter(({ tag }) => tag.endsWith("_learned_answers"));
    for (const statement of migration?.statements ?? []) db.exec(statement);
    expect(db.prepare("SELECT topic, endpoint, learned FROM learned_answers ORDER BY rowid").raw().all()).toEqual([
      ["forms", "confirm", '{"known":[]}'],
      ["forms", "/a", '{"known":[1]}'],
      ["counts", "confirm", JSON.stringify(counts)],
      ["list", "orders", '{"hasEmpty":true}'],
      ["changes", "updates", '{"pageMax":7}'],
    ]);
    expect(db.prepare("SELECT key FROM meta").pluck().all()).toEqual(["account"]);
    db.exec("DROP TABLE learned_answers");
    save.run("answers", "{");
    save.run("learned", "no");
    for (const statement of migration?.statements ?? []) db.exec(statement);
    expect(db.prepare("SELECT count(*) FROM learned_answers").pluck().get()).toBe(0);
    db.close();
  });
});
