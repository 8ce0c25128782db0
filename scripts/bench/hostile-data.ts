/* Answers that cost a reader the most for their size. */

const ORDER_ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
const ORDER = `{"order_id":"${ORDER_ID}","number":"1","status":"new","items":[]`;

interface Shape {
  open: string;
  item: (n: number) => string;
  close: string;
}

/** What is repeated between the two ends until the size is reached. */
const SHAPES: Readonly<Record<string, Shape>> = {
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
  "a text of one order": { open: `{"orders":[${ORDER},"note":"`, item: () => "текст, ", close: '"}]}' },
  "quotes in a text of one order": { open: `{"orders":[${ORDER},"note":"`, item: () => '\\"', close: '"}]}' },
  "digits of one number": { open: `{"orders":[${ORDER},"total":1`, item: () => "7", close: "}]}" },
  "one key of one order": { open: `{"orders":[${ORDER},"`, item: () => "ключ ", close: '":1}]}' },
  "members of one order": { open: `{"orders":[${ORDER},`, item: (n) => `"k${n.toString(36)}":1`, close: "}]}" },
  "texts of one order": {
    open: `{"orders":[${ORDER},`,
    item: (n) => `"k${n.toString(36)}":"${"текст ".repeat(100)}"`,
    close: "}]}",
  },
  "blanks in one order": { open: `{"orders":[${ORDER},"total":`, item: () => "          ", close: "1}]}" },
  "records that are no JSON": { open: '{"orders":[', item: () => '{"order_id":"a\tb","note":NaN}', close: "]}" },
  "records with a text that are no JSON": {
    open: '{"orders":[',
    item: (n) => `{"order_id":"${n}","a":NaN,"b":"${"текст ".repeat(500)}"}`,
    close: "]}",
  },
  "escapes beside such a record": { open: '{"orders":[{"a":NaN},"', item: () => "\\u0430", close: '"]}' },
  "a text beside the orders": { open: '{"note":"', item: () => "текст, ", close: '","orders":[]}' },
  "a key beside the orders": { open: '{"orders":[],"', item: () => "ключ ", close: '":1}' },
};

export const SHAPE_NAMES: readonly string[] = Object.keys(SHAPES);

/** Those of one order, which may come in any answer. */
export const ORDER_SHAPES: readonly string[] = SHAPE_NAMES.filter((name) => SHAPES[name]?.open.includes(ORDER));

/** The order of the body is that one. */
export function withId(body: Buffer, orderId: string): Buffer {
  const at = body.indexOf(ORDER_ID);
  if (at !== -1) body.write(orderId, at, "latin1");
  return body;
}

/** About `size` bytes of that shape, with the records under that key; null: the one record alone. */
export function hostileBody(name: string, size: number, key: string | null = "orders"): Buffer {
  const found = SHAPES[name];
  if (found === undefined) throw new Error(`no shape ${name}`);
  const shape = key === null ? aloneOf(found) : { ...found, open: found.open.replace('"orders"', `"${key}"`) };
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

function aloneOf({ open, item, close }: Shape): Shape {
  return { open: open.slice('{"orders":['.length), item, close: close.slice(0, -"]}".length) };
}
