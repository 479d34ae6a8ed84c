import { lineOrders } from "../bulk/file.ts";
import type { BulkSettings } from "../bulk/runs.ts";
import type { ProductChanges } from "../catalog/changes.ts";
import { type Components, describe, findApp, uninstall } from "../components.ts";
import { parseFault } from "../faults.ts";
import { isObject, type JsonObject, parseObject } from "../json.ts";
import { json } from "./responses.ts";

/** Control from another process: the methods of the stand-in as JSON commands. */
export async function handleControl(components: Components, origin: string, request: Request): Promise<Response> {
  if (request.method === "GET") {
    const allReads = new URL(request.url).searchParams.get("reads") === "all";
    return json(200, { origin, ...describe(components, allReads) });
  }
  const command = parseObject(await request.text());
  if (command === undefined) return json(400, { error: "the body must be a JSON object" });
  try {
    return json(200, { ok: true, ...runCommand(components, command) });
  } catch (error) {
    return json(400, { ok: false, error: error instanceof Error ? error.message : String(error) });
  }
}

function runCommand(components: Components, command: JsonObject): JsonObject {
  const action = actions[String(command.do)];
  if (action === undefined) throw new Error(`"do" must be one of ${Object.keys(actions).join(", ")}`);
  const result = action(components, command);
  return isObject(result) ? result : {};
}

/** If it returns an object, that becomes part of the response. */
type Action = (components: Components, command: JsonObject) => unknown;

const actions: Readonly<Record<string, Action>> = {
  fault: ({ faults }, { fault }) => faults.add(parseFault(fault)),
  clearFaults: ({ faults }) => faults.clear(),
  touch: ({ catalog }, command) => {
    const options = {
      keepUpdatedAt: command.keepUpdatedAt === true,
      ...pickNumbers(command, ["at", "childrenAfterMs"]),
    };
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
  bucket: (components, command) => {
    const { available, ...settings } = pickNumbers(command, ["available", "maximumAvailable", "restoreRate"]);
    findApp(components, readName(command.app)).bucket.change(settings, available);
  },
  scopes: (components, { app, scopes }) => {
    if (!Array.isArray(scopes)) throw new Error('"scopes" must be a list');
    findApp(components, readName(app)).scopes = new Set(scopes.map(String));
  },
  lag: ({ lag }, command) =>
    lag.change({ ...pickNumbers(command, ["lagMs", "probability"]), lists: command.lists === true }),
  fields: ({ fields }, { denied, removed }) => fields.change({ ...readNames({ denied }), ...readNames({ removed }) }),
  bulk: ({ bulk }, command) => bulk.change(readBulkSettings(command)),
  revokeTokens: ({ access }, { token }) => access.revoke(readName(token)),
  restoreTokens: ({ access }) => access.restoreTokens(),
  uninstall: (components, { app }) => uninstall(components, readName(app)),
  resetCounters: ({ counters }) => counters.reset(),
};

function readBulkSettings(command: JsonObject): Partial<BulkSettings> {
  const order = lineOrders.find((known) => known === command.order);
  if (command.order !== undefined && order === undefined)
    throw new Error(`"order" must be one of ${lineOrders.join(", ")}`);
  const timing = pickNumbers(command, ["createdMs", "runningMs", "cancelingMs"]);
  return order === undefined ? timing : { ...timing, order };
}

/** Reads an optional list of names. */
function readNames(command: JsonObject): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(command).flatMap(([name, list]) => {
      if (list === undefined) return [];
      if (!Array.isArray(list)) throw new Error(`"${name}" must be a list`);
      return [[name, list.map(String)]];
    }),
  );
}

function readChanges(value: unknown): ProductChanges {
  if (value === undefined) return {};
  if (!isObject(value)) throw new Error('"changes" must be an object');
  return value as ProductChanges;
}

/** Accepts a plain or a global id, as text because a JSON number may be too large. */
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
