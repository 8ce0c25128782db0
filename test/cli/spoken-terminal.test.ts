import { describe, expect, it } from "vitest";
import { spokenTerminal } from "../../src/cli/spoken-terminal.ts";
import type { PlainTerminal } from "../../src/cli/terminal.ts";
import { m } from "../../src/messages/messages.ts";

function collect(input?: PlainTerminal["input"]): { plain: PlainTerminal; out: string[]; err: string[] } {
  const [out, err]: [string[], string[]] = [[], []];
  const plain: PlainTerminal = {
    env: {},
    isTerminal: false,
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    ...(input === undefined ? {} : { input }),
  };
  return { plain, out, err };
}

describe("a terminal that speaks", () => {
  it("says results and messages, and leaves alone what is to stay as it is", () => {
    const { plain, out, err } = collect();
    const terminal = spokenTerminal(plain, "ru", false);
    terminal.out(m.common.nothingToDo);
    terminal.out(m.common.nothingToDo, "as it is");
    terminal.err(m.restore.nothingChanged);
    terminal.err(m.restore.nothingChanged, "as it is");
    expect(out).toEqual(["делать нечего", "nothing to do"]);
    expect(err).toEqual(["Ничего не изменено.", "Nothing was changed."]);
  });

  it("puts messages into the words of the language, and gives programs the English text", () => {
    const message = m.common.indented({ text: m.config.more({ count: 3 }) });
    const { plain, out, err } = collect();
    const terminal = spokenTerminal(plain, "ru", false);
    terminal.out(message);
    terminal.err(message);
    terminal.speak("en");
    terminal.out(message);
    spokenTerminal(plain, "ru", true).out(message);
    expect(out).toEqual(["  и ещё 3", "  and 3 more", "  and 3 more"]);
    expect(err).toEqual(["  и ещё 3"]);
  });

  it("gives programs their results as they are, and people their messages", () => {
    const { plain, out, err } = collect();
    const terminal = spokenTerminal(plain, "ru", true);
    terminal.out(m.common.nothingToDo);
    terminal.err(m.restore.nothingChanged);
    expect(out).toEqual(["nothing to do"]);
    expect(err).toEqual(["Ничего не изменено."]);
  });

  it("goes over to another language for all that follows", () => {
    const { plain, out } = collect();
    const terminal = spokenTerminal(plain, "ru", false);
    const { out: tell } = terminal;
    terminal.speak("en");
    tell(m.common.nothingToDo);
    terminal.speak("ru");
    tell(m.common.nothingToDo);
    expect(out).toEqual(["nothing to do", "делать нечего"]);
  });

  it("asks in the language, and looks whether somebody is there only when something is asked", async () => {
    const asked: string[] = [];
    let looks = 0;
    const { plain } = collect({
      get isInteractive() {
        looks += 1;
        return true;
      },
      ask: async (question) => {
        asked.push(question);
        return "y";
      },
      askSecret: async (question) => {
        asked.push(question);
        return "secret";
      },
      readAll: async () => "all",
    });
    const { input } = spokenTerminal(plain, "ru", false);
    expect(looks).toBe(0);
    expect(input?.isInteractive).toBe(true);
    await input?.ask(m.restore.goOn);
    await input?.askSecret(m.init.askSecret);
    expect(asked).toEqual(["Продолжить? [y/N] ", "Client Secret (не показывается): "]);
  });
});
