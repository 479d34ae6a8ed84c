import { Access, type App } from "./access.ts";
import { BulkRuns } from "./bulk/runs.ts";
import { Catalog } from "./catalog/catalog.ts";
import { Counters } from "./counters.ts";
import { Faults } from "./faults.ts";
import { Executor } from "./graphql/executor.ts";
import { createSchema } from "./graphql/schema.ts";
import { defaultScopes } from "./graphql/scopes.ts";
import { nameRequest } from "./http/answers.ts";
import { answerControl } from "./http/control.ts";
import { answer } from "./http/routes.ts";
import { type PlatformOptions, type PlatformSettings, withDefaults } from "./options.ts";
import type { Parts } from "./parts.ts";

export type { ProductChanges } from "./catalog/changes.ts";
export type { Fault } from "./faults.ts";
export type { PlatformOptions } from "./options.ts";

/** A running stand-in for one shop of the platform. Drive it with its parts, or from elsewhere through `/control`. */
export interface Platform extends Parts {
  /** `http://127.0.0.1:…`, without a slash at the end. */
  readonly origin: string;
  graphqlUrl(version?: string): string;
  readonly accessTokenUrl: string;
  readonly controlUrl: string;
  /** The named app, or the first. */
  findApp(name?: string): App;
  /** State and counters; `allReads` lists every product read rather than how many. */
  describe(allReads?: boolean): Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

export function createPlatform(options: PlatformOptions = {}): Platform {
  const settings = withDefaults(options);
  const parts = createParts(settings, () => origin);
  const server = Bun.serve({
    port: settings.port,
    hostname: settings.hostname,
    // A hanging answer is a fault to be tested: the server must not end it first.
    idleTimeout: 0,
    async fetch(request) {
      if (new URL(request.url).pathname === "/control") return answerControl(platform, request);
      const requestId = nameRequest();
      const response = await answer(parts, request, requestId);
      response.headers.set("X-Request-Id", requestId);
      return response;
    },
  });
  const origin = `http://${settings.hostname}:${server.port}`;
  const platform: Platform = {
    ...parts,
    origin,
    graphqlUrl: (version = settings.versions.at(-1) ?? "unstable") => `${origin}/admin/api/${version}/graphql.json`,
    accessTokenUrl: `${origin}/admin/oauth/access_token`,
    controlUrl: `${origin}/control`,
    findApp: (name) => findApp(parts, name),
    describe: (allReads = false) => ({ origin, ...describe(parts, allReads) }),
    stop: async () => {
      await server.stop(true);
      await parts.bulk.stop();
    },
  };
  return platform;
}

function createParts(settings: PlatformSettings, origin: () => string): Parts {
  const { seed, now } = settings;
  const counters = new Counters();
  const faults = new Faults(seed, (kind) => counters.countFault(kind));
  for (const fault of settings.faults) faults.add(fault);
  const schema = createSchema();
  const endsAt = Math.floor(Date.parse(settings.endsAt) / 1000);
  const catalog = new Catalog({ ...settings, count: settings.products, endsAt });
  const bulk = new BulkRuns({ schema, catalog, seed, settings: settings.bulk, now, origin });
  const access = new Access({ ...settings, scopes: defaultScopes });
  return { settings, access, bulk, catalog, counters, faults, executor: new Executor(schema) };
}

function findApp({ access }: Parts, name: string | undefined): App {
  const app = access.apps.find((candidate) => name === undefined || candidate.name === name);
  if (app === undefined) throw new Error(`there is no app "${name}"`);
  return app;
}

function describe({ settings, access, bulk, catalog, counters, faults }: Parts, allReads: boolean) {
  const { productReads, ...counts } = counters.toJSON();
  const reads = Object.values(productReads);
  const summary = { products: reads.length, reads: reads.reduce((sum, count) => sum + count, 0) };
  return {
    shop: settings.shop,
    versions: settings.versions,
    products: catalog.count,
    specials: Object.fromEntries(settings.specials.map((name) => [name, catalog.idOfSpecial(name)])),
    apps: access.apps.map(({ name, scopes, bucket }) => ({ name, scopes: [...scopes], throttleStatus: bucket.status })),
    faults: faults.waiting,
    bulk: bulk.settings,
    bulkRuns: bulk.list().map(({ id, status, objectCount, url }) => ({ id, status, objectCount, url })),
    counters: { ...counts, productReads: allReads ? productReads : summary },
  };
}
