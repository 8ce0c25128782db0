import type { SandboxService } from "../../src/sandbox/service.ts";
import type { MachineClock, SimulatedTime } from "./clock.ts";
import type { Coverage } from "./coverage.ts";
import type { Erp } from "./erp.ts";
import type { Forms } from "./forms.ts";
import type { Lies } from "./hostile/lies.ts";
import type { JournalDisk } from "./journal.ts";
import type { SecondConnection } from "./second-connection.ts";
import type { Versions } from "./versions.ts";

/** The state of one simulated world, for all its parts. */
export interface Scene {
  readonly time: SimulatedTime;
  readonly machine: MachineClock;
  readonly service: SandboxService;
  /**
   * The clock, in milliseconds, of the service at the program's configured address: {@link service} may have moved for
   * a time.
   */
  readonly addressedNow: number;
  readonly forms: Forms;
  /** A connection other than the bridge's: it reads only committed data. */
  readonly auditor: SecondConnection;
  readonly erp: Erp;
  readonly versions: Versions;
  readonly coverage: Coverage;
  readonly journal: JournalDisk;
  /** An answer has shown orders in an earlier state. */
  readonly wasMisinformed: boolean;
  readonly lies: Lies;
  /** Reports a violated invariant. The first one ends the run. */
  readonly fail: (invariant: number, what: string) => void;
  trace(line: string): void;
}
