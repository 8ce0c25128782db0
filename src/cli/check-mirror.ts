import type { LoadedConfig } from "../config/load.ts";
import { mirrorRouteOf } from "../config/route.ts";
import { m } from "../messages/messages.ts";
import { MirrorLink } from "../mirror/connection.ts";
import { placeOf } from "../mirror/mirror-error.ts";
import { verifySchema } from "../mirror/schema/schema-version.ts";
import { asError, EXIT, exitCodeOf } from "../platform/errors.ts";
import { type CheckResult, failed, passed } from "../probe/check-result.ts";

/**
 * Whether PostgreSQL accepts the login, its schema has this program's version, and the shop is known there. Changes
 * nothing.
 */
export async function checkMirror({ config }: LoadedConfig): Promise<CheckResult[]> {
  const route = mirrorRouteOf(config);
  if (route === undefined) return [];
  const options = { ...route, schema: config.mirror.schema, timeoutMs: config.mirror.timeout };
  const link = new MirrorLink({ ...options, verify: (query) => verifySchema(query, options) });
  try {
    const at = placeOf(route.target);
    const known = await link.look("SELECT 1 FROM shop_keys WHERE shop = $1", [route.shop]);
    if (known.length > 0) return [passed("mirror", m.mirror.reached({ at, shop: route.shop }))];
    const unknown = m.mirror.unknownShop({ at, shop: route.shop, user: route.target.user });
    const message = m.common.sentences({ parts: [unknown, m.mirror.rightHint({ shop: route.shop })] });
    return [failed("mirror", message, EXIT.failed)];
  } catch (thrown) {
    return [failed("mirror", asError(thrown).inFull, exitCodeOf(thrown))];
  } finally {
    link.close();
  }
}
