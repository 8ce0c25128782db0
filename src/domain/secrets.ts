/**
 * Replaces every form in which the credentials travel by `***`: as they are, URL-encoded, JSON-escaped, and the
 * base64 of the Basic header. Used wherever foreign text (an answer, an error) enters a message, a log or the
 * database, because a service or a proxy may echo what it was sent.
 */
export function secretFilter(clientId: string, clientSecret: string): (text: string) => string {
  const basic = Buffer.from(`${clientId}:${clientSecret}`, "utf8");
  const forms = new Set(
    [
      clientSecret,
      encodeURIComponent(clientSecret),
      JSON.stringify(clientSecret).slice(1, -1),
      Buffer.from(clientSecret, "utf8").toString("base64"),
      Buffer.from(clientSecret, "utf8").toString("base64url"),
      basic.toString("base64"),
      basic.toString("base64url"),
      // a long token may be cut by a preview, so its beginning is hidden too
      basic.toString("base64").replace(/=+$/, ""),
    ].filter((form) => form.length >= SECRET_MIN),
  );
  const longestFirst = [...forms].sort((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((shown, form) => shown.replaceAll(form, "***"), text);
}

/** Shorter forms would blank out ordinary words; the configuration refuses shorter secrets. */
const SECRET_MIN = 4;
