import type { ProductRecord } from "../catalog/records.ts";

const onlineStore = "gid://shopify/Publication/180001";
const pointOfSale = "gid://shopify/Publication/180002";

export interface PublicationRecord {
  readonly __typename: "ResourcePublication";
  readonly id: string;
  readonly isPublished: boolean;
  readonly publishDate: string;
  readonly publication: { readonly id: string; readonly catalog: CatalogRecord };
}

interface CatalogRecord {
  readonly __typename: "AppCatalog";
  readonly id: string;
  readonly title: string;
}

/**
 * Publications of a product: the online store if it has a publication date, and maybe point of
 * sale.
 * @param onlyPublished leaves out those of the future
 */
export function listPublications(product: ProductRecord, onlyPublished = true): PublicationRecord[] {
  const publications: PublicationRecord[] = [];
  if (product.publishedAt !== null) publications.push(publish(onlineStore, "Online Store", product.publishedAt));
  const { onPointOfSale, createdAt } = product;
  if (onPointOfSale) {
    publications.push(publish(pointOfSale, "Point of Sale", onPointOfSale === true ? createdAt : onPointOfSale));
  }
  return publications.filter(({ publishDate }) => !onlyPublished || Date.parse(publishDate) <= Date.now());
}

export const isPublishedOn = (product: ProductRecord, publicationId: string): boolean =>
  listPublications(product).some(({ id }) => id === publicationId);

function publish(id: string, title: string, publishDate: string): PublicationRecord {
  const catalog = { __typename: "AppCatalog", id: id.replace("Publication", "AppCatalog"), title } as const;
  return { __typename: "ResourcePublication", id, isPublished: true, publishDate, publication: { id, catalog } };
}
