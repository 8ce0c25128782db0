import { expect, it } from "vitest";
import { GrowingBytes } from "../../src/mirror/down/growing-bytes.ts";
import { RowsBuffer, RowsBuffers } from "../../src/mirror/down/rows-buffer.ts";

const COLUMNS = { sku: "text", data: "jsonb" } as const;

function written(rows: RowsBuffer<typeof COLUMNS>): string {
  const bytes = new GrowingBytes({ startBytes: 8, keptBytes: 64 });
  rows.writeTo(bytes);
  return bytes.written.toString("hex");
}

it("writes rows as the arrays that array_recv reads", () => {
  const rows = new RowsBuffer(COLUMNS, [{ sku: "ж", data: null }]);
  // Dimensions, whether there are NULLs, the type, how many values and the first one's number; then each with its length.
  const sku = "00000001 00000000 00000019 00000001 00000001 00000002 d0b6";
  const data = "00000001 00000001 00000eda 00000001 00000001 ffffffff";
  expect(written(rows)).toBe(`0000001a ${sku} 00000018 ${data}`.replaceAll(" ", ""));
});

it("takes the next rows elsewhere while the last ones are written", () => {
  const buffers = new RowsBuffers(COLUMNS);
  const first = buffers.next();
  first.add({ sku: "one", data: "{}" });
  const before = written(first);
  buffers.next().add({ sku: "two", data: "[]" });
  expect(written(first)).toBe(before);
  expect(buffers.next()).toBe(first);
  expect(first.count).toBe(0);
});

it("gives back what a giant record took", () => {
  const bytes = new GrowingBytes({ startBytes: 8, keptBytes: 64 });
  bytes.text("ж".repeat(10_000));
  expect(bytes.length).toBe(20_000);
  expect(bytes.written.buffer.byteLength).toBeGreaterThanOrEqual(20_000);
  bytes.clear();
  expect(bytes.written.buffer.byteLength).toBe(8);
});
