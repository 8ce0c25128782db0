import { expect } from "vitest";
import { readAcceptance } from "../../../src/service/outcome/acceptance.ts";
import { formOf } from "../../../src/service/outcome/answer-form.ts";
import { NOTHING_LEARNED } from "../../../src/service/outcome/compare-forms.ts";
import type { AnswerForm, LearnedForms } from "../../../src/service/outcome/known-forms.ts";
import type { SentRecord } from "../../../src/service/outcome/named-records.ts";
import { readSaid } from "../../../src/service/outcome/record-reports.ts";
import { learnUsual } from "../../../src/service/outcome/usual-forms.ts";
import { learnSaid, NOTHING_SAID, type UsuallySaid, wordsOf } from "../../../src/service/outcome/usual-reports.ts";

export const START_MS = Date.UTC(2026, 2, 1);
export const at = (ms: number) => new Date(ms).toISOString();

export function form(body: string, own?: readonly string[], size?: number): AnswerForm {
  const acceptance = readAcceptance({ contentType: "application/json", body: Buffer.from(body) });
  if (acceptance.kind !== "accepted") expect.fail(`${body} is ${acceptance.kind}`);
  return formOf(acceptance.answer, { ...acceptance, size }, new Set(own));
}

/** An endpoint that has answered so three times each. */
export function usually(...bodies: string[]): LearnedForms {
  return learnedFrom(...bodies, ...bodies, ...bodies);
}

/** An endpoint that has answered so. */
export function learnedFrom(...bodies: string[]): LearnedForms {
  let learned = NOTHING_LEARNED;
  for (const body of bodies) learned = learnUsual(learned, form(body), { at: at(START_MS), endsDoubt: false });
  return learned;
}

export const record = (...key: string[]): SentRecord => ({
  key,
  record: JSON.stringify({ sku: key[0], quantity: 3, level: { left: 5 } }),
});
export const SENT = [record("A-1"), record("B-2")];

function learned(usual: UsuallySaid, answer: unknown, sent: readonly SentRecord[]): UsuallySaid {
  const said = readSaid(answer, sent);
  return learnSaid(usual, wordsOf(said), said.ordinary);
}

/** What three answers of this kind have taught. */
export function usualOf(answer: unknown, sent: readonly SentRecord[] = SENT): UsuallySaid {
  let usual = NOTHING_SAID;
  for (let times = 0; times < 3; times++) usual = learned(usual, answer, sent);
  return usual;
}

/** The same of an answer of each kind. */
export function learnedOf(answers: readonly unknown[], sent: readonly SentRecord[]): UsuallySaid {
  let usual = NOTHING_SAID;
  for (const answer of [...answers, ...answers]) usual = learned(usual, answer, sent);
  return usual;
}

export function said(sku: string, more: object): object {
  return { sku, ...more };
}

export function both(more: object): object[] {
  return [said("A-1", more), said("B-2", more)];
}
