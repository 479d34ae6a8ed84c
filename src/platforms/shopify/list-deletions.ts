import type { DeletedProduct } from "../platform.ts";
import type { RequestOptions, SendRequest } from "./client.ts";
import { toTimestamp } from "./list-products.ts";
import type { NodePage } from "./queries.ts";
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
  type Response = { deletionEvents: NodePage<{ occurredAt: string; subjectId: string }> };
  const query = `occurred_at:>='${toTimestamp(sinceMs)}'`;
  for (let after: string | null = null; ; ) {
    const { deletionEvents }: Response = await request("DeletionsSince", { query, first: pageSize, after }, options);
    yield deletionEvents.nodes.flatMap(({ subjectId, occurredAt }) => toDeleted(subjectId, occurredAt));
    if (!deletionEvents.pageInfo.hasNextPage) return;
    after = deletionEvents.pageInfo.endCursor;
  }
}

interface Event {
  readonly action: string;
  readonly createdAt: string;
  /** Null or absent for some kinds of events. */
  readonly subjectId?: string | null;
}

async function* listEvents(request: SendRequest, sinceMs: number, options: RequestOptions) {
  type Response = { events: NodePage<Event> };
  const query = `subject_type:PRODUCT action:destroy created_at:>='${toTimestamp(sinceMs)}'`;
  for (let after: string | null = null; ; ) {
    const { events }: Response = await request("DestructionsSince", { query, first: pageSize, after }, options);
    // Shopify ignores a search term that it does not know.
    const destructions = events.nodes.filter(({ action }) => action === "destroy");
    yield destructions.flatMap(({ subjectId, createdAt }) => toDeleted(subjectId, createdAt));
    if (!events.pageInfo.hasNextPage) return;
    after = events.pageInfo.endCursor;
  }
}

const productGid = /^gid:\/\/shopify\/Product\/(\d+)$/;

function toDeleted(subjectId: string | null | undefined, deletedAt: string): DeletedProduct[] {
  const [, id] = productGid.exec(subjectId ?? "") ?? [];
  return id === undefined ? [] : [{ id: BigInt(id), deletedAt }];
}
