import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

/** One part of a form: a field of text, or a file with its name and its media type. */
export interface FormPart {
  name: string;
  body: Buffer;
  file?: { name: string; type: string };
}

const LINE = "\r\n";

/**
 * A form as `multipart/form-data` (RFC 7578), quoted as browsers do: in names only `"`, CR and LF are escaped, by
 * percent signs, and everything else is UTF-8. The boundary is a hash of what it separates, so that no content can hold
 * it and the same form is always the same bytes.
 */
export function writeForm(parts: readonly FormPart[]): { contentType: string; body: Buffer } {
  const digest = createHash("sha256");
  for (const { name, body, file } of parts) {
    digest.update(JSON.stringify([name, file?.name, file?.type, body.length]));
    digest.update(body);
  }
  const boundary = `erp-bridge-${digest.digest("hex").slice(0, 40)}`;
  const pieces = parts.flatMap((part) => [Buffer.from(`--${boundary}${LINE}${headOf(part)}`), part.body, END_OF_PART]);
  const body = Buffer.concat([...pieces, Buffer.from(`--${boundary}--${LINE}`)]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}

const END_OF_PART = Buffer.from(LINE);

function headOf({ name, file }: FormPart): string {
  const fileName = file === undefined ? "" : `; filename="${quoted(file.name)}"`;
  const type = file === undefined ? "" : `content-type: ${file.type}${LINE}`;
  return `content-disposition: form-data; name="${quoted(name)}"${fileName}${LINE}${type}${LINE}`;
}

function quoted(text: string): string {
  return text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}
