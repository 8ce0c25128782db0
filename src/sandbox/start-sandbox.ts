import { controlOf } from "./control.ts";
import type { Faults } from "./faults.ts";
import { startHttpServer } from "./http-server.ts";
import type { Ledger, LedgerOptions } from "./ledger.ts";
import type { SandboxRequest, SandboxResponse } from "./messages.ts";
import type { SandboxOptionsPatch } from "./options.ts";
import { type Random, seededRandom } from "./random.ts";
import { SandboxService } from "./service.ts";

export interface StartOptions extends LedgerOptions {
  /** Switches that differ from the defaults. */
  readonly options?: SandboxOptionsPatch;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** 0, the default, selects a free port. */
  readonly port?: number;
  readonly now?: () => number;
  /** By default, random numbers from `seed`. */
  readonly random?: Random;
  readonly seed?: number;
  /** Whether `/_sandbox/` is available. */
  readonly control?: boolean;
  /** Called and awaited for each request, before its effect. */
  readonly onRequest?: (request: SandboxRequest) => void | Promise<void>;
  /** Called and awaited after the effect (before it where a fault delays it), before anything is sent. */
  readonly onAnswer?: (request: SandboxRequest, response: SandboxResponse) => void | Promise<void>;
}

/** A running mock service. */
export interface Sandbox {
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly service: SandboxService;
  readonly ledger: Ledger;
  readonly faults: Faults;
  readonly close: () => Promise<void>;
}

/** Starts the service on loopback. Rejects where the port is in use or a switch is unknown. */
export async function startSandbox(start: StartOptions = {}): Promise<Sandbox> {
  const clientId = start.clientId ?? "sandbox";
  const clientSecret = start.clientSecret ?? "sandbox-secret";
  const service = new SandboxService({
    credentials: { clientId, clientSecret },
    now: start.now ?? Date.now,
    random: start.random ?? seededRandom(start.seed ?? 1),
    options: start.options ?? {},
    ...(start.limit === undefined ? {} : { limit: start.limit }),
    ...(start.onEntry === undefined ? {} : { onEntry: start.onEntry }),
  });
  const server = await startHttpServer({
    port: start.port ?? 0,
    handle: (request) => service.handle(request),
    control: start.control === true ? controlOf(service) : undefined,
    onRequest: start.onRequest,
    onAnswer: start.onAnswer,
  });
  const url = `http://127.0.0.1:${server.port}`;
  return { url, clientId, clientSecret, service, ledger: service.ledger, faults: service.faults, close: server.close };
}
