import { styleText } from "node:util";
import type { Step } from "./story.ts";
import type { Comparison } from "./summary.ts";

/** What the screen shows of one moment. */
export interface Scene {
  elapsedS: number;
  /** Seconds that the show lasts; undefined where it stays until Ctrl-C. */
  lengthS: number | undefined;
  pageUrl: string;
  placed: number;
  stored: number;
  confirmed: number;
  taken: number;
  articles: number;
  articlesOnSite: number;
  orders: { number: string; status: string; revision: number; isConfirmed: boolean; erpNumber: string | null }[];
  steps: (Step & { at: string })[];
  sentence: string;
}

type Style = Parameters<typeof styleText>[0];
/** Honours NO_COLOR and a stream that is no terminal. */
const paint = (style: Style, text: string) => styleText(style, text, { stream: process.stdout });

const ORDERS_SHOWN = 8;
const STEPS_SHOWN = 6;
const WIDTH = 96;
const HEIGHT = 27;
const STYLES: Record<Step["what"], Style> = { lost: "red", again: "yellow", safe: "green" };
const MARKS: Record<Step["what"], string> = { lost: "✗ lost", again: "↻ asked again", safe: "✓ not doubled" };

/** The picture of one moment: always the same number of lines, so that one drawn over another leaves nothing of it. */
export function drawScene(scene: Scene): string[] {
  const time = scene.lengthS === undefined ? "Ctrl-C ends it" : `${scene.elapsedS} s of ${scene.lengthS}`;
  return [
    `${paint("bold", "erp-bridge")}  the main job, on a mock service and a SQLite file${time.padStart(WIDTH - 61)}`,
    `The status page: ${paint("cyan", scene.pageUrl)}`,
    "",
    columns(paint("bold", "the service"), paint("bold", "the bridge"), paint("bold", "the ERP")),
    columns(
      `${scene.placed} orders placed   ──▶`,
      `${scene.stored} stored, ${scene.confirmed} confirmed   ──▶`,
      `${scene.taken} taken`,
    ),
    columns(
      `${scene.articlesOnSite} of ${scene.articles} levels shown   ◀──`,
      `${scene.articles - scene.articlesOnSite} on their way   ◀──`,
      `${scene.articles} articles in stock`,
    ),
    "",
    paint("dim", row("order", "status", "revision", "confirmed", "in the ERP")),
    ...fill(
      scene.orders.map(({ number, status, revision, isConfirmed, erpNumber }) =>
        row(number, status, String(revision), isConfirmed ? "yes" : "not yet", erpNumber ?? "not yet"),
      ),
      ORDERS_SHOWN,
    ),
    "",
    paint("dim", "Two answers are lost on purpose:"),
    ...fill(
      scene.steps.map(({ at, what, text }) => `  ${at}  ${paint(STYLES[what], MARKS[what].padEnd(14))} ${text}`),
      STEPS_SHOWN,
    ),
    "",
    `${paint("bold", "erp-bridge status:")} ${scene.sentence.slice(0, WIDTH - 19)}`,
  ];
}

/** A step on a line of its own, for where nothing can be drawn over. */
export function stepLine({ what, text }: Step): string {
  return `${paint(STYLES[what], MARKS[what].padEnd(14))} ${text}`;
}

/** How things stand, on one line. */
export function sceneLine({ placed, stored, confirmed, taken, articles, articlesOnSite }: Scene): string {
  return `${placed} orders placed, ${stored} stored, ${confirmed} confirmed, ${taken} taken by the ERP; ${articlesOnSite} of ${articles} levels on the site`;
}

/** The comparison at the end. */
export function drawComparison(rows: readonly Comparison[]): string[] {
  const head = `${"".padEnd(46)} ${"service".padStart(8)} ${"database".padStart(9)}`;
  return [
    paint("dim", head),
    ...rows.map(({ what, service, database }) => {
      const verdict = service === database ? paint("green", "equal") : paint("red", "DIFFERENT");
      return `${what.padEnd(46)} ${String(service).padStart(8)} ${String(database).padStart(9)}  ${verdict}`;
    }),
  ];
}

export function drawVerdict(isEqual: boolean): string {
  return isEqual
    ? paint(["bold", "green"], "Nothing was lost and nothing was doubled.")
    : paint(["bold", "red"], "The database and the service's ledger differ.");
}

/** Draws one picture over the last, without a flicker. Only where the whole of it has room. */
export class Screen {
  static fits({ isTTY, columns = 0, rows = 0 }: NodeJS.WriteStream): boolean {
    return isTTY && columns >= WIDTH && rows > HEIGHT;
  }

  #height = 0;

  draw(lines: readonly string[]): void {
    const up = this.#height === 0 ? "" : `\u001b[${this.#height}A`;
    process.stdout.write(`${up}${lines.map((line) => `\u001b[2K${line}\n`).join("")}`);
    this.#height = lines.length;
  }
}

/** The width of a text without its colours. */
function widthOf(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with this character
  return text.replace(/\u001b\[\d+m/g, "").length;
}

function columns(...texts: string[]): string {
  return texts
    .map((text) => text + " ".repeat(Math.max(0, 31 - widthOf(text))))
    .join("")
    .trimEnd();
}

function row(...texts: string[]): string {
  const [order = "", status = "", revision = "", confirmed = "", erp = ""] = texts;
  return `  ${order.padEnd(16)}${status.padEnd(14)}${revision.padStart(8)}   ${confirmed.padEnd(12)}${erp}`;
}

function fill(lines: readonly string[], height: number): string[] {
  return [...lines, ...Array.from({ length: height }, () => "")].slice(0, height);
}
