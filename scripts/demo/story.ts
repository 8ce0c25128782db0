import type { LedgerEntry } from "../../src/sandbox/ledger.ts";

/** What happened to an answer that was lost on purpose. */
export interface Step {
  what: "lost" | "again" | "safe";
  text: string;
}

interface Lost {
  kind: "confirm" | "import";
  body: string | null;
  isAskedAgain: boolean;
}

/**
 * Follows the answers that were lost from what the service wrote down of its requests: the request had its effect and its
 * answer was cut off; the bridge cannot know that and repeats it; the service's books say that nothing was doubled.
 */
export class Story {
  readonly #lost: Lost[] = [];

  /** The steps that an entry of the service's ledger stands for; most stand for none. */
  follow(entry: LedgerEntry): Step[] {
    const { kind } = entry;
    if (kind !== "confirm" && kind !== "import") return [];
    if (entry.faultApplied !== null) {
      this.#lost.push({ kind, body: entry.requestBody, isAskedAgain: false });
      return [{ what: "lost", text: `${NAMES[kind]}: the service has it, its answer is lost on the way` }];
    }
    // A confirm is repeated as it was; an import has the newest levels of the same articles.
    const lost = this.#lost.find(
      (each) => each.kind === kind && !each.isAskedAgain && (kind === "import" || each.body === entry.requestBody),
    );
    if (lost === undefined) return [];
    lost.isAskedAgain = true;
    return [
      { what: "again", text: `${NAMES[kind]}: its outcome is unknown, so the bridge repeats it` },
      { what: "safe", text: `${NAMES[kind]}: ${SAFE[kind]}` },
    ];
  }
}

const NAMES = { confirm: "Confirm of a batch", import: "Import of stock" };
const SAFE = {
  confirm: "the same batch once more, and no order is doubled",
  import: "the newest levels once more, and nothing is doubled",
};
