import { expect, it } from "vitest";
import { describeRow } from "../../src/health/flow-row.ts";
import { render } from "../../src/messages/message.ts";
import { ago, factsOf, flowOf, NOW_MS } from "../support/conditions.ts";

const HOURS = 60;

it.each([
  [flowOf("orders"), false, "Succeeded 12 s ago.", "Удачный обмен 12 с назад."],
  [
    flowOf("stocks", { lastSuccessAt: ago(11), asOf: ago(3 * HOURS), waiting: 2, refused: 1, quarantined: 4 }),
    false,
    "Succeeded 11 min ago. 2 waiting. 1 refused, tried again. 4 in quarantine. On the site as of 3 h ago.",
    "Удачный обмен 11 мин назад. Ждут: 2. Отклонено сервисом, будет отправлено ещё раз: 1. В карантине: 4. На сайте состояние 3 ч назад.",
  ],
  [
    flowOf("orders", { held: "credentials", lastSuccessAt: null }),
    false,
    "Held (credentials). Has not succeeded yet.",
    "Остановлено (credentials). Удачного обмена ещё не было.",
  ],
  [flowOf("orders", { held: "credentials" }), true, "Succeeded 12 s ago.", "Удачный обмен 12 с назад."],
  [
    flowOf("erp", { waiting: 1, waitingSince: ago(4), quarantined: 2 }),
    false,
    "1 order not yet taken by the ERP, the oldest for 4 min. 2 blocked by the ERP.",
    "В ERP ещё не забрано заказов: 1, самый старый ждёт 4 мин. Отложено в ERP: 2.",
  ],
  [flowOf("erp"), false, "The ERP has taken every order.", "ERP забрала все заказы."],
  [flowOf("prices", { enabled: false }), false, "Switched off.", "Выключено."],
])("a row of the status is said in both languages: %#", (flow, hasLead, english, russian) => {
  const row = describeRow(flow, factsOf(), NOW_MS, hasLead);
  expect([render("en", row), render("ru", row)]).toEqual([english, russian]);
});
