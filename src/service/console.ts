import { readPushState } from "../catalog/push/state.ts";
import type { Answer } from "../console/context.ts";
import { errorPage } from "../console/error-page.tsx";
import { consoleFiles, consolePages } from "../console/index.tsx";
import { signInPage } from "../console/sign-in-page.tsx";
import { explainStoreError } from "../database/index.ts";
import { listJobHealth } from "../jobs/status.ts";
import type { Actions } from "../operators/actions/index.ts";
import type { ConsolePages } from "../operators/routes.ts";
import { GenerationComparer } from "../personalization/comparison.ts";
import { findInGeneration, formsInGeneration } from "../personalization/generation-reader.ts";
import { parsePersonalization } from "../personalization/reader.ts";
import type { FoundPersonalization } from "../personalization/render.ts";
import { examplePath, isSampleShop } from "../sample/shop.ts";
import type { ServiceContext } from "./context.ts";
import { findWidgetPath } from "./sample.ts";

export function createConsole(context: ServiceContext, publicUrl: string, actions: Actions): ConsolePages {
  const { config, connections, push, purging } = context;
  const { brand, visible, shopDomain } = config;
  const database = connections.background;
  const comparisons = new GenerationComparer(database);
  const pages = consolePages({
    database,
    brand,
    visible,
    writeProblem: context.writes.problem,
    jobs: () => listJobHealth(database, context.jobs),
    push: push && (() => readPushState(database, push.topics)),
    purge: purging && (() => purging.readStatus(database)),
    findPersonalization: async (generation, sku) => {
      const found = await findInGeneration(database, generation, sku);
      return { personalization: parsePersonalization(found), ...toAnswer(found) };
    },
    forms: async function* (generation, sku) {
      for await (const form of formsInGeneration(database, generation, sku, config.defaultLocale)) yield toAnswer(form);
    },
    compare: (from, to) => comparisons.find(from, to),
    publicUrl: config.publicUrl || publicUrl,
    confirm: (action, parameters) => actions.confirm(action, parameters),
    findWidgetPath,
    ...(isSampleShop(shopDomain) && { examplePath, servesSampleImages: true }),
  });
  return {
    pages,
    files: consoleFiles(),
    signIn: signInPage,
    toFailure: (failure, requestId, next) => {
      const damage = context.requests.findDamage();
      const reason = damage === undefined ? undefined : (explainStoreError(database, damage) as Error).message;
      return errorPage(failure, requestId, next, reason);
    },
  };
}

const toAnswer = ({ tag, body }: FoundPersonalization): Answer => ({ tag, text: new TextDecoder().decode(body) });
