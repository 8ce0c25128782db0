import type { AnswerForms } from "../pass/answer-forms.ts";
import type { JobContext } from "../pass/job.ts";
import type { ConfirmForm } from "./confirm-form.ts";
import type { ConfirmState } from "./confirm-state.ts";
import type { ConfirmedOrders } from "./confirmed-orders.ts";
import type { LateOrders } from "./late-orders.ts";
import type { LostAnswers } from "./lost-answers.ts";
import type { ServedAgain } from "./served-again.ts";

/** What the steps of a confirm share. */
export interface ConfirmContext extends JobContext {
  form: ConfirmForm;
  /** The account that confirms are sent to. */
  account: string;
  forms: AnswerForms;
  state: ConfirmState;
  late: LateOrders;
  lost: LostAnswers;
  again: ServedAgain;
  named: ConfirmedOrders;
}
