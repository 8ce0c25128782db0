import { describe, expect, it } from "vitest";
import { speaking } from "../../src/messages/message.ts";
import { m } from "../../src/messages/messages.ts";
import { createLogger, type LoggerOptions, logForm } from "../../src/platform/logger.ts";
import { secretFilter } from "../../src/platform/secrets.ts";
import { words } from "../support/messages.ts";

function collect(
  form: "journal" | "json" | "text",
  level: "debug" | "info" = "info",
  more: Partial<LoggerOptions> = {},
) {
  const lines: string[] = [];
  const log = createLogger({
    level,
    form,
    hideSecrets: secretFilter("shop", "s3cret-value"),
    write: (line) => void lines.push(line),
    ...more,
  });
  return { log, lines };
}

describe("the log", () => {
  it("carries journald's priority on each line, the sentence first and the fields after it", () => {
    const { log, lines } = collect("journal");
    log.info({ job: "orders", created: 3 }, words("orders: 3 created."));
    log.error({}, m.common.lines({ lines: ["config.yaml:1:1 is wrong", "    log: loud"] }));
    expect(lines).toEqual([
      "<6>orders: 3 created. (job=orders created=3)\n",
      "<3>config.yaml:1:1 is wrong\n<3>    log: loud\n",
    ]);
  });

  it("puts messages into words for people, and has their ids beside the English text in JSON", () => {
    const message = m.config.more({ count: 3 });
    const forms = (["journal", "text", "json"] as const).map((form) => collect(form, "info", { say: speaking("ru") }));
    for (const { log } of forms) log.info({ job: "orders", hint: message }, message);
    const [journal, text, json] = forms.map(({ lines }) => lines[0] ?? "");
    expect(journal).toBe("<6>и ещё 3 (job=orders hint=и ещё 3)\n");
    expect(text).toMatch(/ info {2}и ещё 3 \(job=orders hint=и ещё 3\)\n$/);
    expect(JSON.parse(json ?? "")).toMatchObject({ msg: "and 3 more", message: "config.more", hint: "and 3 more" });
  });

  it("hides a secret in a sentence that was said in another language", () => {
    const { log, lines } = collect("text", "info", { say: speaking("ru") });
    log.error({}, m.pass.refusesCredentials({ what: words("s3cret-value") }));
    expect(lines[0]).toContain("сервис не принимает учётные данные (***)");
  });

  it("shows hostile text inert", () => {
    const { log, lines } = collect("text");
    log.warn({ id: "\u001b[2Jgone\r\u202e", deep: { a: "\u0007" } }, words("odd \u001b]0;title\u0007"));
    expect(lines.join("")).toMatch(
      /^\d\d:\d\d:\d\d warn {2}odd \\u001b\]0;title\\u0007 \(id= \[2Jgone {3}deep=\{"a":"\\u0007"\}\)\n$/,
    );
    const machines = collect("json");
    machines.log.warn({ id: "\u202egone" }, words("odd \u202e"));
    expect(machines.lines[0]).not.toContain("\u202e");
    expect(JSON.parse(machines.lines[0] ?? "")).toMatchObject({ id: "\u202egone", msg: "odd \\u202e" });
  });

  it.each(["journal", "json", "text"] as const)("holds no secret in the form of %s, wherever it slipped in", (form) => {
    const { log, lines } = collect(form, "debug");
    const basic = Buffer.from("shop:s3cret-value").toString("base64");
    log.debug({ header: `Basic ${basic}`, nested: { secret: "s3cret-value" } }, `asked with s3cret-value`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain("s3cret-value");
    expect(lines[0]).not.toContain(basic);
  });

  it("survives a place to write to that is gone", () => {
    const write = () => {
      throw new Error("EPIPE");
    };
    const log = createLogger({ level: "info", form: "json", hideSecrets: (text) => text, write });
    expect(() => log.info({}, words("still here"))).not.toThrow();
  });

  it("chooses its form by where it runs", () => {
    expect(logForm({ JOURNAL_STREAM: "8:1" }, false)).toBe("journal");
    expect(logForm({}, true)).toBe("text");
    expect(logForm({}, false)).toBe("json");
  });
});
