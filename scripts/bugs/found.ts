/* Bugs that an attack from outside would find again, by what the world draws since. */
import { hostile, one, type PlantedBug } from "./bug.ts";

const SAID = "src/service/said-of-records.ts";

/** A record is left out, and the answer says so in this form. */
const leftOut = (importAnswer: string) => ({ forms: { importAnswer }, step: { do: "leave out" } }) as const;

export const FOUND_BUGS: readonly PlantedBug[] = [
  {
    ...one(
      "what an answer says of single records overlooked",
      SAID,
      "word !== WELL && !words.includes(word)",
      "word !== WELL && words.length < 0",
    ),
    draws: { step: { do: "leave out" } },
  },
  {
    ...one(
      "another number of a record overlooked",
      SAID,
      "return sent === undefined || said === undefined || sent === said ?",
      "return sent === undefined || said === undefined || sent !== undefined ?",
    ),
    draws: leftOut("echo"),
  },
  {
    ...one(
      "a record that a text names overlooked",
      SAID,
      "for (const index of names.inText(value))",
      "for (const index of names.of(value))",
    ),
    draws: leftOut("note"),
  },
  hostile(
    "what is said of one record usual after hours",
    "src/service/answer-form.ts",
    ["&& isLong && !isOfRecords", "&& isLong"],
    { forms: { importAnswer: ["missing", "by-key"] }, step: { do: "leave out", ms: [6 * 3_600_000, 30 * 3_600_000] } },
  ),
];
