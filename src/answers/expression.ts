import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { addDecimals, type Decimal, formatDecimal, numberLiteral, parseDecimal, subtractDecimals } from "./decimal.ts";
import { TextSyntaxError } from "./text-syntax-error.ts";

/** A sum of columns, such as `quantity - reserved`. */
export interface Expression {
  readonly text: string;
  /** The columns used, each once, in order of appearance. */
  readonly columns: readonly string[];
  /**
   * The exact value, given each column as decimal text. A single column keeps its digits as written (`1.50`); a
   * calculated value has the shortest form. @throws ExpressionValueError where a column's text is not a number.
   */
  evaluate(column: (name: string) => string): string;
}

/** A column's text is not a number, so the row cannot be sent. */
export class ExpressionValueError extends Error {
  readonly text: Message;
  readonly column: string;

  constructor(column: string) {
    const text = m.answers.columnNotNumber({ column });
    super(String(text));
    this.text = text;
    this.name = "ExpressionValueError";
    this.column = column;
  }
}

type Node =
  | { readonly kind: "column"; readonly name: string }
  | { readonly kind: "number"; readonly value: Decimal }
  | { readonly kind: "sum"; readonly terms: readonly { readonly negative: boolean; readonly node: Node }[] };

interface Token {
  readonly kind: "name" | "number" | "sign" | "open" | "close" | "end";
  readonly text: string;
  readonly column: number;
}

/** The parser is recursive; no real expression is nested this deep. */
const NESTING_MAX = 50;

const TOKEN = /\s*(?:([\p{L}_][\p{L}\p{N}_]*)|("(?:[^"]|"")+")|([0-9]+(?:\.[0-9]+)?)|([+-])|(\()|(\))|($))/uy;

/**
 * Parses column names (plain, or `"quoted"` with `""` for a quote, as in SQL), decimal numbers, `+`, `-` and
 * parentheses.
 *
 * @throws TextSyntaxError
 */
export function parseExpression(text: string): Expression {
  const tokens = tokensOf(text);
  const columns = new Set<string>();
  const root = new Parser(tokens, columns).parse();
  return {
    text,
    columns: [...columns],
    evaluate: (column) => (root.kind === "column" ? literalOf(root.name, column) : formatDecimal(value(root, column))),
  };
}

function tokensOf(text: string): Token[] {
  const match = new RegExp(TOKEN);
  const tokens: Token[] = [];
  for (;;) {
    const from = match.lastIndex;
    const found = match.exec(text);
    const blanks = /\s*/y;
    blanks.lastIndex = from;
    const column = from + (blanks.exec(text)?.[0].length ?? 0) + 1;
    if (found === null)
      throw new TextSyntaxError(m.answers.notUnderstood({ text: text[column - 1] ?? "" }), { column: column });
    const [, name, quoted, number, sign, open, close] = found;
    if (name !== undefined) tokens.push({ kind: "name", text: name, column });
    else if (quoted !== undefined) {
      tokens.push({ kind: "name", text: quoted.slice(1, -1).replaceAll('""', '"'), column });
    } else if (number !== undefined) tokens.push({ kind: "number", text: number, column });
    else if (sign !== undefined) tokens.push({ kind: "sign", text: sign, column });
    else if (open !== undefined) tokens.push({ kind: "open", text: open, column });
    else if (close !== undefined) tokens.push({ kind: "close", text: close, column });
    else return [...tokens, { kind: "end", text: "", column }];
  }
}

class Parser {
  private readonly tokens: readonly Token[];
  private readonly columns: Set<string>;
  private at = 0;
  private nesting = 0;

  constructor(tokens: readonly Token[], columns: Set<string>) {
    this.tokens = tokens;
    this.columns = columns;
  }

  parse(): Node {
    const node = this.sum();
    const rest = this.next();
    if (rest.kind !== "end")
      throw new TextSyntaxError(m.answers.oneTooMany({ text: rest.text }), { column: rest.column });
    return node;
  }

  private sum(): Node {
    const first = this.optionalSign();
    const terms = [{ negative: first === "-", node: this.term() }];
    for (let sign = this.optionalSign(); sign !== undefined; sign = this.optionalSign()) {
      terms.push({ negative: sign === "-", node: this.term() });
    }
    const only = terms[0];
    return terms.length === 1 && only !== undefined && first === undefined ? only.node : { kind: "sum", terms };
  }

  private term(): Node {
    const token = this.next();
    if (token.kind === "name") {
      this.columns.add(token.text);
      return { kind: "column", name: token.text };
    }
    if (token.kind === "number") {
      const number = parseDecimal(token.text);
      if (number === undefined) throw new TextSyntaxError(m.answers.numberTooLong, { column: token.column });
      return { kind: "number", value: number };
    }
    if (token.kind !== "open") {
      const what = token.kind === "end" ? m.answers.expressionEnds : m.answers.noTerm({ text: token.text });
      throw new TextSyntaxError(what, { column: token.column });
    }
    this.nesting++;
    if (this.nesting > NESTING_MAX) throw new TextSyntaxError(m.answers.tooManyParentheses, { column: token.column });
    const inner = this.sum();
    const close = this.next();
    if (close.kind !== "close") throw new TextSyntaxError(m.answers.noClosingParenthesis, { column: close.column });
    this.nesting--;
    return inner;
  }

  private optionalSign(): string | undefined {
    const token = this.tokens[this.at];
    return token?.kind === "sign" ? this.next().text : undefined;
  }

  private next(): Token {
    const token = this.tokens[Math.min(this.at, this.tokens.length - 1)];
    this.at++;
    return token ?? { kind: "end", text: "", column: 1 };
  }
}

function literalOf(name: string, column: (name: string) => string): string {
  const literal = numberLiteral(column(name));
  if (literal === undefined) throw new ExpressionValueError(name);
  return literal;
}

function value(node: Node, column: (name: string) => string): Decimal {
  if (node.kind === "number") return node.value;
  if (node.kind === "column") {
    const decimal = parseDecimal(column(node.name));
    if (decimal === undefined) throw new ExpressionValueError(node.name);
    return decimal;
  }
  let total: Decimal = { coefficient: 0n, scale: 0 };
  for (const { negative, node: term } of node.terms) {
    total = negative ? subtractDecimals(total, value(term, column)) : addDecimals(total, value(term, column));
  }
  return total;
}
