/**
 * Replaces every form in which the credentials travel by `***`: as they are and in the base64 of the Basic header, each
 * also URL-encoded and JSON-escaped. Used wherever foreign text (an answer, an error) enters a message, a log or the
 * database, because a service or a proxy may echo what it was sent.
 */
export function secretFilter(clientId: string, clientSecret: string): (text: string) => string {
  const encoded = [clientSecret, `${clientId}:${clientSecret}`].map((text) => Buffer.from(text, "utf8"));
  const forms = new Set(
    // the padding of base64 is hidden with it where it stands, and may be missing
    [clientSecret, ...encoded.flatMap((bytes) => [bytes.toString("base64"), bytes.toString("base64url")])]
      .flatMap((form) => [form, form.replace(/=+$/, "")])
      .flatMap((form) => writtenForms(form))
      .filter((form) => form.length >= SECRET_MIN),
  );
  const longestFirst = [...forms].sort((a, b) => b.length - a.length);
  return (text) => {
    const shown = longestFirst.reduce((before, form) => before.replaceAll(form, "***"), text);
    return shown.includes(CUT) ? hideCut(shown, longestFirst) : shown;
  };
}

function writtenForms(text: string): string[] {
  const escaped = JSON.stringify(text).slice(1, -1);
  const inUrl = encodeURIComponent(text);
  return [text, inUrl, inUrl.replaceAll("%20", "+"), escaped, escaped.replaceAll("/", "\\/")];
}

/** A preview ends in this sign where it was cut, perhaps in the middle of a secret. */
const CUT = "…";

function hideCut(text: string, forms: readonly string[]): string {
  const parts = text.split(CUT);
  const last = parts.pop() ?? "";
  return [...parts.map((part) => withoutBeginning(part, forms)), last].join(CUT);
}

function withoutBeginning(part: string, forms: readonly string[]): string {
  for (const form of forms) {
    for (let length = form.length - 1; length >= SECRET_MIN; length--) {
      if (part.endsWith(form.slice(0, length))) return `${part.slice(0, -length)}***`;
    }
  }
  return part;
}

/** Shorter forms would blank out ordinary words; the configuration refuses shorter secrets. */
const SECRET_MIN = 4;
