/* Sizes and spans as people read them, in both languages. */
import { countedRu } from "./counted.ts";

const MB = 1_000_000;

function sizeIn(bytes: number): readonly [n: string, unit: "KB" | "MB" | "GB"] {
  if (bytes < MB) return [String(Math.ceil(bytes / 1_000)), "KB"];
  if (bytes < 1_000 * MB) return [String(Math.floor(bytes / MB)), "MB"];
  return [(bytes / 1_000 / MB).toFixed(1), "GB"];
}

export function sizeText(bytes: number): string {
  return sizeIn(bytes).join(" ");
}

const UNITS_RU = { KB: "КБ", MB: "МБ", GB: "ГБ" } as const;

export function sizeTextRu(bytes: number): string {
  const [n, unit] = sizeIn(bytes);
  return `${n.replace(".", ",")} ${UNITS_RU[unit]}`;
}

/** `12 s`, `4 min`, `5 h`, `3 days` */
export function spanText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

export function spanTextRu(seconds: number): string {
  if (seconds < 120) return `${seconds} с`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} мин`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} ч`;
  return countedRu(Math.floor(seconds / 86_400), ["день", "дня", "дней"]);
}
