import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { installProgram } from "../install-program.ts";
import { buildShim } from "./disk-control.ts";
import type { Report } from "./report.ts";

/** Children at one time: they and the service in this process share the machine. */
const SIDE_BY_SIDE = 3;

export interface CampaignOptions {
  seed: number;
  report: Report;
  /** Only this one case. */
  step?: number | undefined;
  /** Every so-manyth case; 1 for all. */
  stride?: number;
}

/** The installed program, the shim and a folder for everything, shared by the parts. */
export class Campaign {
  readonly seed: number;
  readonly report: Report;
  readonly step: number | undefined;
  readonly stride: number;
  readonly root: string;
  readonly installed: { program: string; shim: string | undefined };
  #folders = 0;

  private constructor(options: CampaignOptions, root: string, installed: Campaign["installed"]) {
    this.seed = options.seed;
    this.report = options.report;
    this.step = options.step;
    this.stride = options.stride ?? 1;
    this.root = root;
    this.installed = installed;
  }

  static async begin(options: CampaignOptions): Promise<Campaign> {
    const root = realpathSync(mkdtempSync(path.join(os.tmpdir(), "erp-bridge-crash-")));
    const program = await installProgram(path.join(root, "program"));
    return new Campaign(options, root, { program, shim: buildShim(root) });
  }

  newFolder(name: string): string {
    this.#folders += 1;
    return path.join(this.root, `${name}-${this.#folders}`);
  }

  /** Does this for each, some of them side by side. */
  async each<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
    const left = [...items];
    const worker = async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
    };
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  }

  /** Removes everything, unless something was found that somebody will want to look at. */
  end(): void {
    if (this.report.violations.length === 0) rmSync(this.root, { recursive: true, force: true });
    else this.report.say(`kept for inspection: ${this.root}`);
  }
}
