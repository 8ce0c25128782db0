import type { SandboxService } from "../../src/sandbox/service.ts";
import type { MachineClock, SimulatedTime } from "./clock.ts";
import type { Coverage } from "./coverage.ts";
import type { Erp } from "./erp.ts";
import type { Forms } from "./forms.ts";
import type { Lies } from "./hostile/lies.ts";
import type { JournalDisk } from "./journal.ts";
import type { SecondConnection } from "./second-connection.ts";
import type { Versions } from "./versions.ts";

/** What everybody in one simulated world can see. */
export interface Scene {
  readonly time: SimulatedTime;
  readonly machine: MachineClock;
  readonly service: SandboxService;
  /** What the clock of the service shows that the program has the address of, in milliseconds: {@link service} has moved for a time. */
  readonly addressedNow: number;
  readonly forms: Forms;
  /** Not the bridge's own: it sees what is committed, and nothing else. */
  readonly auditor: SecondConnection;
  readonly erp: Erp;
  readonly versions: Versions;
  readonly coverage: Coverage;
  readonly journal: JournalDisk;
  /** Somebody has been shown orders as they were earlier. */
  readonly wasMisinformed: boolean;
  readonly lies: Lies;
  /** An invariant does not hold. The first one ends the run. */
  readonly fail: (invariant: number, what: string) => void;
  trace(line: string): void;
}
