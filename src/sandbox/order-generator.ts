import { type OrderContent, type OrderLine, sumOfLines } from "./order-content.ts";
import { integerBetween, pickOne, type Random, shuffled } from "./random.ts";

const GOODS = [
  ["00042", "Чай чёрный «Ассам», 250 г", "412.50"],
  ["A-17/3", "Кофе в зёрнах ☕ Арабика", "1290.00"],
  ["0001.10", "Сыр «Российский», весовой", "689.90"],
  ["БТ-5", "Батарейка AA 🔋 (блистер 4 шт.)", "199.00"],
  ["SKU 9", 'Кабель USB-C "быстрый", 2 м', "349.99"],
  ["x'1", "Гвозди 3×70, кг", "154.20"],
  ["7000000000000001", "Краска белая, 0,9 л", "520.00"],
  ["🎁-1", "Подарочный набор 🎁 «Ёлка»", "1999.00"],
] as const;

const NAMES = ["Иванова Мария", "Пётр Ёлкин", "Øystein Ås", "李雷", "O'Brien, Ann"] as const;
const COMMENTS = ["", "позвоните за час", "оставить у двери 🚪", 'код домофона "12"', "без звонка\nспасибо"] as const;

/** The statuses of generated orders, in the order in which live orders advance. */
export const STATUS_FLOW: readonly string[] = ["new", "paid", "assembling", "shipped", "delivered"];

/** Line ids that a JavaScript number cannot represent: odd numbers above 2^53. */
const FIRST_LINE_ID = 9_007_199_254_740_993n;

function generateLine(random: Random, good: (typeof GOODS)[number], id: bigint): OrderLine {
  const [sku, name, price] = good;
  const weighed = random() < 0.3;
  const quantity = weighed
    ? `${integerBetween(random, 0, 9)}.${integerBetween(random, 1, 99)}0`
    : String(integerBetween(random, 1, 12));
  return { id: id.toString(), sku, name, quantity, price };
}

/** Some lines of different goods; goods sold by weight have quantities such as `0.250`. */
function generateLines(random: Random, orderIndex: number): OrderLine[] {
  const count = integerBetween(random, 1, 5);
  return shuffled(random, GOODS)
    .slice(0, count)
    .map((good, index) => generateLine(random, good, FIRST_LINE_ID + BigInt(2 * (orderIndex * 16 + index))));
}

/** A realistic order. `index` numbers the orders of one service. */
export function generateContent(random: Random, index: number): OrderContent {
  const lines = generateLines(random, index);
  const phone = `+7 900 ${integerBetween(random, 100, 999)}-${integerBetween(random, 10, 99)}-00`;
  return {
    number: `ЗК-${String(index + 1).padStart(6, "0")}`,
    status: STATUS_FLOW[0] ?? "new",
    currency: "RUB",
    total: sumOfLines(lines),
    lines,
    extra: {
      customer: JSON.stringify({ name: pickOne(random, NAMES), phone }),
      comment: JSON.stringify(pickOne(random, COMMENTS)),
    },
    raw: null,
  };
}
