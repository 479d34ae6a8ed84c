import type { ProductRecord } from "../catalog/records.ts";

const onlineStore = "gid://shopify/Publication/180001";
const pointOfSale = "gid://shopify/Publication/180002";

/**
 * Publications of a product: the online store if it has a publication date, and maybe point of
 * sale.
 * @param onlyPublished leaves out those of the future
 */
export function listPublications({ publishedAt, onPointOfSale, createdAt }: ProductRecord, onlyPublished = true) {
  const dates = [
    [onlineStore, publishedAt],
    [pointOfSale, onPointOfSale === true ? createdAt : onPointOfSale],
  ] as const;
  return dates.flatMap(([id, publishDate]) => {
    if (!publishDate || (onlyPublished && Date.parse(publishDate) > Date.now())) return [];
    return [{ __typename: "ResourcePublication", id, publishDate, publication: { id } }];
  });
}

export const isPublishedOn = (product: ProductRecord, publicationId: string): boolean =>
  listPublications(product).some(({ id }) => id === publicationId);
