import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { resolveSecret } from "./credentials.ts";
import { exampleConfig } from "./example.ts";
import { parseConfig } from "./load.ts";
import { ConfigError } from "./problems.ts";

/** Placeholder for the secret while another value is checked. */
const NEUTRAL = { "service.client_secret": "stand-in" };

/** What is wrong with one value, as the loader reports it; null where it is valid. */
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

/** The same for a client secret. */
export function secretProblemOf(secret: string): Message | null {
  const found = resolveSecret({ inline: secret, namedFile: undefined, configFile: "/config.yaml", env: {} });
  return "problem" in found ? found.problem : null;
}

/** The secret in a file, or what is wrong with it. */
export function readSecretFile(file: string): { secret: string } | { problem: Message } {
  const found = resolveSecret({ inline: undefined, namedFile: file, configFile: "/config.yaml", env: {} });
  return "problem" in found ? { problem: found.problem } : { secret: found.secret };
}
