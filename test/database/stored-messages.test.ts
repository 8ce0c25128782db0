import { expect, it } from "vitest";
import { render } from "../../src/messages/message.ts";
import { m } from "../../src/messages/messages.ts";
import { openNewStore } from "../support/new-store.ts";
import { itWhole } from "../support/whole.ts";

function begin() {
  const { store } = openNewStore();
  const count = () => store.db.prepare("SELECT count(*) FROM stored_messages").pluck().get();
  return { store, count };
}

it("a stored text is English, and can be said in Russian with the messages among its parameters", () => {
  const { store, count } = begin();
  const parts = ["A-1", m.config.more({ count: 3 })];
  const message = m.common.about({ subject: "config.yaml", text: m.common.listed({ parts }) });
  const text = store.write(() => store.textOf(message));
  expect([text, count()]).toEqual(["config.yaml: A-1, and 3 more", 1]);
  expect(store.messageOf(text)).toEqual(message);
  expect(render("ru", store.messageOf(text))).toBe("config.yaml: A-1, и ещё 3");
});

it.each([
  ["none is kept", undefined],
  ["this version does not have it", '{"id":"config.gone","params":{}}'],
  ["this version says it otherwise", '{"id":"config.more","params":{"count":4}}'],
  ["it lacks a parameter", '{"id":"common.listed","params":{}}'],
])("a text whose message cannot be used stays as it is: %s", (_what, message) => {
  const { store } = begin();
  const text = "Three more things of an earlier version.";
  if (message !== undefined)
    store.write(() => store.prepare("INSERT INTO stored_messages VALUES (?, ?)").run(text, message));
  expect(render("ru", store.messageOf(text))).toBe(text);
});

itWhole("keeps the messages that were used last", () => {
  const { store, count } = begin();
  store.write(() => {
    for (let n = 0; n < 10_050; n++) store.textOf(m.config.more({ count: n }));
  });
  expect(count()).toBe(10_000);
  expect(store.messageOf("and 49 more").id).not.toBe("config.more");
  expect(store.messageOf("and 50 more").id).toBe("config.more");
});
