import { ServiceError } from "../base/errors.ts";
import { findSubscribed, removeSubscribed, removeUninstalled, saveSubscribed } from "../catalog/push/state.ts";
import { type Config, readConfig } from "../config/index.ts";
import type { Database } from "../database/database.ts";
import { createPlatform } from "../platforms/index.ts";
import type { Subscriptions } from "../platforms/platform.ts";
import { onSignal, openLog, type Values, withDatabase } from "./common.ts";
import { print, printMessage, printSafeJson, printTable } from "./output.ts";

/** Lets the platform deliver changes to this service. Can be repeated. */
export function subscribe(values: Values): Promise<boolean> {
  return withSubscriptions(async ({ subscriptions, database, config, signal }) => {
    const address = addressOf(subscriptions, config, values);
    await subscriptions.subscribe(address, signal);
    const before = await findSubscribed(database);
    await database.inTransaction(async (transaction) => {
      await saveSubscribed(transaction, address, []);
      await removeUninstalled(transaction);
    });
    print(`subscribed ${address} to ${subscriptions.topics.join(", ")}`);
    if (before !== undefined && before.address !== address) {
      printMessage(
        `the platform still delivers to ${before.address} too; to end that: pds platform unsubscribe --url ${before.address}`,
      );
    }
    return true;
  });
}

export function unsubscribe(values: Values): Promise<boolean> {
  return withSubscriptions(async ({ subscriptions, database, config, signal }) => {
    const known = await findSubscribed(database);
    const address = values.url === undefined && known ? known.address : addressOf(subscriptions, config, values);
    const found = (await subscriptions.list(signal)).filter((subscription) => subscription.address === address);
    for (const subscription of found) await subscriptions.unsubscribe(subscription, signal);
    if (known?.address === address) await database.inTransaction(removeSubscribed);
    if (found.length === 0) printMessage(`the platform does not deliver to ${address}`);
    else print(`unsubscribed ${address} from ${found.map(({ topic }) => topic).join(", ")}`);
    return found.length > 0;
  });
}

export async function printSubscriptions(values: Values): Promise<boolean> {
  const subscriptions = await connectSubscriptions();
  const { signal } = onSignal();
  const rows = (await subscriptions.list(signal)).map(({ topic, address, id }) => ({ topic, address, id }));
  if (values.json === true) printSafeJson(rows);
  else if (rows.length === 0) printMessage("no subscriptions; to create them: pds platform subscribe");
  else printTable(rows);
  return true;
}

interface SubscriptionContext {
  readonly subscriptions: Subscriptions;
  readonly database: Database;
  readonly config: Config;
  readonly signal: AbortSignal;
}

/** @throws ServiceError `invalid_setting` unless the settings connect a shop */
async function connectSubscriptions(): Promise<Subscriptions> {
  const config = readConfig(process.env);
  const subscriptions = (await createPlatform(config, await openLog(config)))?.subscriptions;
  if (subscriptions !== undefined) return subscriptions;
  throw new ServiceError("invalid_setting", "no shop is connected; set its domain and the app's credentials");
}

async function withSubscriptions(work: (context: SubscriptionContext) => Promise<boolean>): Promise<boolean> {
  const subscriptions = await connectSubscriptions();
  const { signal } = onSignal();
  return await withDatabase((database, config) => work({ subscriptions, database, config, signal }));
}

/** @throws ServiceError `bad_request` without an address */
function addressOf({ path }: Subscriptions, { publicUrl }: Config, { url }: Values): string {
  if (typeof url === "string") return url;
  if (publicUrl !== "") return publicUrl + path;
  throw new ServiceError(
    "bad_request",
    `set PUBLIC_URL to the URL at which the platform reaches this service, or give --url https://HOST${path}`,
  );
}
