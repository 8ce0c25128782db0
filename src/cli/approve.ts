import { FEED_NAMES, type FeedName } from "../config/feed-names.ts";
import { approveGuarded } from "../feeds/feed-rows.ts";
import { m } from "../messages/messages.ts";
import { deleteHold } from "../pass/hold-rows.ts";
import { EXIT } from "../platform/errors.ts";
import { askDaemon } from "./ask-daemon.ts";
import { type Command, load, unknownWord } from "./command.ts";
import { openExisting } from "./open-existing.ts";
import { jsonLine } from "./terminal.ts";

/** Lets the rows go on that a feed's guard holds back. */
export const approve: Command<{ feed: string }> = async (call, { feed }) => {
  const name = FEED_NAMES.find((known) => known === feed);
  if (name === undefined) throw unknownWord(m.command.feed, feed, FEED_NAMES);
  const loaded = await load(call);
  using store = openExisting(loaded);
  const rows = store.write(() => {
    deleteHold(store, name, "guard");
    return approveGuarded(store, name satisfies FeedName);
  });
  const asked = rows > 0 && askDaemon(store, [name]);
  if (call.json) call.terminal.out(jsonLine({ feed: name, rows, asked }));
  else if (rows === 0) call.terminal.out(m.command.nothingWaits({ name }));
  else call.terminal.out(asked ? m.command.sentNow({ name, rows }) : m.command.sentNextPass({ name, rows }));
  return EXIT.ok;
};
