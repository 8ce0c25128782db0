import { describe, expect, it } from "vitest";
import { localeLanguage } from "../../src/messages/locale.ts";
import { speaking } from "../../src/messages/render.ts";
import { RUSSIAN } from "../../src/messages/russian.ts";
import { type Catalogue, Translator } from "../../src/messages/translator.ts";

function translator(catalogue: Catalogue): Translator {
  return new Translator([catalogue]);
}

describe("saying a message in another language", () => {
  it("keeps what the program put into the message", () => {
    const { say } = bound({ "There is no order {name}.": "Заказа {name} нет." });
    expect(say("There is no order A-17.")).toBe("Заказа A-17 нет.");
  });

  it("leaves alone what it does not know", () => {
    const { say } = bound({ "There is no order {name}.": "Заказа {name} нет." });
    for (const text of ["", "There is no batch 4.", "Заказа нет.", "{}", "a".repeat(100_000)])
      expect(say(text)).toBe(text);
  });

  it("takes the form of a word that fits its number", () => {
    const { say } = bound({ "{n#} order[s] stored": "{n} {n:заказ сохранён|заказа сохранены|заказов сохранено}" });
    expect(["1 order stored", "2 orders stored", "5 orders stored", "21 orders stored"].map(say)).toEqual([
      "1 заказ сохранён",
      "2 заказа сохранены",
      "5 заказов сохранено",
      "21 заказ сохранён",
    ]);
    expect(say("no orders stored")).toBe("no orders stored");
  });

  it("prefers the entry that fixes more of the message, in whatever order they stand", () => {
    const general = { "{file} is damaged.": "{file}: повреждено." };
    const special = { "The copy of {file} is damaged.": "Копия {file} повреждена." };
    for (const catalogue of [
      { ...general, ...special },
      { ...special, ...general },
    ]) {
      const { say } = bound(catalogue);
      expect(say("The copy of a.db is damaged.")).toBe("Копия a.db повреждена.");
      expect(say("a.db is damaged.")).toBe("a.db: повреждено.");
    }
  });

  it("lets no value reach over the end of a sentence", () => {
    const { say } = bound({ "{file} is damaged.": "{file}: повреждено.", "All is well.": "Всё хорошо." });
    expect(say("All is well. The index of a.db is damaged.")).toBe("Всё хорошо. The index of a.db: повреждено.");
    expect(say("Something went on. a.db is damaged.")).toBe("Something went on. a.db: повреждено.");
  });

  it("gives words of the service back whole, however much they look like ours", () => {
    const { say } = bound({ "{path=} was answered with {status#}: {words*}": "{path}: ответ {status}: {words}" });
    const words = "it was answered with 5: no. All is well.";
    expect(say(`/orders was answered with 500: ${words}`)).toBe(`/orders: ответ 500: ${words}`);
  });

  it("takes what follows a message for a message of its own before it takes it for words of others", () => {
    const { say } = bound({
      "It failed: {why~}.": "Не удалось: {why}.",
      "at {place} stands {what*}": "в {place} стоит {what}",
      "Put it right.": "Исправьте это.",
    });
    expect(say("It failed: at $ stands a, b. Put it right.")).toBe("Не удалось: в $ стоит a, b. Исправьте это.");
    expect(say("It failed: EIO. Ask somebody.")).toBe("Не удалось: EIO. Ask somebody.");
  });

  it("says the message inside a message, and only where it is one", () => {
    const { say } = bound({
      "Not done: {why~}": "Не сделано: {why}",
      "the disk is full": "диск заполнен",
      "Stopped because {why!}": "Остановлено: {why}",
    });
    expect(say("Not done: the disk is full")).toBe("Не сделано: диск заполнен");
    expect(say("Not done: EIO")).toBe("Не сделано: EIO");
    expect(say("Stopped because the disk is full")).toBe("Остановлено: диск заполнен");
    expect(say("Stopped because of me")).toBe("Stopped because of me");
  });

  it("goes through a text line by line and keeps what stands before a line", () => {
    const { say } = bound({ "all is well": "всё хорошо", "nothing waits": "ничто не ждёт" });
    expect(say("all is well\n  nothing waits\n\tsomething else\n")).toBe(
      "всё хорошо\n  ничто не ждёт\n\tsomething else\n",
    );
  });

  it("says nothing else in English", () => {
    expect(speaking("en")("There is no order A-17.")).toBe("There is no order A-17.");
  });

  it("gives up on a hostile text before long", () => {
    const say = speaking("ru");
    const patterns = ["is missing, ", "nothing to do: ", "(a; b), {c}: ", "a. B ", "1 created, x", "! - "];
    for (const pattern of patterns) {
      for (const times of [10, 100, 1_000]) expect(say(pattern.repeat(times)).length).toBeGreaterThan(times);
    }
  });

  it("goes through ten thousand lines without looking at every entry for each", () => {
    const say = speaking("ru");
    const line = (n: number) =>
      `request ${n} of an unknown kind took ${n % 7} ms (code=${n}, path=/api/v1/orders/${n})`;
    for (let n = 0; n < 10_000; n++) expect(say(line(n))).toBe(line(n));
  });
});

function bound(catalogue: Catalogue): { say: (text: string) => string } {
  const speaker = translator(catalogue);
  return { say: (text) => speaker.say(text) };
}

describe("the Russian catalogue", () => {
  const say = speaking("ru");

  it("tells a job's failure with the service's words in it", () => {
    expect(say("orders: the service refuses the credentials (GET /api/v1/1c/orders was answered with 401: no).")).toBe(
      "orders: сервис не принимает учётные данные (GET /api/v1/1c/orders: ответ 401: no).",
    );
  });

  it("tells it also where a command puts its own words before it", () => {
    const failure = "the service cannot be reached (GET /api/v1/1c/orders did not reach the service (ECONNREFUSED))";
    expect(say(`orders: failed: ${failure}.`)).toBe(
      "orders: сбой: нет связи с сервисом (GET /api/v1/1c/orders: не дошёл до сервиса (ECONNREFUSED)).",
    );
    expect(say("orders: failed: something nobody knows.")).toBe("orders: failed: something nobody knows.");
  });

  it("tells what follows a fact apart from the value in it", () => {
    expect(say("GET /orders/updates keeps its changes under $.updates, as configured")).toBe(
      "в GET /orders/updates изменения лежат в $.updates, как в настройках",
    );
  });

  it("tells a pass by its counts", () => {
    expect(say("orders: 2 batches, 7 created, 2 confirmed.")).toBe("orders: пачек: 2, новых: 7, подтверждено: 2.");
  });

  it("tells what the machine has done to the database", () => {
    expect(say("Writing to the database: the disk of /var/lib is full (/var/lib/b.db, SQLITE_FULL).")).toBe(
      "Запись в базу: диск каталога /var/lib заполнен (/var/lib/b.db, SQLITE_FULL).",
    );
  });

  it("keeps each value of a message in its translation", () => {
    const lost = RUSSIAN.flatMap((catalogue) => Object.entries(catalogue)).filter(([key, russian]) => {
      const names = [...key.matchAll(/\{([a-z]+)[=#*~!]?\}/g)].map((match) => match[1]);
      return names.some((name) => !russian.includes(`{${name}`));
    });
    expect(lost).toEqual([]);
  });

  it("says one thing in one way", () => {
    const keys = RUSSIAN.flatMap((catalogue) => Object.keys(catalogue));
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  });
});

describe("the language of the surroundings", () => {
  it("is the first of the three variables that is set", () => {
    expect(localeLanguage({})).toBe("en");
    expect(localeLanguage({ LANG: "ru_RU.UTF-8" })).toBe("ru");
    expect(localeLanguage({ LANG: "ru" })).toBe("ru");
    expect(localeLanguage({ LANG: "run" })).toBe("en");
    expect(localeLanguage({ LC_ALL: "C", LANG: "ru_RU.UTF-8" })).toBe("en");
    expect(localeLanguage({ LC_ALL: "", LC_MESSAGES: "ru_RU", LANG: "en_US" })).toBe("ru");
  });
});
