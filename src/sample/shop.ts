/** Real domains never end in `.example`. */
export const isSampleShop = (shop: string) => shop.endsWith(".example");

/** Whether the sample feeds belong to a shop. */
export const isSampleBrand = (shop: string) => shop === "larkspur-finch.example";

/** On the public listener of a sample shop. */
export const examplePath = "/example";

const imagePath = /^\/sample\/images\/[\w-]{1,200}\.svg$/;

/**
 * The path of a generated sample image on the public listener, whatever the URL's host; undefined
 * for other URLs.
 */
export function sampleImagePath(address: string): string | undefined {
  const path = URL.parse(address)?.pathname ?? "";
  return imagePath.test(path) ? path : undefined;
}

export const sampleRoutes = [
  examplePath,
  "/example/products/:id",
  "/example/products/:id/cart",
  "/example/style.css",
  "/example/script.js",
] as const;

export type SampleRoute = (typeof sampleRoutes)[number];
