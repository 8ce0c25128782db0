import { shortWords } from "../messages/inert-text.ts";
import { m } from "../messages/messages.ts";
import { headOf, tellOrder } from "../orders/story.ts";
import { findOrders, loadOrderStory } from "../orders/story-rows.ts";
import { BridgeError, EXIT } from "../platform/errors.ts";
import { type Command, load, readExisting } from "./command.ts";
import { jsonLine } from "./terminal.ts";

/** A number need not be unique; a longer list is of no use. */
const ORDERS_MAX = 10;

/** Shows the history of one order: received, stored, confirmed, changed, read by the ERP, status sent. */
export const order: Command<{ name: string }> = async (call, { name }) => {
  const loaded = await load(call);
  using store = readExisting(loaded);
  const stories = findOrders(store, name, ORDERS_MAX).map((orderId) => loadOrderStory(store, orderId));
  if (stories.length === 0) {
    throw new BridgeError("usage", m.quarantine.noOrder({ name: shortWords(name) }), { hint: m.quarantine.nameOrder });
  }
  if (call.json) {
    const orders = stories.map((story) => ({ ...story, timeline: tellOrder(story) }));
    call.terminal.out(jsonLine({ orders }));
    return EXIT.ok;
  }
  const { say = String } = call.terminal;
  for (const story of stories) {
    call.terminal.out(headOf(story));
    for (const { at, what, text } of tellOrder(story)) {
      call.terminal.out(`  ${(at ?? "now").padEnd(24)}  ${what.padEnd(10)}  ${say(text)}`, "as it is");
    }
  }
  return EXIT.ok;
};
