import { type ConfigKey, describeConfig } from "../../src/config/describe.ts";
import { inline } from "../../src/config/example.ts";
import type { Message } from "../../src/messages/message.ts";
import { OPEN_QUESTIONS } from "./open-questions.ts";

/** The words around the keys. */
export interface ReferenceWords {
  head: string;
  columns: readonly [key: string, type: string, standard: string, meaning: string];
  required: string;
  none: string;
  sameKeys: string;
  sources: string;
  otherDefaults: string;
  imagesAlone: string;
  images: string;
  assumed: string;
  say: (message: Message) => string;
  /** Of what is written in English beside a key. */
  text: (english: string) => string;
}

const HEAD = `# Configuration

[Русский](configuration.ru.md)

<!-- Written by scripts/write-config-docs.ts from src/config; do not edit by hand. -->

One YAML file, \`/etc/erp-bridge/config.yaml\` unless another one is named. \`erp-bridge init\` writes one with every key explained
(the same as \`config/config.example.yaml\`), \`erp-bridge check\` reads it and shows all its errors at once,
\`erp-bridge config show\` prints what is in effect, and \`erp-bridge config schema\` prints a JSON Schema for editors.

- Unknown and duplicate keys, wrong units and wrong types are errors. A group without keys stands for its defaults. The file that \`init\` writes has every
  group: put new keys into it.
- YAML 1.2: \`yes\`, \`no\`, \`on\` and \`off\` are text. UTF-8 without a byte order mark, at most 1 MB, no tabs for indenting.
- \`\${VAR}\` and \`\${VAR:-default}\` work inside values, after parsing, so a variable never changes the structure. In quotes
  where braces would otherwise begin a group: \`{ connect: "\${CONNECT:-5s}" }\`. A variable that is not set is an error.
- Durations are a whole number and \`ms\`, \`s\`, \`m\`, \`h\`, \`d\` or \`y\` (365 days). Sizes are a whole number and \`B\`, \`KB\`, \`MB\`,
  \`GB\` (thousands) or \`KiB\`, \`MiB\`, \`GiB\` (1024).
- Schedules are cron of five or six fields (seconds first) in the zone of \`timezone\`, this machine's unless written. An hour that summer
  time leaves out or repeats changes nothing: what has a fixed hour runs once, everything else keeps its distance.
- Paths into answers are SQLite's JSON paths: \`$\`, \`.key\`, \`."any key"\`, \`[n]\`. A path that is written in the file must match;
  one that is only a default may be absent from answers.
- Templates take \`{name}\`, converted by \`{name|number}\`, \`|string\`, \`|json\` or \`|bool\`; a text that is exactly one placeholder
  keeps its JSON type. A literal brace is written twice: \`{{\`.
- Places on disk may be relative to the configuration file.
- The secret comes from \`client_secret\`, from \`client_secret_file\`, or, with neither, from the systemd credential
  \`client-secret\`. A line break at the end of the file is not part of it.

**†** marks a default that assumes something about the service: see
[what is assumed](#what-is-assumed-about-the-service-and-how-to-find-out).
`;

const SOURCES = `### Where rows may come from, and what that costs

- **A table of the bridge's own database** is the cheapest: triggers note the keys that any program touches, and only those
  are looked at. The nightly \`compare\` is the backstop. Without an index over the key's columns a table of more than 200,000 rows
  is read like a view: make one.
- **A view of it, a \`query\`, or anything in another \`file\`** has no triggers. All of its rows are read at every run of the
  schedule, hashed and compared with the hashes of what was taken up before: about 10 s of one processor core for each million
  rows, some 100 bytes of the database for each row, and 40 MB of memory for each million while they are read. A view that
  joins or sorts costs what SQLite needs for it besides. Give a feed of many rows a schedule that fits, such as \`*/10 * * * *\`.
- A \`file\` is opened for reading only, anew at every run, so that a file that was replaced is met as it is. Not in WAL mode, programs that
  write the file wait while it is read; \`check\` says so.
- In WAL mode the writers of a \`file\` notice nothing. SQLite keeps a log and its index (\`-wal\`, \`-shm\`) beside the file, so the user of
  erp-bridge needs the right to write its folder. Whoever opens the file first makes them: with the mode of the file, and with the group of the
  folder if that has setgid. Where the writers are another user, give both a group in common, to the file and the folder: \`chgrp GROUP\` for both,
  \`chmod 660\` for the file, \`chmod g+s\` for the folder, and \`umask 007\` in the writers. Without that a log made by erp-bridge would end
  the writes of the others, so it reads the file only while one of them has it open; otherwise the feed is held, and \`check\` and \`status\`
  [say so](trouble.md#table_missing). Access control lists are not taken into account.
- \`erp.write_within\` has no effect on a view, on a \`query\` without \`file\`, and on a table that is read like a view: their values are
  seen, and not when the ERP writes. Of a table and of a \`file\` [each write counts](operations.md#the-erp-has-not-written-its-table-of-feed-for-n-min).
- A reading that breaks off, or a source that is gone, locked or lacks a column, sends nothing and deletes nothing.
- Rows that name another one as their \`parent\` go after it was accepted, or refused: the service then decides whether it takes them without it. A later
  change of that one is not waited for. What takes an article off sale waits for none.
- A key that stands twice is quarantined with both rows, and neither is sent.
- A row with more than 16 MB in the columns that are sent is not read: it is quarantined alone, with its size. So is a row whose record
  would be longer than 16 million characters. Where rows are large, a request ends with the record that makes it exceed 16 MB, whatever \`chunk\` allows.
- Another \`key\`, \`table\`, \`query\`, \`file\`, \`record\`, \`parent\` or \`scope\` takes nothing off sale: everything is compared with what was
  sent. Under another \`key\` what was sent is named anew first: by the row whose record says the same where the former key stood, by the
  former columns where the source still has them and the row's record names no other article, or by the template read backwards.
  What the source then lacks goes away as any row
  does, after \`delete_after\` and counted by the guard. Of what cannot be named, nothing is sent until
  [a person decides](operations.md#feed-n-rows-on-the-site-cannot-be-named-by-the-new-key-keys).
- Where a row's new record names another article than the one that was sent (the ERP has written another article into the row,
  has given its id to another one, or the template was changed), the former article goes away as any row does: with \`on_delete\`,
  after \`delete_after\` and counted by the guard, unless a row of the source names it by then. Until then
  \`erp-bridge approve FEED --former list\` shows it. Nor does a deleted row send anything whose article another row names: what the site
  has of it counts as that row's, which the guard counts where it goes to zero, and which goes away with it should it never be accepted. Where the
  deleted one was sent last, the other one goes again, also with \`on_delete: ignore\` (not in \`images\`; from a view, a query or
  another file after the nightly \`compare\`). Of two rows that name one article at the same time the one that was sent last
  counts: \`check\` says so where the record has only a part of the key.
  What names an article is \`sku\` with \`warehouse\`, \`price_type\` and \`position\`
  beside it, as far as columns make them. In a record without \`sku\` it is the properties made of key columns; where a key column
  is in none, also the property that \`result.key\` names, or the only other one that is neither a number to sell, a price nor a
  switch. Where several are left, the article is not known: put the column that names it into \`key\`.
- Values that have not changed go once more in two cases, because a service may have ignored or replaced them. Once it accepts an article of \`catalog\`
  that it did not have, or one that was off sale (\`on_delete\`) and is on sale, what was sent of its stock, prices and images goes again: a first load sends stock and prices twice. Once it accepts a row
  that was deleted from the source, rows on sale with the same article in another spelling (case, accents, characters that are not shown, blanks around it), in \`stocks\` also in
  another warehouse, go again right after it. A deleted row whose 0 was sent after theirs sends it again for that.
- With \`on_delete: ignore\` nothing takes a deleted row off the site, so what was sent under its key is kept: the row may come
  back. It is kept no longer once another row names its article, which then has it. In \`images\`, and where the article is not known, what
  is kept grows by the whole table each time that the ERP fills it under other keys (a running number): put a column that keeps its
  value, the article's number, into \`key\`.
- A table that is sent whole (\`scope: whole\`) is always complete: parents stand before their children in the same request. One record that the
  service refuses keeps the whole table from the site, unless its answers name the refused records (\`result\`; with any 2xx, 400, 413 or 422): \`status\` shows the hold.
`;

const IMAGES = `A row of \`images\` names its image in \`source\`. With \`send: url\` rows are sent as they stand, addresses are never fetched, and a source
that is sent alone must be an address; a record such as \`{ url: "https://shop.example/photos/{source}" }\` makes one of a name.
With \`base64\` and \`multipart\` it must be a file: one below \`folder\`, read from there only. It is sent when its content (SHA-256)
is new for its row, and looked at again every night and whenever its row is written (a row of a view, a query or another file
whenever it has changed: one that is written as it was is not seen there); what was refused for its file is looked
at in each pass. Beside the columns \`record\` may then hold \`{file.base64}\`, \`{file.name}\`, \`{file.type}\`, \`{file.size}\` and
\`{file.sha256}\`; wherever records are kept or shown, \`sha256:…\` stands for the bytes. A row of the other kind is quarantined, and
so is a file that is missing, too large, of another type or outside the folder. What a deleted row sends has null in the place
of its file. A form is one image a request: \`chunk\` and \`property\` mean nothing then.`;

const IMAGES_EXAMPLE = `\`\`\`yaml
imports:
  images:
    path: /api/v1/import/images
    send: base64
    folder: /srv/shop/photos
    record: { sku: "{sku}", position: "{position|number}", alt: "{alt}", name: "{file.name}", content: "{file.base64}" }
\`\`\``;

const FEEDS = ["prices", "catalog", "images"] as const;

const ASSUMED = `## What is assumed about the service, and how to find out

The interface document leaves these questions open; each default below is a guess. An answer whose shape does not match
is an error that names the path tried and the keys seen, and is never acted on. So is an empty list beside which the answer holds
records, a count above 0 or a next page, unless the service says so in any answer: what is usual is learned. Other wrong guesses are quiet: a status
name that never appears, a field that only stays empty, reserves that are subtracted twice. Look at those before the
first real use.
`;

const ENGLISH: ReferenceWords = {
  head: HEAD,
  columns: ["Key", "Type", "Default", "Meaning"],
  required: "required",
  none: "none",
  sameKeys: "`stocks`, `prices`, `catalog` and `images` take the same keys.",
  sources: SOURCES,
  otherDefaults: "Other defaults of prices, catalog and images",
  imagesAlone: "Keys of images alone",
  images: IMAGES,
  assumed: ASSUMED,
  say: String,
  text: (english) => english,
};

/** The reference of every key, as Markdown. */
export function configReference(words: ReferenceWords = ENGLISH): string {
  return new Reference(words).whole();
}

class Reference {
  readonly #words: ReferenceWords;
  readonly #keys: readonly ConfigKey[];

  constructor(words: ReferenceWords) {
    this.#words = words;
    this.#keys = describeConfig(words.say);
  }

  whole(): string {
    const tops = this.#keys.filter(({ path }) => !path.includes("."));
    const parts = tops.map((top) => (top.path === "imports" ? this.#feedsPart(top) : this.#sectionPart(top)));
    return [this.#words.head, ...parts, this.#assumedPart()].join("\n");
  }

  #below(path: string): ConfigKey[] {
    return this.#keys.filter((key) => key.path.startsWith(`${path}.`) && !key.section);
  }

  #sectionPart(top: ConfigKey): string {
    if (!top.section) return `## ${top.path}\n\n${this.#table([top], "")}`;
    return `## ${top.path}\n\n${top.meaning}\n\n${this.#table(this.#below(top.path), `${top.path}.`)}`;
  }

  /** The four feeds take the same keys, so only their defaults are set side by side. */
  #feedsPart(top: ConfigKey): string {
    const words = this.#words;
    const stocks = this.#below("imports.stocks");
    const byPath = new Map(this.#keys.map((key) => [key.path, key]));
    const others = stocks.flatMap((key) => {
      const name = key.path.replace("imports.stocks.", "");
      const defaults = FEEDS.map((feed) => this.#defaultText(byPath.get(`imports.${feed}.${name}`)));
      return defaults.every((text) => text === this.#defaultText(key)) ? [] : [row([`\`${name}\``, ...defaults])];
    });
    const own = this.#below("imports.images").filter(
      ({ path }) => !byPath.has(path.replace("imports.images.", "imports.stocks.")),
    );
    const header = [row([words.columns[0], ...FEEDS.map((feed) => `\`${feed}\``)]), row(["---", "---", "---", "---"])];
    return [
      `## ${top.path}\n\n${top.meaning} ${words.sameKeys}\n`,
      `### imports.stocks\n\n${this.#table(stocks, "imports.stocks.")}`,
      words.sources,
      `### ${words.otherDefaults}\n\n${[...header, ...others].join("\n")}\n`,
      `### ${words.imagesAlone}\n\n${words.images}\n\n${IMAGES_EXAMPLE}\n\n${this.#table(own, "imports.images.")}`,
    ].join("\n");
  }

  #table(keys: readonly ConfigKey[], prefix: string): string {
    const rows = keys.map((key) =>
      row([
        `\`${key.path.slice(prefix.length)}\`${key.assumption === undefined ? "" : " †"}`,
        cell(key.type),
        key.required ? this.#words.required : this.#defaultText(key),
        cell(key.meaning),
      ]),
    );
    return `${[row(this.#words.columns), row(["---", "---", "---", "---"]), ...rows].join("\n")}\n`;
  }

  #defaultText(key: ConfigKey | undefined): string {
    return key?.default === undefined ? this.#words.none : `\`${inline(key.default).replaceAll("|", "\\|")}\``;
  }

  #assumedPart(): string {
    const { say, text, assumed } = this.#words;
    const parts = OPEN_QUESTIONS.map(({ question, keys: patterns, note }) => {
      const lines = this.#assumptionLines(patterns);
      return [`### ${say(question)}`, "", text(note), ...(lines.length === 0 ? [] : ["", ...lines]), ""].join("\n");
    });
    return `${assumed}\n${parts.join("\n")}`;
  }

  /** One line a text: keys that say the same share it. */
  #assumptionLines(patterns: readonly string[]): string[] {
    const forms = patterns.map((text) => new RegExp(`^${text.replaceAll(".", "\\.").replace("*", "[a-z]+")}$`));
    const assumed = this.#keys.filter(
      ({ assumption, path }) => assumption !== undefined && forms.some((form) => form.test(path)),
    );
    const byText = Map.groupBy(assumed, (key) => this.#words.text(key.assumption ?? ""));
    return [...byText].map(([text, group]) => `- ${group.map((key) => `\`${key.path}\``).join(", ")}: ${text}`);
  }
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
