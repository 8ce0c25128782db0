/** Counts what a campaign did and what it found, and says it line by line. */
export class Report {
  readonly violations: string[] = [];
  readonly skipped: string[] = [];
  cases = 0;
  readonly #say: (line: string) => void;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  say(line: string): void {
    this.#say(line);
  }

  skip(what: string, why: string): void {
    this.skipped.push(what);
    this.#say(`  ${what}: skipped, ${why}`);
  }

  /** A count of its own for cases that run beside others; `replay`: the arguments of the script that bring them back. */
  tally(replay: string, script = "campaign:crash"): Tally {
    return new Tally(this, replay, script);
  }
}

export class Tally {
  violations = 0;
  readonly #report: Report;
  readonly #replay: string;
  readonly #script: string;

  constructor(report: Report, replay: string, script: string) {
    this.#report = report;
    this.#replay = replay;
    this.#script = script;
  }

  /** One case, with what was found in it; `where` names it. */
  note(found: readonly string[], where: string, replay = this.#replay): void {
    this.#report.cases += 1;
    this.violations += found.length;
    for (const sentence of found) {
      this.#report.violations.push(`${where}: ${sentence}`);
      this.#report.say(
        `  VIOLATION at ${where}: ${sentence}\n            again with: npm run ${this.#script} -- ${replay}`,
      );
    }
  }

  /** `…: 80 orders confirmed, 0 violations` */
  sum(what: string): void {
    this.#report.say(`  ${what}, ${this.violations} violations`);
  }
}
