import os from "node:os";
import path from "node:path";
import { findStaleCredential, handedOverSecret } from "../config/credential.ts";
import type { LoadedConfig } from "../config/load.ts";
import { routeOf } from "../config/route.ts";
import type { ErpObjects } from "../database/objects/erp-objects.ts";
import { Channels } from "../health/channels.ts";
import type { AlertMessage } from "../health/plan-alerts.ts";
import { SaveConditions } from "../health/save-conditions.ts";
import { type Receiver, SendAlerts } from "../health/send-alerts.ts";
import { SendHeartbeat } from "../health/send-heartbeat.ts";
import { SettleTimes } from "../health/settle-times.ts";
import { type Look, Watch } from "../health/watch.ts";
import { WatchMachine } from "../health/watch-machine.ts";
import type { Watched } from "../health/watched.ts";
import { speaking } from "../messages/message.ts";
import type { JobContext } from "../pass/job.ts";
import { runProgramAside } from "../platform/run-program.ts";
import { compileObserveRules } from "../probe/observe.ts";
import { ObserveOrders } from "../probe/observe-orders.ts";
import { callOutside } from "../service/outside-call.ts";
import { orderRulesOf } from "./build-jobs.ts";

const USER_AGENT = "erp-bridge";
/** Version of the webhook's body; raised by a change that breaks a reader. */
const MESSAGE_VERSION = 1;

/** Everything that observes the flows from outside: notices, conditions, alerts and the heartbeat. */
export function buildWatch(
  context: JobContext,
  objects: ErpObjects,
  loaded: LoadedConfig,
  watched: () => Watched,
): Watch {
  const { config } = loaded;
  const { orders, statuses, heartbeat } = config;
  const rules = orderRulesOf(loaded);
  const observe = new ObserveOrders(
    context,
    compileObserveRules(rules, { extra: orders.extra, statusMap: statuses.map }),
  );
  const machine = new WatchMachine(context, objects, () => findStaleCredential(handedOverSecret(loaded, process.env)));
  const looks: Look[] = [
    { name: "observe", look: (signal) => observe.look(signal) },
    { name: "machine", look: (signal) => machine.look(signal) },
  ];
  const times = new SettleTimes(context);
  looks.push({ name: "times", look: (signal) => times.look(signal) });
  const saved = new SaveConditions(context, watched);
  looks.push({ name: "conditions", look: (signal) => saved.look(signal) });
  const receivers = buildReceivers(loaded);
  const names = receivers.map(({ name }) => name);
  const channels = new Channels(context, heartbeat === null ? names : [...names, "heartbeat"]);
  if (receivers.length > 0) {
    const alerts = new SendAlerts(context, channels, {
      receivers,
      watched,
      language: config.language,
    });
    looks.push({ name: "alerts", look: (signal) => alerts.look(signal) });
  }
  if (heartbeat !== null) {
    const route = routeOf(config);
    const call = (signal: AbortSignal) =>
      callOutside({ method: "GET", url: heartbeat, userAgent: USER_AGENT, signal, route });
    const beat = new SendHeartbeat(context, channels, { watched, call });
    looks.push({ name: "heartbeat", look: (signal) => beat.look(signal) });
  }
  return new Watch(context, looks);
}

/** The configured receivers of alerts. */
export function buildReceivers({ config, file }: Pick<LoadedConfig, "config" | "file">): Receiver[] {
  const { webhook, command } = config.alerts;
  const origin = { host: os.hostname(), instance: path.basename(file, path.extname(file)) };
  const say = speaking(config.language);
  const route = routeOf(config);
  const receivers: Receiver[] = [];
  if (webhook !== null) {
    receivers.push({
      name: "webhook",
      send: (message, at, signal) =>
        callOutside({
          method: "POST",
          url: webhook,
          body: bodyOf({ ...message, text: say(message.text) }, { at, ...origin }),
          userAgent: USER_AGENT,
          signal,
          route,
        }),
    });
  }
  if (command !== null) {
    receivers.push({
      name: "command",
      send: (message, at, signal) =>
        runProgramAside({
          command,
          input: `${say(message.text)}\n`,
          env: {
            ERP_BRIDGE_ALERT_KIND: message.kind,
            ERP_BRIDGE_ALERT_SUBJECT: message.subject,
            ERP_BRIDGE_ALERT_TEXT: say(message.text),
            ERP_BRIDGE_ALERT_AT: at,
            ERP_BRIDGE_ALERT_JSON: bodyOf({ ...message, text: say(message.text) }, { at, ...origin }),
            ERP_BRIDGE_HOST: origin.host,
            ERP_BRIDGE_INSTANCE: origin.instance,
          },
          surroundings: process.env,
          signal,
        }),
    });
  }
  return receivers;
}

/** As in docs/alert.schema.json. Chat services read the property `text`, so most accept the message unchanged. */
function bodyOf(message: AlertMessage, origin: { at: string; host: string; instance: string }): string {
  return JSON.stringify({ version: MESSAGE_VERSION, program: "erp-bridge", ...message, ...origin });
}
