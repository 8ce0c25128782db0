import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { resolveSecret } from "./credentials.ts";
import { exampleConfig } from "./example.ts";
import { parseConfig } from "./load.ts";
import { ConfigError } from "./problems.ts";

/** Stands in for the secret while another value is looked at. */
const NEUTRAL = { "service.client_secret": "stand-in" };

/** What would be wrong with one value in the file, in the words of the reader; null where it may stand there. */
export function problemOf(key: string, value: unknown, env: NodeJS.ProcessEnv): Message | null {
  const text = exampleConfig({ ...NEUTRAL, [key]: value });
  try {
    parseConfig({ text, file: "/config.yaml", env });
    return null;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return m.common.joined({ parts: error.problems.map(({ problem }) => problem) });
  }
}

/** The same of a client secret. */
export function secretProblemOf(secret: string): Message | null {
  const found = resolveSecret({ inline: secret, namedFile: undefined, configFile: "/config.yaml", env: {} });
  return "problem" in found ? found.problem : null;
}

/** The secret that a file holds, or what is wrong with it. */
export function readSecretFile(file: string): { secret: string } | { problem: Message } {
  const found = resolveSecret({ inline: undefined, namedFile: file, configFile: "/config.yaml", env: {} });
  return "problem" in found ? { problem: found.problem } : { secret: found.secret };
}
