import { createHash } from "node:crypto";

/** One part of a form; `file` where it has a file's name. */
export interface FormPart {
  readonly name: string;
  readonly fileName: string | undefined;
  readonly type: string;
  readonly body: Buffer;
}

/** The parts of a `multipart/form-data` body, or an error text. */
export function readForm(contentType: string, body: Buffer): readonly FormPart[] | string {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return "the form names no boundary";
  const line = Buffer.from(`--${boundary}`);
  const parts: FormPart[] = [];
  if (!body.subarray(0, line.length).equals(line)) return "the form does not begin with its boundary";
  for (let at = line.length; ; ) {
    const after = body.toString("latin1", at, at + 2);
    if (after === "--") return parts;
    if (after !== "\r\n") return "a boundary is followed by something else";
    const headEnd = body.indexOf("\r\n\r\n", at);
    const end = headEnd === -1 ? -1 : body.indexOf(Buffer.concat([Buffer.from("\r\n"), line]), headEnd + 2);
    if (end === -1) return "the form breaks off";
    const part = readPart(body.toString("utf8", at + 2, headEnd), body.subarray(headEnd + 4, end));
    if (typeof part === "string") return part;
    parts.push(part);
    at = end + 2 + line.length;
  }
}

function readPart(head: string, body: Buffer): FormPart | string {
  const headers = new Map(
    head.split("\r\n").map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const disposition = headers.get("content-disposition") ?? "";
  const [, name] = /^form-data;.*?\bname="([^"]*)"/i.exec(disposition) ?? [];
  if (name === undefined) return "a part of the form has no name";
  const [, fileName] = /;\s*filename="([^"]*)"/i.exec(disposition) ?? [];
  return {
    name: unescaped(name),
    fileName: fileName === undefined ? undefined : unescaped(fileName),
    type: headers.get("content-type") ?? "text/plain",
    body,
  };
}

function unescaped(text: string): string {
  return text.replaceAll("%22", '"').replaceAll("%0D", "\r").replaceAll("%0A", "\n");
}

/** How the ledger and the site store a file: its description, not its bytes. */
export function fileText(bytes: Buffer, more: { name?: string | undefined; type?: string } = {}): string {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return JSON.stringify({ ...more, size: bytes.length, sha256 });
}

/** A form as the JSON text of a record: fields as texts, the file as its description. */
export function recordOfForm(parts: readonly FormPart[]): string {
  const members = parts.map(({ name, fileName, type, body }) => {
    const text =
      fileName === undefined ? JSON.stringify(body.toString("utf8")) : fileText(body, { name: fileName, type });
    return `${JSON.stringify(name)}:${text}`;
  });
  return `{${members.join(",")}}`;
}

/** The bytes of a base64 text, with or without the prefix `data:…;base64,`; undefined for anything else. */
export function bytesOfBase64(text: string): Buffer | undefined {
  const plain = text.replace(/^data:[^,]*;base64,/, "");
  const bytes = Buffer.from(plain, "base64");
  return plain !== "" && bytes.toString("base64") === plain ? bytes : undefined;
}
