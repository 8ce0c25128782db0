import { parseAst } from "rolldown/parseAst";

export interface Range {
  readonly start: number;
  readonly end: number;
}

interface Node extends Range {
  readonly type: string;
  readonly [key: string]: unknown;
}

/**
 * The functions and methods of a source text that have the name, `#name` where it is a private one, and what lies between
 * their braces with these.
 */
export function functionsNamed(text: string, name: string, file: string): (Range & { body: Range })[] {
  const found: (Range & { body: Range })[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    if (typeof value !== "object" || value === null || !("type" in value)) return;
    const node = value as Node;
    const body = nameOf(node) === name ? bodyOf(node) : undefined;
    if (body !== undefined)
      found.push({ start: node.start, end: node.end, body: { start: body.start, end: body.end } });
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseAst(text, { lang: "ts" }, file));
  return found;
}

function nameOf({ id, key }: Node): string | undefined {
  const named = (id ?? key) as { type?: string; name?: string } | null | undefined;
  if (named?.name === undefined) return undefined;
  return named.type === "PrivateIdentifier" ? `#${named.name}` : named.name;
}

/** Of a function itself, or of the one that a name or a member is given; none of a declaration without one. */
function bodyOf({ type, body, init, value }: Node): Node | undefined {
  if (type === "FunctionDeclaration") return (body as Node | null) ?? undefined;
  const given = (init ?? value) as Node | null | undefined;
  const isFunction = given?.type === "ArrowFunctionExpression" || given?.type === "FunctionExpression";
  return isFunction ? ((given["body"] as Node | null) ?? undefined) : undefined;
}
