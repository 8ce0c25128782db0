/**
 * Texts whose parts are made in other places of the program: how they read in the end. A message that changes its
 * words is no longer found here, and then asks for a reading of its own.
 */
export const READINGS: Readonly<Record<string, readonly string[]>> = {
  "a list of {kindof}s": ["a list of strings", "a list of arrays", "a list of booleans", "a list of nulls"],
  "an {kind}": ["an object", "an array"],
  ", status {shortwords}": ["as revision 1 (from a batch), status new"],
  "revision {revision} ({source}){moved}{more}": [
    "revision 2 (from the updates): $.total 1 → 2; $.note nothing → a",
    "revision 2 (from the updates): status new → paid; $.total 1 → 2",
    "revision 2 (read from the service): status new → paid",
  ],
  "{name} wanted by the ERP": [
    "request 4: status shipped wanted by the ERP",
    "request 4: status shipped wanted by the ERP, pending",
    "request 4: status shipped wanted by the ERP, sending: the outcome is not known yet",
  ],
  " as {value}": ["taken by the ERP as 00017, revision 1 of 2"],
  "taken by the ERP{number} up to revision {seen}": [
    "taken by the ERP up to revision 1; revision 2 waits since 2026-01-01T00:00:00.000Z",
  ],
  "taken by the ERP{number}, revision {seen} of {revision}": ["taken by the ERP, revision 1 of 2"],
  " (it says: {words})": ["The answer has no $.orders: at $ stands an object of 1 key: error (it says: try later)."],
  "is no complete JSON (at byte {offset} of {length}: {found})": [
    "The answer is no complete JSON (at byte 7 of 9: the text ends)",
  ],
  "is no complete JSON (at byte {offset} of {length}, record {element}: {found})": [
    "The answer is no complete JSON (at byte 7 of 9, record 2: an unexpected character)",
  ],
  "The answer {what}": ["The answer is empty", "The answer is no complete JSON (at byte 7 of 9: the text ends)"],
  "The answer {what}: {preview}": [
    'The answer is no complete JSON (at byte 7 of 9, record 2: an unexpected character): {"orders"',
  ],
};
