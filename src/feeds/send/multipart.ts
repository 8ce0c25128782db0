import { Buffer } from "node:buffer";
import { hash } from "node:crypto";

/** One part of a form: a text field, or a file with its name and media type. */
export interface FormPart {
  name: string;
  body: Buffer;
  file?: { name: string; type: string };
}

const LINE = "\r\n";

/**
 * Encodes a form as `multipart/form-data` (RFC 7578), quoted as browsers do: in names only `"`, CR and LF are
 * percent-encoded; everything else is UTF-8.
 *
 * @param identity text unique to the form, including hashes of its files: the boundary is derived from it, so that no
 *   content can contain its own boundary, and equal forms have equal bytes.
 */
export function writeForm(parts: readonly FormPart[], identity: string): { contentType: string; body: Buffer } {
  const boundary = `erp-bridge-${hash("sha256", identity).slice(0, 40)}`;
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
