/** Whether a shop is made up, as that of the sample brand is: under `.example` there is none. */
export const isSampleShop = (shop: string) => shop.endsWith(".example");

const imagePath = /^\/sample\/images\/[\w-]{1,200}\.svg$/;

/** Where on the public listener the service draws what an image address of the sample names, whatever host that names; else undefined. */
export function sampleImagePath(address: string): string | undefined {
  const path = URL.parse(address)?.pathname ?? "";
  return imagePath.test(path) ? path : undefined;
}
