import type { Said } from "../message.ts";

export const check = {
  passed: ({ check, text }: { check: string; text: Said }) => `ok   ${check}: ${text}`,
  failed: ({ check, text }: { check: string; text: Said }) => `FAIL ${check}: ${text}`,
  lookingThrough: "Looking through the database",
  askingService: "Asking the service",
  valid: ({ file }: { file: string }) => `${file} is valid`,
  erpObjects: ({ names }: { names: string }) =>
    `Triggers or indexes of the ERP's stand on the bridge's tables, drop them: ${names}.`,
  notThereYet: ({ file }: { file: string }) => `${file} does not exist yet and is made at the first start`,
  damaged: ({ file, found }: { file: string; found: string }) => `${file} is damaged (${found}).`,
  restoreBackup: "Restore a backup: erp-bridge restore FILE.",
  notWal: ({ source }: { source: string }) =>
    `${source} is not in WAL mode: programs that write it wait while it is read`,
  readable: ({ source }: { source: string }) => `${source} can be read`,
  nodeOld: ({ node, months }: { node: string; months: number }) =>
    `Node ${node} came with a package that is ${months} months old: install a newer one, for its security fixes`,
  freeIn: ({ free, folder }: { free: Said; folder: string }) => `${free} free in ${folder}`,
  fewFree: ({ free, folder }: { free: Said; folder: string }) => `only ${free} free in ${folder}`,
  notLooked: ({ folder, why }: { folder: string; why: Said }) => `${folder} cannot be looked at: ${why}`,
  noCopies: ({ folder, lacks }: { folder: string; lacks: Said }) => `${folder} ${lacks}; no copy can be kept there`,
  notFolder: "is not a folder",
  notWritable: "may not be written",
  noImages: ({ folder, lacks }: { folder: string; lacks: Said }) => `${folder} ${lacks}; no image is sent`,
  notReadable: "may not be read",
  sameAccount: ({ file }: { file: string }) =>
    `${file} names the same account: each instance would take the other's orders`,
  sameDatabase: ({ file, value }: { file: string; value: string }) => `${file} names the same database, ${value}`,
  samePort: ({ file, address }: { file: string; address: string }) =>
    `${file} listens on ${address} as well: only one of the two has a status page`,
  sameJournal: ({ file, folder }: { file: string; folder: string }) =>
    `${file} keeps its journal in ${folder} as well; give each instance a folder of its own`,
  sameCopies: ({ file, folder }: { file: string; folder: string }) =>
    `${file} keeps its copies in ${folder} as well; give each instance a folder of its own`,
  nothingShared: ({ names }: { names: readonly string[] }) =>
    `account, database, folders and port are shared with none of: ${names.join(", ")}`,
  pageOff: "switched off: no health, no metrics, no status page",
  addressFree: ({ address }: { address: string }) => `${address} is free`,
  addressTaken: ({ address, problem }: { address: string; problem: string }) =>
    `${address} cannot be listened on (${problem}): there will be no status page; orders go on`,
  pageAnswers: ({ address }: { address: string }) => `the running bridge answers on http://${address}/`,
  pageSilent: ({ address, error }: { address: string; error: string }) =>
    `the running bridge cannot listen on ${address} (${error}); orders go on`,
  sound: ({ file }: { file: string }) => `${file} is sound`,
  soundAndRunning: ({ file }: { file: string }) => `${file} is sound; a bridge is running on it`,
  node: ({ node }: { node: string }) => `Node ${node}`,
  nodeAdvisory: ({ node, advisory }: { node: string; advisory: string }) =>
    `Node ${node}; ${advisory} is known against it, in a part that is never used here`,
};
