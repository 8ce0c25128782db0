import type { Schedule } from "./schedule.ts";

/**
 * What a schedule must draw: forms, and a step with all of these properties. A list means any of its values: `{ do:
 * "lie", lie: { on: "snapshot", status: [404, 410] } }` matches a lie that an order does not exist.
 */
export interface Draws {
  readonly forms?: Wanted;
  readonly step?: Wanted;
}

type Plain = string | number | boolean | null;
type Wanted = { readonly [name: string]: Wanted | readonly Plain[] | Plain };

export function isDrawn({ forms, steps }: Schedule, draws: Draws): boolean {
  const hasForms = draws.forms === undefined || isWanted(forms, draws.forms);
  const { step } = draws;
  return hasForms && (step === undefined || steps.some((each) => isWanted(each, step)));
}

function isWanted(value: unknown, wanted: Wanted[string]): boolean {
  if (Array.isArray(wanted)) return wanted.includes(value);
  if (typeof wanted !== "object" || wanted === null) return value === wanted;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(wanted).every(([name, each]) =>
    isWanted((value as Record<string, unknown>)[name], each as Wanted[string]),
  );
}
