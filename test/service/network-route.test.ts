import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, type Server } from "node:net";
import os from "node:os";
import path from "node:path";
import { afterAll, afterEach, describe, expect, it, onTestFinished } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { createClient } from "../../src/pass/build-client.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createHttpAgent } from "../../src/service/agent.ts";
import { ServiceError } from "../../src/service/service-error.ts";
import { saying } from "../support/messages.ts";
import { itWhole } from "../support/whole.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-tls-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
const keys = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** A certificate of an authority of this test's own, as a network that inspects TLS shows it. */
function makeCertificate(
  name: string,
  days = "2",
  names = "DNS:service.test,DNS:localhost,IP:127.0.0.1",
): { key: Buffer; cert: Buffer } {
  const [key, cert, request] = [`${name}.key`, `${name}.pem`, `${name}.csr`];
  const authority = path.join(folder, "ca.pem");
  try {
    readFileSync(authority);
  } catch {
    openssl(
      "req",
      "-x509",
      "-days",
      "3",
      ...keys,
      "-keyout",
      "ca.key",
      "-out",
      "ca.pem",
      "-subj",
      "/O=Shop network/CN=Inspection",
    );
  }
  openssl(
    "req",
    "-new",
    ...keys,
    "-keyout",
    key,
    "-out",
    request,
    "-subj",
    `/CN=${name}`,
    "-addext",
    `subjectAltName=${names}`,
  );
  openssl(
    "x509",
    "-req",
    "-in",
    request,
    "-CA",
    "ca.pem",
    "-CAkey",
    "ca.key",
    "-out",
    cert,
    "-days",
    days,
    "-copy_extensions",
    "copy",
  );
  return { key: readFileSync(path.join(folder, key)), cert: readFileSync(path.join(folder, cert)) };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function startService(certificate: { key: Buffer; cert: Buffer }): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = createHttpsServer(certificate, (request, response) => {
    asked.push(request.url ?? "");
    response.end('{"orders":[]}');
  });
  return { port: await listening(server), asked };
}

/** A proxy that makes tunnels to the service, whatever host is asked for, and remembers what it was told. */
async function startProxy(servicePort: number): Promise<{ port: number; tunnels: string[]; headers: string[] }> {
  const [tunnels, headers]: [string[], string[]] = [[], []];
  const server = createHttpServer((_, response) => response.writeHead(400).end());
  server.on("connect", (request, socket) => {
    tunnels.push(request.url ?? "");
    headers.push(String(request.headers["proxy-authorization"] ?? ""));
    const upstream = connect(servicePort, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on("error", () => {});
  });
  return { port: await listening(server), tunnels, headers };
}

function clientOf(baseUrl: string, service: Record<string, unknown> = {}) {
  const own = { base_url: baseUrl, client_id: "shop-1", client_secret: "s3cret-of-shop", ...service };
  const text = JSON.stringify({ service: own, database: { path: "bridge.db" } });
  const loaded = parseConfig({ text, file: path.join(folder, "config.yaml"), env: {} });
  const client = createClient({ loaded, clock: systemClock, admit: undefined });
  onTestFinished(() => client.close());
  return client;
}

async function ask(client: ReturnType<typeof clientOf>): Promise<ServiceError | number> {
  const { signal } = new AbortController();
  return await client.request({ area: "orders", method: "GET", path: "/api/v1/1c/orders", signal }).then(
    ({ status }) => status,
    (error: ServiceError) => error,
  );
}

describe("a network that lets nothing out directly", () => {
  const variables = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "NODE_TLS_REJECT_UNAUTHORIZED"];
  const before = variables.map((name) => process.env[name]);
  afterEach(() => {
    for (const [index, name] of variables.entries()) {
      if (before[index] === undefined) delete process.env[name];
      else process.env[name] = before[index];
    }
  });

  itWhole("is passed through the proxy that is named, with its credentials and in a tunnel", async () => {
    const service = await startService(makeCertificate("service.test"));
    const proxy = await startProxy(service.port);
    const client = clientOf("https://service.test", {
      proxy: `http://user:pa%20ss@127.0.0.1:${proxy.port}`,
      ca_file: "ca.pem",
    });
    expect(await ask(client)).toBe(200);
    expect(proxy.tunnels).toEqual(["service.test:443"]);
    expect(proxy.headers).toEqual([`Basic ${Buffer.from("user:pa ss").toString("base64")}`]);
    expect(service.asked).toEqual(["/api/v1/1c/orders"]);
  });

  it.each([403, 407, 429])("is told of by what the proxy answers: %i", async (status) => {
    const proxy = createHttpServer();
    proxy.on("connect", (_, socket) => socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`));
    const client = clientOf("https://service.test", { proxy: `http://127.0.0.1:${await listening(proxy)}` });
    const error = await ask(client);
    expect(error).toMatchObject({ code: "unreachable", effect: "none" });
    expect(String(error)).toContain(`was refused by the proxy (${status})`);
  });

  itWhole("is passed as the environment says, and not for the hosts that it leaves out", async () => {
    const service = await startService(makeCertificate("service.test"));
    const proxy = await startProxy(service.port);
    process.env["HTTPS_PROXY"] = `http://127.0.0.1:${proxy.port}`;
    const settings = { proxy: "env", ca_file: "ca.pem" };
    expect(await ask(clientOf("https://service.test", settings))).toBe(200);
    process.env["NO_PROXY"] = "service.test";
    expect(await ask(clientOf("https://service.test", settings))).toMatchObject({
      code: "unreachable",
      effect: "none",
    });
    expect(proxy.tunnels).toHaveLength(1);
  });

  itWhole("sees nothing of a service on this machine, whatever the environment says", async () => {
    const service = await startService(makeCertificate("service.test"));
    const proxy = await startProxy(service.port);
    process.env["HTTPS_PROXY"] = `http://127.0.0.1:${proxy.port}`;
    expect(await ask(clientOf(`https://127.0.0.1:${service.port}`, { proxy: "env", ca_file: "ca.pem" }))).toBe(200);
    expect(proxy.tunnels).toEqual([]);
    // The default leaves the environment alone.
    const agent = createHttpAgent(new URL("https://service.test"), { proxy: null, authorities: [] }, {});
    onTestFinished(() => agent.destroy());
    expect(agent.constructor.name).toBe("Agent");
  });

  itWhole.each([undefined, "0"])(
    "never gets a request whose certificate it answers itself, with %s",
    async (ignored) => {
      if (ignored !== undefined) process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = ignored;
      const service = await startService(makeCertificate("service.test"));
      const proxy = await startProxy(service.port);
      const failure = await ask(clientOf("https://service.test", { proxy: `http://127.0.0.1:${proxy.port}` }));
      expect(failure).toMatchObject({
        code: "unreachable",
        effect: "none",
        hint: saying("service.ca_file"),
      });
      expect(service.asked).toEqual([]);
    },
  );
});

describe("a certificate that is refused", () => {
  const failure = async (certificate: { key: Buffer; cert: Buffer }, service = {}) => {
    const { port, asked } = await startService(certificate);
    const error = await ask(clientOf(`https://localhost:${port}`, service));
    expect(asked).toEqual([]);
    expect(error).toBeInstanceOf(ServiceError);
    return error as ServiceError;
  };

  it("of an unknown authority is named with its subject, its issuer and the key that helps", async () => {
    const error = await failure(makeCertificate("service.test"));
    expect(error).toMatchObject({ code: "unreachable", effect: "none" });
    expect(error.message).toContain("CN=service.test, issued by O=Shop network, CN=Inspection");
    expect(String(error.hint)).toContain("service.ca_file");
  });

  itWhole("that is out of date or for another name says so", async () => {
    const old = await failure(makeCertificate("old", "-1"), { ca_file: "ca.pem" });
    expect([old.message, `${old.hint}`]).toEqual([
      expect.stringMatching(/out of date \(valid from .* to .*\)/),
      expect.stringContaining("clock"),
    ]);
    const other = await failure(makeCertificate("other", "2", "DNS:other.test"), { ca_file: "ca.pem" });
    expect([other.message, `${other.hint}`]).toEqual([
      expect.stringContaining("CN=other, which is another name"),
      expect.stringContaining("base_url"),
    ]);
  });

  itWhole("is believed where its authority is named, and an authority's file that is none is refused", async () => {
    const { port } = await startService(makeCertificate("service.test"));
    expect(await ask(clientOf(`https://localhost:${port}`, { ca_file: "ca.pem" }))).toBe(200);
    writeFileSync(path.join(folder, "none.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    for (const file of ["none.pem", "ca.key", "missing.pem"])
      expect(() => clientOf("https://localhost", { ca_file: file }), file).toThrow(/service\.ca_file/);
  });
});
