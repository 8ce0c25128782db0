import { CONDITIONS, type Trait } from "../../src/health/condition-traits.ts";
import { statusEn } from "../../src/messages/words/status-en.ts";
import { statusRu } from "../../src/messages/words/status-ru.ts";
import { type ErrorCode, EXIT, exitCodeOfCode } from "../../src/platform/errors.ts";

import { switchTable } from "./switches.ts";
import { tableOf } from "./table.ts";

/** Tables of the pages that are made from the code, each between two comments. */

export interface Region {
  file: string;
  name: string;
  text: string;
}

export function regions(): Region[] {
  return [
    { file: "docs/monitoring.md", name: "conditions", text: conditionTable() },
    { file: "docs/sandbox.md", name: "switches", text: switchTable() },
    { file: "docs/operations.md", name: "exit codes", text: exitTable("en") },
    { file: "docs/operations.ru.md", name: "exit codes", text: exitTable("ru") },
  ];
}

/** The page with the regions of it put in. @throws Error where the page has no place for one */
export function withRegions(page: string, of: readonly Region[]): string {
  return of.reduce((text, { file, name, text: table }) => {
    const [begin, end] = [`<!-- generated: ${name} -->\n`, "<!-- end -->"];
    const from = text.indexOf(begin);
    const to = text.indexOf(end, from);
    if (from < 0 || to < 0) throw new Error(`${file} has no place for the table "${name}": ${begin}${end}`);
    return `${text.slice(0, from)}${begin}${table}${text.slice(to)}`;
  }, page);
}

const SETTLED: Readonly<Record<number, string>> = { 0: "", 90000: " after 90 s", 300000: " after 5 min" };

/** In the place of the subject in the names of alerts. */
function subjectOf(code: string): string {
  if (code.startsWith("hold_")) return "AREA";
  if (code === "erp_silent") return "FEED";
  return code === "quarantined" ? "KIND" : "FLOW";
}

function conditionTable(): string {
  const rows = Object.entries(CONDITIONS as Record<string, Trait>).map(([code, trait]) => {
    const { severity, exit, unhealthy, stalls, settleMs, alert } = trait;
    const ill = code === "hold_other" ? "the reason" : unhealthy === true ? "the error code" : `\`${unhealthy}\``;
    const name = alert?.replace("$", subjectOf(code)).replace(/ other$/, " REASON");
    return [
      `\`${code}\``,
      severity,
      exit === "error" ? "69 or 2" : String(exit ?? 0),
      unhealthy === false ? "–" : ill,
      stalls ? "stops" : "–",
      name === undefined ? "–" : `\`${name}\`${SETTLED[settleMs] ?? ` after ${settleMs} ms`}`,
    ];
  });
  return tableOf(["`code`", "severity", "`status` ends with", "`ill` in `/health`", "heartbeat", "alert"], rows);
}

const EXIT_WORDS = {
  en: {
    head: ["Exit code", "Meaning", "Error codes"],
    ok: "done, and nothing needs attention",
    attention:
      "done, and something needs attention: a hold, a record in quarantine, a question that only a person can answer",
    failed: "failed",
    usage: "the call is wrong; nothing was done",
    unreachable: "the service was not reached",
    fenced: "another machine works for this shop; nothing starts this one again by itself",
    busyInstance: "another instance works on the database",
    credentials: "the service refuses the credentials, or the subscription is not paid",
    config:
      "cannot work as it is: the configuration, the database (damaged, newer, of another program or account) or Node. Nothing starts it again by itself",
  },
  ru: {
    head: ["Код возврата", "Значение", "Коды ошибок"],
    ok: "сделано, внимания ничего не требует",
    attention:
      "сделано, но что-то требует внимания: остановка, запись в карантине, вопрос, на который ответит только человек",
    failed: "сбой",
    usage: "неверный вызов; ничего не сделано",
    unreachable: "нет связи с сервисом",
    fenced: "для этого магазина работает другая машина; сама служба больше не запускается",
    busyInstance: "с базой работает другой экземпляр",
    credentials: "сервис не принимает учётные данные или подписка не оплачена",
    config:
      "работать в таком виде нельзя: настройки, база (повреждена, новее программы, чужая) или Node. Сама служба больше не запускается",
  },
} as const;

function exitTable(language: "en" | "ru"): string {
  const words = EXIT_WORDS[language];
  const { errors } = language === "en" ? statusEn : statusRu;
  const page = language === "en" ? "trouble.md" : "trouble.ru.md";
  const rows = Object.entries(EXIT).map(([name, exit]) => {
    const codes = (Object.keys(errors) as ErrorCode[]).filter((code) => exitCodeOfCode(code) === exit);
    return [
      String(exit),
      words[name as keyof typeof EXIT],
      codes.map((code) => `[\`${code}\`](${page}#${code})`).join(", "),
    ];
  });
  return tableOf(words.head, rows);
}
