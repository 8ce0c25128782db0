/*
 * Statuses that the ERP asks for: each takes effect once, in the order in which they were asked for, and none is sent
 * again without a look at its order.
 */
import type { LedgerEntry } from "../../../src/sandbox/ledger.ts";
import type { Sent, Told } from "../network.ts";
import type { Scene } from "../scene.ts";
import { isBefore } from "../versions.ts";

/** What the bridge has on disk of an order. */
interface Known {
  revision: number;
  stamp: string | null;
}

interface Effect {
  readonly orderId: string;
  /** What the bridge knew when the request left that took effect. */
  readonly known: Known | undefined;
}

const KNOWN = "SELECT revision, service_updated_at AS stamp FROM orders WHERE order_id = ?";
const HAS_OTHER_STATUS = `SELECT 1 FROM order_events WHERE order_id = ? AND revision > ? AND status_changed`;

export class StatusInvariants {
  readonly #scene: Scene;
  /** Orders with a status request of which nobody knows whether it took effect. */
  readonly #open = new Set<string>();
  readonly #effects = new Map<number, Effect>();
  readonly #knownWhenSent = new Map<number, Known | undefined>();
  /** Of requests that leave again: nothing on disk tells that the order was changed since they took effect. */
  readonly #untold = new Set<number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  onSent({ route, request }: Sent) {
    if (route.kind !== "status") return;
    const orderId = (route.orderId ?? "").toLowerCase();
    if (this.#open.has(orderId))
      this.#scene.fail(12, `a status of ${orderId} is sent again without a look at the order`);
    this.#open.add(orderId);
    const number = numberOf(request.body.toString("utf8"));
    const known = this.#scene.auditor.prepare(KNOWN).get(orderId) as Known | undefined;
    const first = this.#effects.get(number);
    if (first === undefined) this.#knownWhenSent.set(number, known);
    else if (this.#isUntold(first, known)) this.#untold.add(number);
  }

  onTold({ route }: Sent, told: Told) {
    const orderId = (route.orderId ?? "").toLowerCase();
    if (told.kind === "nothing") {
      if (told.effect === "none") this.#open.delete(orderId);
      return;
    }
    const { status } = told;
    if (route.kind === "status" && status < 500 && status !== 408 && !told.body.startsWith("<")) {
      this.#open.delete(orderId);
    }
    if (route.kind === "snapshot" && (told.isTrue || status === 404 || status === 410)) this.#open.delete(orderId);
  }

  onEntry({ effect, requestBody }: LedgerEntry) {
    if (effect?.kind !== "status") return;
    const { fail, versions, coverage } = this.#scene;
    const { orderId } = effect;
    const number = numberOf(requestBody ?? "{}");
    if (this.#effects.has(number)) {
      // It came and went, and left no trace that any client could have seen.
      if (this.#untold.has(number) && versions.isStatusNew(orderId))
        coverage.count("untold", "a status that came and went");
      else fail(12, `request ${number} took effect twice`);
    }
    const later = [...this.#effects].find(([other, each]) => each.orderId === orderId && other > number);
    if (later !== undefined) fail(12, `request ${number} took effect after request ${later[0]}`);
    this.#effects.set(number, { orderId, known: this.#knownWhenSent.get(number) });
  }

  /** Another status, or a newer stamp over the same content, would have told. */
  #isUntold({ orderId, known: before }: Effect, now: Known | undefined): boolean {
    if (before === undefined || now === undefined) return true;
    if (this.#scene.auditor.prepare(HAS_OTHER_STATUS).get(orderId, before.revision) !== undefined) return false;
    return now.revision !== before.revision || !isBefore(before.stamp ?? undefined, now.stamp ?? undefined);
  }
}

/** The ERP's comment says which request it is. */
function numberOf(body: string): number {
  const { comment } = JSON.parse(body) as { comment: string };
  return Number(comment.replace("request ", ""));
}
