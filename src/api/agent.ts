import requestOf from "undici/lib/api/api-request.js";
import Agent from "undici/lib/dispatcher/agent.js";

/**
 * undici's connections and its `request`, taken from the files that they are in: its index reads a browser's fetch,
 * WebSocket, caches, cookies and mocks at every start, which together are more than the rest of the program.
 */
export class HttpAgent extends Agent {
  override request: typeof requestOf = requestOf;
}
