import { JOB_NAMES } from "../../src/pass/job-names.ts";
import type { CommandWords, OptionWords } from "./words.ts";

const FEEDS = ["stocks", "prices", "catalog", "images"];
/** Words that an argument may be; commands whose argument is a file complete names of files instead. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  sync: JOB_NAMES,
  approve: FEEDS,
  resume: ["orders", "updates", "statuses", "imports", ...FEEDS, "account", "observations"],
};

/** The words that may follow the words before them: `""` → the commands, `config` → `show schema`. */
function nextWords(commands: readonly CommandWords[]): Map<string, Set<string>> {
  const next = new Map<string, Set<string>>();
  for (const { path } of commands) {
    path.forEach((word, depth) => {
      const before = path.slice(0, depth).join(" ");
      next.set(before, (next.get(before) ?? new Set()).add(word));
    });
  }
  return next;
}

function flagsOf(options: readonly OptionWords[]): string[] {
  return options.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined));
}

export function bashCompletion(commands: readonly CommandWords[]): string {
  const cases = commands.map((command) => {
    const name = command.path.join(" ");
    const words = [...flagsOf(command.options), ...(ARGUMENTS[name] ?? [])].join(" ");
    return `    "${name}") words="${words}" ;;`;
  });
  const groups = [...nextWords(commands)].map(
    ([before, words]) => `    "${before}") words="${[...words].join(" ")}" ;;`,
  );
  const files = valueFlags(commands, true);
  const values = valueFlags(commands, false);
  return `# bash completion for erp-bridge
_erp_bridge() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} said="" words="" word
  case "$previous" in
    ${files.join(" | ")}) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    -i | --instance)
      mapfile -t COMPREPLY < <(compgen -W "$(cd /etc/erp-bridge 2>/dev/null && ls *.yaml 2>/dev/null | sed 's/\\.yaml$//')" -- "$current")
      return ;;
    ${values.join(" | ")}) return ;;
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) break ;; esac
    case " ${[...nextWords(commands).values()].flatMap((set) => [...set]).join(" ")} " in
      *" $word "*) said="\${said:+$said }$word" ;;
      *) break ;;
    esac
  done
  case "$said" in
${[...groups, ...cases].join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  case "$said" in backup | restore) [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current") ;; esac
}
complete -o filenames -o bashdefault -F _erp_bridge erp-bridge
`;
}

/** Flags that take a value: names of files, or others but the instance, which has a completion of its own. */
function valueFlags(commands: readonly CommandWords[], files: boolean): string[] {
  const options = commands.flatMap((command) => command.options);
  const wanted = options.filter((option) => option.takesValue && option.takesFile === files);
  return [...new Set(flagsOf(wanted))].filter((flag) => !["-i", "--instance"].includes(flag)).sort();
}

export function fishCompletion(commands: readonly CommandWords[]): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, "\\$&")}'`;
  const tops = [...(nextWords(commands).get("") ?? [])];
  const lines = commands.flatMap(({ path, summary, options }) => {
    const [first = "", second] = path;
    const seen = `__fish_seen_subcommand_from ${first}`;
    const others = [...(nextWords(commands).get(first) ?? [])].join(" ");
    const own =
      second === undefined
        ? `complete -c erp-bridge -n '__fish_use_subcommand' -f -a ${first} -d ${quoted(summary)}`
        : `complete -c erp-bridge -n '${seen}; and not __fish_seen_subcommand_from ${others}' -f -a ${second} -d ${quoted(summary)}`;
    const condition = second === undefined ? seen : `${seen}; and __fish_seen_subcommand_from ${second}`;
    const flags = options.map(({ short, long, summary: words, takesValue, takesFile }) => {
      const value = takesValue ? (takesFile ? " -r -F" : " -x") : "";
      const letter = short === undefined ? "" : ` -s ${short.slice(1)}`;
      return `complete -c erp-bridge -n '${condition}'${letter} -l ${long?.slice(2)}${value} -d ${quoted(words)}`;
    });
    const words = ARGUMENTS[path.join(" ")];
    return [
      own,
      ...flags,
      ...(words === undefined ? [] : [`complete -c erp-bridge -n '${condition}' -f -a ${quoted(words.join(" "))}`]),
    ];
  });
  const groups = tops.filter((word) => nextWords(commands).has(word));
  const names = groups.map((word) => `complete -c erp-bridge -n '__fish_use_subcommand' -f -a ${word}`);
  return `# fish completion for erp-bridge\n${[...names, ...lines].join("\n")}\n`;
}
