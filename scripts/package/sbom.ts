import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { bundledPackages, type LockedPackage } from "./notices.ts";
import { ARCHITECTURES, type Architecture, knownVulnerabilities, type Runtime } from "./runtime.ts";

interface Carried {
  root: string;
  version: string;
  epoch: number;
  arch: Architecture;
  runtime: Runtime;
}

/**
 * What the package is made of, as CycloneDX 1.6: every library in the bundle with its version, licence and hash, SQLite, Node,
 * and what is known against it. The same commit gives the same text.
 */
export function billOfMaterials({ root, version, epoch, arch, runtime }: Carried): object {
  const self = `pkg:deb/erp-bridge@${version}?arch=${arch}`;
  const node = `pkg:generic/node@${runtime.version}?arch=${arch}`;
  const libraries = [...bundledPackages(root).map(([place, locked]) => libraryOf(place, locked)), sqlite(root, arch)];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(`${self} ${node} ${epoch}`)}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: { type: "application", "bom-ref": self, name: "erp-bridge", version, purl: self },
    },
    components: [
      ...libraries,
      {
        type: "application",
        "bom-ref": node,
        name: "node",
        version: runtime.version,
        purl: node,
        licenses: [{ license: { name: "MIT and others, see the copyright file" } }],
        hashes: [sha256(runtime.program)],
      },
    ],
    dependencies: [{ ref: self, dependsOn: [...libraries.map((library) => library["bom-ref"]), node] }],
    vulnerabilities: knownVulnerabilities(runtime.version).map(({ id, mendedIn }) => ({
      id,
      affects: [{ ref: node }],
      recommendation: `Node ${mendedIn}`,
      analysis: {
        state: "not_affected",
        justification: "code_not_reachable",
        detail: "erp-bridge asks for answers without compression, refuses all others and never decodes Brotli.",
      },
    })),
  };
}

/** Compiled into the native module, in one version for every architecture. The hash is that of the module. */
function sqlite(root: string, arch: Architecture) {
  const db = new Database(":memory:");
  const version = String(db.prepare("SELECT sqlite_version()").pluck().get());
  db.close();
  const purl = `pkg:generic/sqlite@${version}`;
  const module = `node_modules/better-sqlite3/prebuilds/linux-${ARCHITECTURES[arch].npm}.node`;
  return {
    type: "library",
    "bom-ref": purl,
    name: "sqlite",
    version,
    purl,
    licenses: [{ license: { id: "blessing" } }],
    hashes: [sha256(path.join(root, module))],
  };
}

function sha256(file: string) {
  return { alg: "SHA-256", content: createHash("sha256").update(readFileSync(file)).digest("hex") };
}

function libraryOf(place: string, { version = "", license, integrity }: LockedPackage) {
  const name = place.replace(/^.*node_modules\//, "");
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const sum = /^sha512-(.+)$/.exec(integrity ?? "")?.[1];
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    ...(sum === undefined ? {} : { hashes: [{ alg: "SHA-512", content: Buffer.from(sum, "base64").toString("hex") }] }),
  };
}

/** A UUID that the same text always gives (RFC 9562, version 8). */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
