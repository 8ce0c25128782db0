/*
 * Drives a real browser through its debugging pipe, without a dependency: opens a page at a width and in light or dark,
 * takes its picture, and collects what the browser complains of.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Readable, Writable } from "node:stream";

const BROWSER = "/usr/bin/chromium";
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--hide-scrollbars",
  "--remote-debugging-pipe",
];
const ANSWER_TIMEOUT_MS = 30_000;

/** The browser of this machine; undefined where there is none. */
export function findBrowser(): string | undefined {
  return existsSync(BROWSER) ? BROWSER : undefined;
}

export interface Sight {
  url: string;
  width: number;
  height: number;
  scheme: "light" | "dark";
  /** Whether pictures and tests of a phone are meant: touch, and a page that is as wide as the screen. */
  isPhone?: boolean;
}

export interface Seen {
  png: Buffer;
  /** What the browser complains of: errors, refused resources, violations of the policy. */
  complaints: string[];
  /** Pixels by which the page is wider than the window. */
  overflowPx: number;
  /** The worst contrast of any text with what is behind it, and where. */
  contrast: { ratio: number; text: string };
  title: string;
  language: string;
  heading: string;
}

type Params = Record<string, unknown>;
interface Message {
  id?: number;
  method?: string;
  sessionId?: string;
  params?: Params;
  result?: Params;
  error?: { message: string };
}

export class Browser {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, { resolve: (result: Params) => void; reject: (error: Error) => void }>();
  readonly #listeners = new Set<(message: Message) => void>();
  #lastId = 0;

  constructor(program: string) {
    this.#folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-browser-"));
    this.#child = spawn(program, [...FLAGS, `--user-data-dir=${this.#folder}`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
      env: { ...process.env, HOME: this.#folder },
    });
    this.#exited = new Promise((resolve) => this.#child.once("exit", () => resolve()));
    // Also when this process ends in a way that nobody wanted.
    process.once("exit", () => this.#child.kill("SIGKILL"));
    void this.#exited.then(() => this.#failAll(new Error("The browser has ended.")));
    this.#listen(this.#child.stdio[4] as Readable);
  }

  async look({ url, width, height, scheme, isPhone = false }: Sight): Promise<Seen> {
    const { targetId } = await this.#send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true });
    const session = sessionId as string;
    const send = (method: string, params: Params = {}) => this.#send(method, params, session);
    const complaints: string[] = [];
    const loaded = new Promise<void>((resolve) => {
      this.#listeners.add(({ method, sessionId, params }) => {
        if (sessionId !== session) return;
        if (method === "Page.loadEventFired") resolve();
        const complaint = complaintOf(method ?? "", params ?? {});
        if (complaint !== undefined) complaints.push(complaint);
      });
    });
    for (const domain of ["Page", "Log", "Runtime", "Network", "Audits"]) await send(`${domain}.enable`);
    await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: isPhone });
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    await send("Page.navigate", { url });
    await loaded;
    const { result } = await send("Runtime.evaluate", { expression: `(${examine})()`, returnByValue: true });
    const { data } = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
    await this.#send("Target.closeTarget", { targetId });
    const examined = (result as { value: Omit<Seen, "png" | "complaints"> }).value;
    return { ...examined, complaints, png: Buffer.from(data as string, "base64") };
  }

  async close(): Promise<void> {
    this.#child.kill();
    await this.#exited;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #send(method: string, params: Params, sessionId?: string): Promise<Params> {
    const id = ++this.#lastId;
    const answer = new Promise<Params>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), ANSWER_TIMEOUT_MS);
    (this.#child.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  #listen(pipe: Readable): void {
    let rest = "";
    pipe.setEncoding("utf8").on("data", (chunk: string) => {
      const texts = (rest + chunk).split("\0");
      rest = texts.pop() ?? "";
      for (const text of texts) this.#take(JSON.parse(text) as Message);
    });
  }

  #take(message: Message): void {
    const waiting = this.#waiting.get(message.id ?? 0);
    this.#waiting.delete(message.id ?? 0);
    if (message.error !== undefined) waiting?.reject(new Error(message.error.message));
    else waiting?.resolve(message.result ?? {});
    for (const listener of this.#listeners) listener(message);
  }

  #failAll(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}

function complaintOf(method: string, params: Params): string | undefined {
  const text = () => JSON.stringify(params).slice(0, 300);
  if (method === "Runtime.exceptionThrown" || method === "Runtime.consoleAPICalled") return text();
  if (method === "Audits.issueAdded" || method === "Network.loadingFailed") return text();
  if (method !== "Log.entryAdded") return undefined;
  const { level, text: words } = params["entry"] as { level: string; text: string };
  return level === "error" || level === "warning" ? words : undefined;
}

/** Runs inside the page, so it can use nothing from outside. */
const examine = `() => {
  const channel = (part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour[3] !== 0) return colour;
    }
    return [255, 255, 255];
  };
  let worst = { ratio: 21, text: "" };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.data.trim();
    const element = node.parentElement;
    if (text === "" || element.closest("svg, details:not([open]) > :not(summary)") !== null) continue;
    const [a, b] = [light(parts(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst.ratio) worst = { ratio: Math.round(ratio * 100) / 100, text };
  }
  return {
    overflowPx: document.documentElement.scrollWidth - window.innerWidth,
    contrast: worst,
    title: document.title,
    language: document.documentElement.lang,
    heading: document.querySelector("h1").textContent,
  };
}`;
