import type { DeletedProduct } from "../platform.ts";
import type { RequestOptions, SendRequest } from "./client.ts";
import { listPages } from "./list-pages.ts";
import { toTimestamp } from "./list-products.ts";
import { ShopifyError } from "./retry.ts";

const pageSize = 250;

/**
 * Lists deleted products; see `Platform.listDeletions`. Their own list is deprecated in favor of
 * the list of all events, which takes its place once a version of the API lacks it.
 */
export async function* listDeletions(
  request: SendRequest,
  sinceMs: number,
  options: RequestOptions,
): AsyncGenerator<DeletedProduct[]> {
  try {
    yield* listDeletionEvents(request, sinceMs, options);
  } catch (error) {
    if (!(error instanceof ShopifyError) || error.failure.kind !== "graphql") throw error;
    yield* listEvents(request, sinceMs, options);
  }
}

async function* listDeletionEvents(request: SendRequest, sinceMs: number, options: RequestOptions) {
  const variables = { query: `occurred_at:>='${toTimestamp(sinceMs)}'`, first: pageSize };
  const pages = listPages(
    async (after) => (await request("DeletionsSince", { ...variables, after }, options)).deletionEvents,
  );
  for await (const page of pages) yield page.flatMap(({ subjectId, occurredAt }) => toDeleted(subjectId, occurredAt));
}

async function* listEvents(request: SendRequest, sinceMs: number, options: RequestOptions) {
  const query = `subject_type:PRODUCT action:destroy created_at:>='${toTimestamp(sinceMs)}'`;
  const pages = listPages(async (after) => {
    const { events } = await request("DestructionsSince", { query, first: pageSize, after }, options);
    if (events !== null) return events;
    throw new ShopifyError("DestructionsSince", { kind: "network", message: "the response has no events" });
  });
  for await (const page of pages) {
    // Shopify ignores a search term that it does not know.
    const destructions = page.filter(({ action }) => action === "destroy");
    yield destructions.flatMap(({ subjectId, createdAt }) => toDeleted(subjectId, createdAt));
  }
}

const productGid = /^gid:\/\/shopify\/Product\/(\d+)$/;

/** @param subjectId null or absent for some kinds of events */
function toDeleted(subjectId: string | null | undefined, deletedAt: string): DeletedProduct[] {
  const [, id] = productGid.exec(subjectId ?? "") ?? [];
  return id === undefined ? [] : [{ id: BigInt(id), deletedAt }];
}
