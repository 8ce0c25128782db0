import type { web as en } from "../en/web.ts";

export const web = {
  listening: ({ address }) => `Проверка работы, метрики и страница состояния: http://${address}/`,
  freePort: "Освободите порт или измените http.listen; попытки повторяются сами.",
  notListening: ({ address, error }) =>
    `${address}: адрес занять нельзя (${error}), страницы состояния пока нет. Заказы продолжают идти.`,
  noStatus: ({ code }) => `Состояние сейчас прочитать нельзя (${code}).`,
} satisfies typeof en;
