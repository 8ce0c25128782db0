/* Answers that cost a reader the most for their size. Each is a whole body for GET /orders. */

/** What is repeated between the two ends until the size is reached. */
const SHAPES: Readonly<Record<string, { open: string; item: (n: number) => string; close: string }>> = {
  "records that are empty": { open: '{"orders":[', item: () => "{}", close: "]}" },
  "records that are numbers": { open: '{"orders":[', item: () => "1", close: "]}" },
  "members of the whole": { open: '{"orders":[],', item: (n) => `"${n.toString(36)}":1`, close: "}" },
  "members that are strange": { open: '{"a":[{}],', item: (n) => `"${n.toString(36)}":1`, close: "}" },
  "lines of one order": {
    open: '{"orders":[{"order_id":"3f2504e0-4f89-41d3-9a0c-0305e82c3301","number":"1","status":"new","items":[',
    item: () => "{}",
    close: "]}]}",
  },
  "levels of one order": {
    open: `{"orders":[{"order_id":"3f2504e0-4f89-41d3-9a0c-0305e82c3301","a":${"[".repeat(1e6)}`,
    item: () => "1",
    close: `${"]".repeat(1e6)}}]}`,
  },
  "one long text": { open: '{"orders":["', item: () => "текст, ", close: '"]}' },
  "escapes in one text": { open: '{"orders":["', item: () => "\\u0430", close: '"]}' },
};

export const SHAPE_NAMES: readonly string[] = Object.keys(SHAPES);

/** About `size` bytes of that shape. */
export function hostileBody(name: string, size: number): Buffer {
  const shape = SHAPES[name];
  if (shape === undefined) throw new Error(`no shape ${name}`);
  const body = Buffer.alloc(size);
  let at = body.write(shape.open, 0);
  const isList = shape.open.endsWith("[") || shape.open.endsWith(",");
  const end = size - Buffer.byteLength(shape.close) - 64;
  for (let n = 0; at < end; ) {
    // Many items at once: one write each would take longer than what is measured.
    const items = Array.from({ length: 10_000 }, () => shape.item(n++));
    const text = `${isList && n > items.length ? "," : ""}${items.join(isList ? "," : "")}`;
    if (at + Buffer.byteLength(text) > end) {
      if (n > items.length) break;
      at += body.write(items[0] ?? "", at);
      break;
    }
    at += body.write(text, at);
  }
  at += body.write(shape.close, at);
  return body.subarray(0, at);
}
