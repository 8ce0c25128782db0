import { globSync, readFileSync } from "node:fs";
import { type Literal, literalsOf, type Variant, variantsOf } from "./literals.ts";

/** A text of the program that a person may read. */
export interface Message {
  /** `src/main.ts:12` */
  place: string;
  /** As a translator reads it: `There is no order {name}.` */
  text: string;
  /** The fixed texts around the holes. */
  literals: readonly string[];
  /** The same with something in each hole, for trying it out. */
  samples: readonly string[];
}

/** Sources without messages of their own, and why. */
const WITHOUT_MESSAGES: readonly [RegExp, string][] = [
  [/^src\/messages\//, "the translations themselves"],
  [/\/only-row\.ts$/, "a mistake of the program"],
  [/^src\/answers\//, "told in debug logs, as the cause of an error"],
  [/^src\/sandbox\//, "the stand-in service speaks as a service does"],
  [/status-words|condition-words|page-words/, "words that exist in both languages beside each other"],
  [/^src\/web\/(?!web-server)/, "pages for machines, and the status page with words of its own"],
  [/^src\/config\/(reference|example|open-questions)\.ts$/, "documents and files, which are written in English"],
  [/^src\/health\/(health|condition-traits|alert-names)\.ts$/, "names for machines, and what is typed"],
  [
    /\/(schema|feed-outbox|refused-rows|status-rows|echo-rows|observations|position-rows|remap-rows|wide-views|reconcile-rows)\.ts$/,
    "SQL only",
  ],
];

/** Texts that no person meets as a message, and why. */
const NO_MESSAGES: readonly [RegExp, string][] = [
  [
    /\b(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|PRAGMA|ATTACH|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|CASE|WHEN|WHERE|INDEXED BY|ORDER BY|IS NOT NULL)\b|ifnull\(/,
    "SQL",
  ],
  [/^\{[a-z]*\} (order_key|order_id) = \?$| AS [a-z][A-Za-z]+, /, "SQL"],
  [/^(application|text)\/|^Basic |^ --config /, "a header, or what is typed"],
  [
    /\b(not shown|are not shown|is not shown)\b(?!\))|^(ask the service, then|look at payload in) /,
    "an assumption, told in the reference only",
  ],
  [
    /^(log removed|lock removed|rate limit|hand-out lost|read owed|not found|needs you|step over|no timestamps|wrong path)$/,
    "a state word",
  ],
  [
    /^(hold|flow|quarantine|erp writes) \{[a-z]+\}|^(unread batches|refused confirms|batches without ids|refused status requests|orders blocked by the ERP|erp reads|write-ahead log|client secret|erp objects)$/,
    "the subject of an alert, a name for machines",
  ],
  [/^(orders: credentials|orders: one order|imports: credentials and subscription)$/, "the name of a check"],
  [/^(order_id (number|revision) )/, "names of columns"],
  [/^erp-bridge \{purpose\}$/, "what a digest is made for"],
  [/^(key|success|ok|status): |^\{key\}: (false|\{text\})$|^status: \{/, "quoted from an answer"],
  [/ Assumption: |^erp-bridge configuration$|No default\.$/, "a document"],
  [
    /^(erp-bridge (sync orders updates|probe --write|check --online|(approve|resume) \{)|systemctl reload)/,
    "what is typed",
  ],
  [
    /^(A write transaction was|A batch without records was|A status was planned|SQLite gave the transaction up|the secret was not resolved)/,
    "a mistake of the program itself",
  ],
  [/^(Somebody was told|The run's own record)/, "told in debug logs only"],
  [
    /^(sync orders stocks|resume imports|approve stocks|config show|config check|quarantine (list|show 17|retry --all|drop 17)|config schema > .*|(run|init) --config config\.yaml|check --online)$/,
    "an example to type",
  ],
  [/ (=|<=) [@?]/, "SQL"],
  [/^\nExample:\n|^order 1001$|^sandbox --port|^-1 hour$/, "an example to type, or a modifier of SQLite"],
  [/ → |\} again$|^as it is$/, "values before and after, or how a text is to be written"],
  [/^(tables? of the ERP|batch(es)? left to the service)$/, "the name of a count"],
  [/^(unknown error|no name)$/, "a code"],
  [
    /^(multipart\/form-data; boundary|content-disposition: form-data|content-type: \{)/,
    "the form in which an image is sent",
  ],
  [/^path, identity, size, sha256, type, problem$/, "SQL"],
  [/^A file of this request was not read\.$/, "a mistake of the program itself"],
  [/^\{name\} on \{table\}$/, "names"],
  [/^malformed database schema$/, "words of SQLite's that are looked for"],
  [/^ask the service$/, "an assumption, told in the reference only"],
];

/** Every message of the program, with the holes that the program fills. */
export function harvestMessages(): Message[] {
  const files = globSync("src/**/*.ts").sort();
  const spoken = files.filter((file) => !WITHOUT_MESSAGES.some(([without]) => without.test(file)));
  return spoken.flatMap((file) =>
    literalsOf(readFileSync(file, "utf8")).flatMap((literal) => messagesOf(file, literal)),
  );
}

function messagesOf(file: string, literal: Literal): Message[] {
  if (isSql(literal) || isDebug(literal)) return [];
  return variantsOf(literal)
    .map((variant) => messageOf(`${file}:${literal.line}`, variant))
    .filter(({ text, literals }) => isProse(literals) && !NO_MESSAGES.some(([pattern]) => pattern.test(text)));
}

function isSql({ before }: Literal): boolean {
  return /\.(prepare|exec|pragma)\($|\bfrom $|import\($/.test(before);
}

function isDebug({ before }: Literal): boolean {
  return /\blog(\(\))?\.debug\([^;]*$/.test(before);
}

/** What may stand in a hole: a number, a message, a name. */
const FILLINGS = ["7", "nothing to do", "stocks", "is missing"];

/** Two words beside each other, one of them in small letters. */
function isProse(literals: readonly string[]): boolean {
  const text = literals.join("7");
  return (
    /[A-Za-z0-9'"}][,;:.)]? [("]?[a-z0-9]/.test(text) &&
    /(^|[^A-Za-z${<])[a-z]{2,}/.test(text) &&
    !/[{};]\n|<\/|=> /.test(text)
  );
}

function messageOf(place: string, variant: Variant): Message {
  const literals: string[] = [""];
  const names: string[] = [];
  for (const part of variant) {
    if (typeof part === "string") literals[literals.length - 1] += part;
    else {
      names.push(nameOf(part.code));
      literals.push("");
    }
  }
  const filled = (fill: (name: string, isLast: boolean) => string) =>
    literals
      .map((text, index) => (index === 0 ? text : fill(names[index - 1] ?? "", index === names.length) + text))
      .join("");
  return {
    place,
    text: filled((name) => `{${name}}`),
    literals,
    samples: FILLINGS.flatMap((value) => [filled(() => value), filled((_, isLast) => (isLast ? "" : value))]),
  };
}

/** The last word of an expression: `row.reason` is a reason. */
function nameOf(code: string): string {
  const words = code.replace(/\([^()]*\)/g, "").match(/[A-Za-z]+/g) ?? [];
  return (words.at(-1) ?? "value").toLowerCase();
}
