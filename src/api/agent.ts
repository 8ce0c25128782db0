import type { buildConnector } from "undici";
import requestOf from "undici/lib/api/api-request.js";
import Agent from "undici/lib/dispatcher/agent.js";

type AgentOptions = ConstructorParameters<typeof Agent>[0] & { connect?: buildConnector.BuildOptions };

/**
 * undici's connections and its `request`, taken from the files that they are in: its index reads a browser's fetch,
 * WebSocket, caches, cookies and mocks at every start, which together are more than the rest of the program.
 */
export class HttpAgent extends Agent {
  override request: typeof requestOf = requestOf;

  constructor(options: AgentOptions) {
    // Said at each connection, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes what holds where nothing is said.
    super({ ...options, connect: { ...options.connect, rejectUnauthorized: true } });
  }
}
