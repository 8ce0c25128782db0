import { statusWords } from "../health/condition-words.ts";
import type { Charts } from "./charts.ts";
import type { Html } from "./html.ts";
import { type Bar, barPlot } from "./plot.ts";
import type { View } from "./status-page.ts";

export function orderPlot({ days }: Charts, { words }: View): Html {
  const today = days.length - 1;
  const total = days.reduce((sum, { count }) => sum + count, 0);
  const best = days.reduce((most, day) => (day.count > most.count ? day : most));
  const bars = days.map(({ date, count }, index): Bar => {
    return {
      label: words.dayName(date),
      value: count,
      text: words.number(count),
      tone: index === today ? "now" : "plain",
    };
  });
  return barPlot(bars, {
    id: "orders",
    title: words.headings.orders,
    description: `${words.orders.caption(total, days.length)}; ${words.orders.most(best.count, words.dayName(best.date))}.`,
    from: bars[0]?.label ?? "",
    to: `${words.today}: ${words.ordersOf(days[today]?.count ?? 0)}`,
    values: words.values,
    head: [words.day, words.count],
    none: words.orders.none,
  });
}

/** Undefined where the stock feed is switched off. */
export function sitePlot({ hours }: Charts, { reading, words, language }: View): Html | undefined {
  const stocks = reading.facts.flows.find(({ flow }) => flow === "stocks");
  if (stocks === undefined || !stocks.enabled) return undefined;
  const { duration } = statusWords(language);
  const asOfMs = stocks.asOf === null ? null : Date.parse(stocks.asOf);
  const nowAgeS = asOfMs === null ? null : Math.max(0, Math.round((reading.nowMs - asOfMs) / 1000));
  // Changes that the guard holds or the service refuses are not on the site, though passes succeed.
  const ages = hours.map(({ ageS }, index) => {
    const endMs = hours[index + 1]?.date.getTime() ?? reading.nowMs;
    return asOfMs === null || endMs <= asOfMs ? ageS : Math.max(ageS ?? 0, Math.round((endMs - asOfMs) / 1000));
  });
  const known = ages.filter((age) => age !== null);
  const bars = hours.map(({ date }, index): Bar => {
    const age = ages[index] ?? null;
    const isNow = index === hours.length - 1;
    return {
      label: hourOf(date),
      value: age,
      text: age === null ? words.unknown : duration(age),
      tone: age !== null && age > stocks.staleAfterS ? "bad" : isNow ? "now" : "plain",
    };
  });
  const most = words.site.most(duration(Math.max(0, ...known)));
  return barPlot(bars, {
    id: "site",
    title: words.headings.site,
    description: `${words.site.caption(hours.length)}; ${most}.`,
    from: bars[0]?.label ?? "",
    to: nowAgeS === null ? words.now : words.site.now(duration(nowAgeS)),
    values: words.values,
    head: [words.hour, words.age],
    scaleMin: stocks.staleAfterS,
    // All zero: the first pass has just ended.
    none: known.length === 0 ? words.site.none : words.site.caption(hours.length),
  });
}

function hourOf(date: Date): string {
  return `${String(date.getHours()).padStart(2, "0")}:00`;
}
