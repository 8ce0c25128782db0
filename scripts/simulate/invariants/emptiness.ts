/*
 * An empty list beside what stood beside none before says nothing: no position moves, no batch counts as confirmed, and it is told after
 * some minutes. Nor does a page that the service answers whatever `since` is, from before it and without what is known to be later. The same orders under ever new names are asked for no more often than others, and stand in few rows.
 */
import { parseTimestamp } from "../../../src/answers/timestamp.ts";
import type { RunResult } from "../../../src/daemon/run-job.ts";
import { namesZone } from "../forms.ts";
import type { Sent, Told } from "../network.ts";
import type { Scene } from "../scene.ts";

/** From so many answers on it is known what usually stands beside an empty list. */
const KNOWN_TIMES = 5;
/** So long it may be over with the next answer. */
const BRIEF_MS = 11 * 60_000;
const EMPTY = /"(?:orders|updates)":(?:\[\]|null)/;

/** After so many such pages in a row, over so long, it is told that none is an answer to what was asked. */
const OTHER_TIMES = 6;
const OTHER_MS = 5 * 60_000;
const OTHER_UNIT_NS = 61n * 1_000_000_000n;
const ANCHORS = "SELECT value FROM meta WHERE key = 'anchors'";
const IS_TOLD = "SELECT 1 FROM holds WHERE area = 'updates' AND reason = 'cut'";

const POSITIONS = "SELECT stream, value FROM watermarks WHERE stream IN ('updates', 'sweep') ORDER BY stream";
/**
 * The search for changes that pages before have left out, and where it moves the position at its end: over orders that were read one by one, whatever
 * a list says meanwhile.
 */
const SEARCH = "SELECT value ->> '$.high.text' FROM meta WHERE key = 'cut'";
const OPEN = "SELECT id FROM batches WHERE state = 'stored'";
const CONFIRMED = "SELECT id FROM batches WHERE state = 'confirmed'";
const ROWS = "SELECT count(*) FROM batches WHERE order_count > 0";
/** Rows that each life of the program may make of a batch. */
const ROWS_OF_LIFE = 3;
/** Which orders came, and in which versions: what an order says anew is stored, and so is what names it otherwise. */
const SAID = /"(?:order_id|id|number|updated_at)":(?:"[^"]*"|[\d.]+)/g;
/** A pass asks so often for orders that it has just been given. */
const AGAIN_MAX = 6;

type Positions = readonly (readonly [stream: string, value: string])[];
type Endpoint = "orders" | "updates";

interface Met {
  readonly positions: Positions;
  /** Undefined where no search stood. */
  readonly searched: string | undefined;
  readonly open: readonly number[];
  isConfirmAnswered: boolean;
}

export class EmptinessInvariants {
  readonly #scene: Scene;
  readonly #times: Record<Endpoint, number> = { orders: 0, updates: 0 };
  /** What stood when the pass that is under way met such an answer. */
  readonly #met: Partial<Record<Endpoint, Met>> = {};
  /** Since when nothing else came in this life. */
  readonly #sinceMs: Partial<Record<Endpoint, number>> = {};
  #lives = 0;
  /** Pages in a row that were no answer to the question, and since when. */
  #other = { times: 0, sinceMs: 0 };
  /** Orders that the pass under way was given last, and how often. */
  #given = { ids: "", times: 0 };
  /** What came together. */
  readonly #batches = new Set<string>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  onStart(): void {
    this.#lives += 1;
    this.#given = { ids: "", times: 0 };
    this.#other = { times: 0, sinceMs: 0 };
    for (const on of ["orders", "updates"] as const) {
      delete this.#met[on];
      delete this.#sinceMs[on];
    }
  }

  onTold({ route: { kind, query }, fate }: Sent, told: Told): void {
    if (kind === "confirm" && told.kind === "answer" && this.#met.orders !== undefined)
      this.#met.orders.isConfirmAnswered = true;
    if ((kind !== "orders" && kind !== "updates") || told.kind !== "answer") return;
    const { auditor, time } = this.#scene;
    if (kind === "updates") this.#noteOther(new URLSearchParams(query).get("since"), told);
    if (kind === "orders") this.#noteGiven(told.body);
    if (fate?.kind !== "lie" || fate.lie.body !== "empty otherwise") {
      delete this.#met[kind];
      if (told.status < 300) delete this.#sinceMs[kind];
      if (told.isTrue && told.status === 200 && EMPTY.test(told.body)) this.#times[kind] += 1;
      return;
    }
    if (this.#times[kind] < KNOWN_TIMES) return;
    this.#sinceMs[kind] ??= time.elapsedMs;
    this.#scene.coverage.count("empty otherwise", kind);
    const open = auditor.prepare(OPEN).pluck().all() as number[];
    this.#met[kind] ??= { positions: this.#positions(), searched: this.#searched(), open, isConfirmAnswered: false };
  }

  #noteOther(since: string | null, told: Told & { kind: "answer" }): void {
    const { coverage, time } = this.#scene;
    const isOther = told.isTrue && this.#isOther(since, told.body);
    if (isOther === undefined) return;
    this.#other = isOther ? { ...this.#other, times: this.#other.times + 1 } : { times: 0, sinceMs: time.elapsedMs };
    if (this.#other.times === OTHER_TIMES) coverage.count("another question", "updates");
  }

  /**
   * All of the page is from before what was asked, and orders of later changes are not in it; undefined where none is known to have changed
   * later, as where the future is asked for to see whether `since` is read.
   */
  #isOther(since: string | null, body: string): boolean | undefined {
    const { service, forms, auditor } = this.#scene;
    if (service.options.updates.stuck !== "same-page" || !namesZone(forms)) return false;
    const asked = parseTimestamp(since ?? "", "UTC")?.instantNs;
    const times = [...body.matchAll(/"updated_at":\s*"?([^",}]+)/g)].map(([, text]) =>
      parseTimestamp(text ?? "", "UTC"),
    );
    if (asked === undefined || times.length === 0) return false;
    if (!times.every((time) => time !== undefined && time.instantNs + OTHER_UNIT_NS < asked)) return false;
    const anchors = JSON.parse((auditor.prepare(ANCHORS).pluck().get() as string | undefined) ?? "[]") as [
      string,
      string,
    ][];
    const later = anchors.filter(([, ns]) => BigInt(ns) > asked);
    return later.length === 0 ? undefined : later.some(([orderId]) => !body.toLowerCase().includes(orderId));
  }

  #noteGiven(body: string): void {
    const ids = [...body.matchAll(/"order_id":("[^"]*"|\d+)/g)].map(([, id]) => id).join();
    const said = [...body.matchAll(SAID)].map(([member]) => member);
    if (said.length > 0) this.#batches.add(said.sort().join());
    this.#given = { ids, times: ids !== "" && ids === this.#given.ids ? this.#given.times + 1 : 0 };
    if (this.#given.times > AGAIN_MAX) this.#scene.fail(15, "one pass asks for the same orders again and again");
  }

  onResult(job: string, { error, outcome }: RunResult): void {
    if (job !== "orders" && job !== "updates") return;
    if (job === "orders") this.#checkRows();
    const { fail, auditor, time } = this.#scene;
    const isLong = this.#other.times >= OTHER_TIMES && time.elapsedMs - this.#other.sinceMs > OTHER_MS;
    if (job === "updates" && error === null && isLong && auditor.prepare(IS_TOLD).get() === undefined)
      fail(10, `${this.#other.times} pages of changes from before since are all that comes, and nothing says so`);
    const met = this.#met[job];
    delete this.#met[job];
    if (met === undefined) return;
    const what = `${job}: an empty list beside unknown words`;
    if (job === "updates" && this.#isMoved(met))
      fail(7, `${what} moved a position: ${JSON.stringify(met.positions)}, then ${JSON.stringify(this.#positions())}`);
    const confirmed = new Set(auditor.prepare(CONFIRMED).pluck().all() as number[]);
    const settled = met.isConfirmAnswered ? [] : met.open.filter((id) => confirmed.has(id));
    if (job === "orders" && settled.length > 0)
      fail(8, `${what} settled the confirms of batches ${settled.join(", ")}`);
    const forMs = time.elapsedMs - (this.#sinceMs[job] ?? time.elapsedMs);
    if (error === null && outcome !== "held" && forMs > BRIEF_MS)
      fail(10, `${what} is all that comes for ${Math.round(forMs / 60_000)} minutes, and nothing says so`);
  }

  #positions(): Positions {
    return this.#scene.auditor.prepare(POSITIONS).raw().all() as [string, string][];
  }

  #searched(): string | undefined {
    return this.#scene.auditor.prepare(SEARCH).pluck().get() as string | undefined;
  }

  #isMoved({ positions, searched }: Met): boolean {
    const isOver = searched !== undefined && this.#searched() === undefined;
    const expected = positions.map(([stream, value]) => [stream, isOver && stream === "updates" ? searched : value]);
    const now = JSON.stringify(this.#positions());
    return now !== JSON.stringify(positions) && now !== JSON.stringify(expected);
  }

  #checkRows(): void {
    this.#given = { ids: "", times: 0 };
    if (!this.#scene.forms.leases) return;
    const rows = this.#scene.auditor.prepare(ROWS).pluck().get() as number;
    const { size } = this.#batches;
    if (rows > ROWS_OF_LIFE * this.#lives * size)
      this.#scene.fail(15, `${rows} rows hold ${size} batches after ${this.#lives} starts`);
  }
}
