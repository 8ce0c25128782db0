/*
 * Expands `${VAR}` and `${VAR:-default}` inside a value, after parsing, so that a variable never changes the structure.
 */

import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

const REFERENCE = /\$\{([^}]*)(\}|$)/g;
const FORM = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

export type Expansion = { text: string } | { problem: Message };

export function hasReference(text: string): boolean {
  return text.includes("${");
}

/** The default replaces an unset or empty variable. Messages name the variable, never its value. */
export function expandVariables(text: string, env: NodeJS.ProcessEnv): Expansion {
  const problems = new Map<string, Message>();
  const expanded = text.replace(REFERENCE, (_, inside: string, end: string) => {
    const [, variable, standard] = FORM.exec(inside) ?? [];
    if (end === "" || variable === undefined) {
      problems.set("", m.config.badVariable);
      return "";
    }
    const value = Object.hasOwn(env, variable) ? env[variable] : undefined;
    if (standard !== undefined) return value === undefined || value === "" ? standard : value;
    if (value === undefined) problems.set(variable, m.config.variableNotSet({ variable }));
    return value ?? "";
  });
  return problems.size === 0 ? { text: expanded } : { problem: m.common.joined({ parts: [...problems.values()] }) };
}
