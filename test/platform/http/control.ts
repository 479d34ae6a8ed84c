import { lineOrders } from "../bulk/order.ts";
import type { BulkSettings } from "../bulk/runs.ts";
import type { ProductChanges } from "../catalog/changes.ts";
import { isObject, type JsonObject, parseObject } from "../json.ts";
import { parseFault } from "../parse-fault.ts";
import type { Platform } from "../platform.ts";
import { json } from "./answers.ts";

/** For whoever drives the platform from another process: what code does with its methods, as JSON. */
export async function answerControl(platform: Platform, request: Request): Promise<Response> {
  if (request.method === "GET")
    return json(200, platform.describe(new URL(request.url).searchParams.get("reads") === "all"));
  const command = parseObject(await request.text());
  if (command === undefined) return json(400, { error: "the body must be a JSON object" });
  try {
    return json(200, { ok: true, ...obey(platform, command) });
  } catch (error) {
    return json(400, { ok: false, error: error instanceof Error ? error.message : String(error) });
  }
}

function obey(platform: Platform, command: JsonObject): JsonObject {
  const action = actions[String(command.do)];
  if (action === undefined) throw new Error(`"do" must be one of ${Object.keys(actions).join(", ")}`);
  const result = action(platform, command);
  return isObject(result) ? result : {};
}

/** Whatever object it answers is part of the reply. */
type Action = (platform: Platform, command: JsonObject) => unknown;

const actions: Readonly<Record<string, Action>> = {
  fault: ({ faults }, { fault }) => faults.add(parseFault(fault)),
  clearFaults: ({ faults }) => faults.clear(),
  touch: ({ catalog }, command) => {
    const options = { keepUpdatedAt: command.keepUpdatedAt === true, ...pickNumbers(command, ["at"]) };
    return { updatedAt: catalog.touch(readId(command.id), readChanges(command.changes), options) };
  },
  remove: ({ catalog }, { id }) => catalog.remove(readId(id)),
  add: ({ catalog }, { id, changes }) => {
    return { id: catalog.add(readChanges(changes), id === undefined ? undefined : readId(id)) };
  },
  ids: ({ catalog }, command) => {
    const { from = 0, count = 10 } = pickNumbers(command, ["from", "count"]);
    return { ids: catalog.ids(from, count) };
  },
  bucket: (platform, command) => {
    const { available, ...settings } = pickNumbers(command, ["available", "maximumAvailable", "restoreRate"]);
    platform.findApp(readName(command.app)).bucket.change(settings, available);
  },
  scopes: (platform, { app, scopes }) => {
    if (!Array.isArray(scopes)) throw new Error('"scopes" must be a list');
    platform.findApp(readName(app)).scopes = new Set(scopes.map(String));
  },
  bulk: ({ bulk }, command) => bulk.change(readBulkSettings(command)),
  revokeTokens: ({ access }, { token }) => access.revoke(readName(token)),
  restoreTokens: ({ access }) => access.restoreTokens(),
  resetCounters: ({ counters }) => counters.reset(),
};

function readBulkSettings(command: JsonObject): Partial<BulkSettings> {
  const order = lineOrders.find((known) => known === command.order);
  if (command.order !== undefined && order === undefined)
    throw new Error(`"order" must be one of ${lineOrders.join(", ")}`);
  const timing = pickNumbers(command, ["createdMs", "runningMs", "cancelingMs"]);
  return order === undefined ? timing : { ...timing, order };
}

function readChanges(value: unknown): ProductChanges {
  if (value === undefined) return {};
  if (!isObject(value)) throw new Error('"changes" must be an object');
  return value as ProductChanges;
}

/** A bare id or a global one; as text, since a number may be too large for JSON. */
function readId(value: unknown): string {
  const id = /^(?:gid:\/\/shopify\/Product\/)?(\d+)$/.exec(String(value))?.[1];
  if (id === undefined) throw new Error('"id" must be the id of a product');
  return id;
}

function readName(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function pickNumbers<Name extends string>(command: JsonObject, names: readonly Name[]): Partial<Record<Name, number>> {
  const picked: Partial<Record<Name, number>> = {};
  for (const name of names) {
    const value = command[name];
    if (value === undefined) continue;
    if (typeof value !== "number") throw new Error(`"${name}" must be a number`);
    picked[name] = value;
  }
  return picked;
}
