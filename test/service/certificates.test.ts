import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { callOutside } from "../../src/service/outside-call.ts";
import { tempFolder } from "../support/temp.ts";
import { clientFor, failureOf, get } from "./support.ts";

const VARIABLE = "NODE_TLS_REJECT_UNAUTHORIZED";

/** A server whose certificate nobody has signed but itself. */
async function startImpostor(): Promise<{ url: string; requests: string[] }> {
  const folder = tempFolder("tls");
  const [key, cert] = [path.join(folder, "key.pem"), path.join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert];
  execFileSync("openssl", ["req", "-x509", "-days", "2", ...made, ...subject], { stdio: "ignore" });
  const requests: string[] = [];
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    requests.push(`${request.method} ${request.headers.authorization ?? ""}`);
    response.end("[]");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

describe(`certificates under ${VARIABLE}=0`, () => {
  let before: string | undefined;
  beforeEach(() => {
    before = process.env[VARIABLE];
    process.env[VARIABLE] = "0";
  });
  afterEach(() => {
    if (before === undefined) delete process.env[VARIABLE];
    else process.env[VARIABLE] = before;
  });

  it("are checked before the service is sent anything", async () => {
    const { url, requests } = await startImpostor();
    const failure = await failureOf(get(clientFor(url, { connectTimeoutMs: 5000, totalTimeoutMs: 5000 })));
    expect(failure.code).toBe("unreachable");
    expect(requests).toEqual([]);
  });

  it("are checked before an address of alerts or of the heartbeat is sent anything", async () => {
    const { url, requests } = await startImpostor();
    const { signal } = new AbortController();
    await expect(callOutside({ method: "POST", url, body: "{}", userAgent: "test", signal })).rejects.toThrow(
      /DEPTH_ZERO_SELF_SIGNED_CERT/,
    );
    expect(requests).toEqual([]);
  });
});

describe("the configuration", () => {
  const text =
    "service: { base_url: 'https://x.example', client_id: a, client_secret: secret }\ndatabase: { path: a.db }";
  const warnings = (env: NodeJS.ProcessEnv) => parseConfig({ text, file: "/tmp/config.yaml", env }).warnings;

  it(`warns of ${VARIABLE}=0, which check shows and the start logs`, () => {
    expect(warnings({ [VARIABLE]: "0" }).map(String)).toEqual([expect.stringContaining(`${VARIABLE}=0 is ignored`)]);
    for (const env of [{}, { [VARIABLE]: "1" }, { [VARIABLE]: "" }]) expect(warnings(env)).toEqual([]);
  });
});
