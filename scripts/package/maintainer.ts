/** Who answers for the package, as Debian writes it, or null where nobody is named whom a person could write to. */
export function readMaintainer(named: string | undefined, env: NodeJS.ProcessEnv): string | null {
  const { DEBFULLNAME = "erp-bridge", DEBEMAIL } = env;
  const text = named ?? (DEBEMAIL === undefined ? "" : `${DEBFULLNAME} <${DEBEMAIL}>`);
  return /^[^<>\n]+ <[^<>@\s]+@[^<>@\s]+\.[^<>@\s]+>$/.test(text) ? text : null;
}
