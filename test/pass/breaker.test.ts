import { describe, expect, it } from "vitest";
import { Breaker } from "../../src/pass/breaker.ts";

describe("the breaker", () => {
  it("opens after failures in a row, and counts anew after a success", () => {
    const breaker = new Breaker(3);
    expect([breaker.fail(), breaker.fail()]).toEqual([false, false]);
    breaker.succeed();
    expect([breaker.fail(), breaker.fail(), breaker.fail()]).toEqual([false, false, true]);
    expect(breaker.isOpen).toBe(true);
  });

  it("says whether anything was answered well", () => {
    const breaker = new Breaker();
    breaker.fail();
    expect(breaker.hasSucceeded).toBe(false);
    breaker.succeed();
    expect(breaker.hasSucceeded).toBe(true);
  });
});
