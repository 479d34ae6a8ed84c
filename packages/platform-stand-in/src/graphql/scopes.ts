export const defaultScopes = ["read_products"] as const;

const scopes: Readonly<Record<string, string>> = {
  "QueryRoot.product": "read_products",
  "QueryRoot.productByIdentifier": "read_products",
  "QueryRoot.products": "read_products",
  "QueryRoot.productsCount": "read_products",
  "QueryRoot.productVariant": "read_products",
  "QueryRoot.deletionEvents": "read_products",
  "Product.resourcePublications": "read_publications",
  "Product.publishedOnPublication": "read_publications",
};

export function scopeOf(typeName: string, fieldName: string): string | undefined {
  return scopes[`${typeName}.${fieldName}`];
}
