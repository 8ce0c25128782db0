/* What stands beside the lists of answers as a rule, by endpoint. */

import { LearnedTopic } from "../pass/learned-rows.ts";
import type { LearnedMetadata } from "./plan-completeness.ts";

export const NOTHING_LEARNED: LearnedMetadata = { hasEmpty: false, known: {} };

export const LISTS = new LearnedTopic<LearnedMetadata>("list", NOTHING_LEARNED);
