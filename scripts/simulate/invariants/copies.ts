/*
 * A copy of the database that was made while nothing was under way is an older one as soon as a request leaves that cannot be
 * taken back: in its place it would be noticed, and its stock would not go to the site. A confirm may be sent again.
 */
import { isBehind, type Progress } from "../../../src/database/log/progress.ts";
import { progressOf } from "../../../src/database/log/progress-note.ts";
import type { Sent } from "../network.ts";
import type { Scene } from "../scene.ts";

const IRREVERSIBLE: ReadonlySet<Sent["route"]["kind"]> = new Set(["import", "status"] as const);

export class CopyInvariants {
  readonly #scene: Scene;
  #copied: Progress | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** To be called while no pass is under way. */
  copy(): void {
    this.#copied = this.#read();
  }

  onSent({ route, number }: Sent): void {
    if (!IRREVERSIBLE.has(route.kind) || this.#copied === undefined) return;
    const now = this.#read();
    if (now === undefined || isBehind(this.#copied, now)) return;
    this.#scene.fail(7, `#${number} (${route.kind}) leaves, and an earlier copy would pass for this database`);
  }

  /** As it is noted beside the database: without the passes. */
  #read(): Progress | undefined {
    const { passes: _, ...progress } = progressOf(this.#scene.auditor.db, undefined) ?? { database: "" };
    return "batches" in progress ? progress : undefined;
  }
}
