/** Options of every command that take a value. */
const WITH_VALUE = /^(-c|--config|-i|--instance)$/;
const JOINED = /^(--(config|instance)=|-[ci].)/;
const FLAGS: ReadonlySet<string> = new Set(["--json", "--no-color"]);

/**
 * Moves options in front of the command behind it, because commander looks for them there.
 * @example
 * withLeadingOptions(["--no-color", "-c", "a.yaml", "quarantine", "list"]);
 * // ["quarantine", "list", "--no-color", "-c", "a.yaml"]
 */
export function withLeadingOptions(argv: readonly string[]): string[] {
  let at = 0;
  for (;;) {
    const word = argv[at] ?? "";
    if (WITH_VALUE.test(word)) at += 2;
    else if (FLAGS.has(word) || JOINED.test(word)) at += 1;
    else break;
  }
  const rest = argv.slice(at);
  const [command = "-"] = rest;
  // No command: the help, the version, or a word that is refused.
  if (command.startsWith("-")) return rest.length === 0 ? [...argv] : rest;
  // After `--` every word is an argument.
  const end = rest.indexOf("--");
  const places = end === -1 ? rest.length : end;
  return [...rest.slice(0, places), ...argv.slice(0, at), ...rest.slice(places)];
}
