import { describe, expect, it } from "vitest";
import { main } from "../../src/main.ts";
import { m } from "../../src/messages/messages.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { paintFor } from "../../src/platform/paint.ts";
import { startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

const ESCAPE = "\u001b[";

/** What a command writes to a terminal, or into a pipe. */
async function written(args: readonly string[], env: NodeJS.ProcessEnv, outIsTerminal = true): Promise<string> {
  const lines: string[] = [];
  const terminal = {
    env,
    isTerminal: false,
    outIsTerminal,
    out: (text: string) => void lines.push(text),
    err: () => {},
  };
  await main(args, terminal);
  return lines.join("\n");
}

describe("colour", () => {
  itWhole("stands where a person reads on a terminal, and nowhere else", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const config = ["--config", shop.configFile];
    for (const command of ["status", "check"]) {
      const plain = await written([command, ...config], {}, false);
      const coloured = await written([command, ...config], {});
      expect(plain).not.toContain(ESCAPE);
      expect(coloured).toContain(ESCAPE);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape of colours
      expect(coloured.replaceAll(/\u001b\[\d+m/g, "").split("\n")).toHaveLength(plain.split("\n").length);
      expect(await written([command, ...config, "--no-color"], {})).not.toContain(ESCAPE);
      expect(await written([command, ...config], { NO_COLOR: "1" })).not.toContain(ESCAPE);
      expect(await written([command, ...config], { TERM: "dumb" })).not.toContain(ESCAPE);
      expect(await written([command, ...config, "--json"], {})).not.toContain(ESCAPE);
    }
  });

  it("of the log marks warnings and errors for a person, never for the journal or a machine", () => {
    const line = (form: "text" | "journal" | "json") => {
      const lines: string[] = [];
      const paint = paintFor({}, { isTerminal: true });
      const log = createLogger({
        level: "info",
        form,
        hideSecrets: (text) => text,
        write: (text) => lines.push(text),
        paint,
      });
      log.warn({}, m.restore.nothingChanged);
      return lines.join("");
    };
    expect(line("text")).toContain(`${ESCAPE}33mwarn `);
    expect(line("journal") + line("json")).not.toContain(ESCAPE);
  });
});
