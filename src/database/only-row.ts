/** The row of a statement that always gives one: a count, or what a RETURNING clause gives. */
export function onlyRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error("A statement that always gives a row gave none.");
  return row;
}
