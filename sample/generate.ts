import { join } from "node:path";
import { toBrokenFeeds } from "./generator/broken-feeds.ts";
import { toBrokenProducts } from "./generator/broken-products.ts";
import { toFeed } from "./generator/feed.ts";
import { createIds } from "./generator/ids.ts";
import { toPersonalization } from "./generator/personalization.ts";
import { plans } from "./generator/plans.ts";
import { toProduct } from "./generator/product.ts";
import { createRandom } from "./generator/random.ts";
import { toBrokenReadme, toReadme } from "./generator/readme.ts";

/** Rising numbers with gaps, for the SKUs: those between are other stores'. */
function createNumbers(): () => number {
  const random = createRandom("numbers");
  let last = 810_117;
  return () => {
    last += random.int(2, 23);
    return last;
  };
}

const ids = createIds();
const nextNumber = createNumbers();
const made = plans.map((plan) => ({ plan, product: toProduct(plan, ids, nextNumber) }));

const products = made.map(({ product }) => product);
const offers = made.flatMap(({ plan, product }) => (plan.offers ? [{ product, family: plan.offers }] : []));
const personalization = toPersonalization(offers);
const cases = [...toBrokenProducts(products), ...toBrokenFeeds(personalization)];

const inFolder = (folder: string, files: Readonly<Record<string, string>>) =>
  Object.entries(files).map(([name, text]) => [join(folder, name), text] as const);

const files = [
  ["README.md", toReadme(products, personalization)] as const,
  ["products.ndjson", products.map((product) => `${JSON.stringify(product)}\n`).join("")] as const,
  ...inFolder("personalization", toFeed(personalization)),
  ["broken/README.md", toBrokenReadme(cases)] as const,
  ...cases.flatMap((broken) => inFolder("broken", broken.files)),
];
for (const [name, text] of files) await Bun.write(join(import.meta.dir, name), text);

const variantCount = products.reduce((total, { variants }) => total + variants.length, 0);
const skuCount = new Set(personalization.pzlines.map(({ sku_id }) => sku_id)).size;
const counts = [
  `${products.length} products`,
  `${variantCount} variants`,
  `${skuCount} personalized SKUs`,
  `${cases.length} broken cases`,
];
process.stdout.write(`${counts.join(", ")} in ${files.length} files\n`);
