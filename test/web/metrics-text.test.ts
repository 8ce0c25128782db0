import { describe, expect, it } from "vitest";
import { renderMetrics } from "../../src/web/metrics-text.ts";

describe("the text format of metrics", () => {
  it("writes help, type and samples exactly as Prometheus reads them", () => {
    expect(
      renderMetrics([
        { name: "a_total", help: "What it counts.", type: "counter", samples: [{ value: 3 }] },
        {
          name: "b_seconds",
          help: "Two\nlines and a \\.",
          type: "gauge",
          samples: [
            { value: 0.5, labels: { flow: "orders", reason: "rate limit" } },
            { value: 1795275486.845, labels: {} },
            { value: Number.NaN, labels: { x: 'say "hi"\nC:\\' } },
            { value: Number.POSITIVE_INFINITY },
            { value: Number.NEGATIVE_INFINITY },
          ],
        },
      ]),
    ).toBe(
      [
        "# HELP a_total What it counts.",
        "# TYPE a_total counter",
        "a_total 3",
        "# HELP b_seconds Two\\nlines and a \\\\.",
        "# TYPE b_seconds gauge",
        'b_seconds{flow="orders",reason="rate limit"} 0.5',
        "b_seconds 1795275486.845",
        'b_seconds{x="say \\"hi\\"\\nC:\\\\"} NaN',
        "b_seconds +Inf",
        "b_seconds -Inf",
        "",
      ].join("\n"),
    );
  });

  it("leaves a metric without samples out, instead of saying zero", () => {
    expect(renderMetrics([{ name: "a", help: "", type: "gauge", samples: [] }])).toBe("");
  });

  it("refuses names that no scraper takes", () => {
    const metric = { help: "", type: "gauge" } as const;
    expect(() => renderMetrics([{ ...metric, name: "a-b", samples: [{ value: 1 }] }])).toThrow(TypeError);
    expect(() => renderMetrics([{ ...metric, name: "a", samples: [{ value: 1, labels: { "a b": "" } }] }])).toThrow(
      TypeError,
    );
  });
});
