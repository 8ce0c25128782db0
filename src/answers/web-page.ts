import { scanJson } from "./scan-json.ts";

/** Whether an answer is a web page, which is never an acceptance. Valid JSON is not one, whatever its content type. */
export function looksLikeHtml(answer: { contentType: string; body: Buffer }): boolean {
  return isMarkup(answer.body) || (answer.contentType.includes("html") && !isJson(answer.body));
}

export function isMarkup(body: Buffer): boolean {
  return /^(?:\u00ef\u00bb\u00bf)?\s*</.test(body.subarray(0, 200).toString("latin1"));
}

function isJson(body: Buffer): boolean {
  try {
    scanJson(body);
    return true;
  } catch {
    return false;
  }
}
