import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { saveProducts, toStoredProduct } from "../../src/catalog/product.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { readNow, toMetafield, toProduct, toVariant } from "./catalog.ts";
import { quote, toListFile, writeFeed } from "./feed.ts";
import { importHere } from "./import-here.ts";
import { writeFiles } from "./pds.ts";

/**
 * Markup and script that would request `/hit` or set the page title to "run" if anything
 * interpreted it.
 */
export const attack = (place: string) =>
  `</title></textarea></pre><script src="/hit"></script><script>fetch("/hit");top.document.title="run"</script>` +
  `<img src="/hit" onerror="top.document.title='run'"><svg onload="fetch('/hit')"></svg>"'><b onclick="x" style="color:red">${place}`;

/** SKU of the hostile variant, at the maximum length of a feed. */
export const hostileSku = attack("sku").slice(0, 200);

/** Brand of the hostile data, within the maximum length. */
export const hostileBrand = `"'></title><img src="/hit" onerror="top.document.title='run'"><script src="/hit"></script>`;

/**
 * Creates a store with product 1 and a generation of personalization, with attacks in every field.
 * @returns settings for serving it
 */
export async function importHostile(folder: string): Promise<Record<string, string>> {
  const product = toProduct(1, {
    title: attack("title"),
    body_html: `${attack("body")}<meta http-equiv="refresh" content="0;url=https://elsewhere.example/"><base href="/hit/"><form action="/hit"></form>`,
    handle: attack("handle"),
    vendor: attack("vendor"),
    product_type: attack("type"),
    tags: attack("tags"),
    options: [{ id: 3, product_id: 1, position: 1, name: attack("option"), values: [attack("value")] }],
    variants: [
      toVariant(1, { sku: hostileSku, title: attack("variant"), barcode: attack("barcode") }),
      toVariant(1, { id: 402, sku: `${hostileSku}2`, title: attack("other variant") }),
    ],
    metafields: [toMetafield(2, 1, "product", attack("key"), attack("metafield"))],
  });
  const addresses = [
    "javascript:fetch('/hit')",
    "https://a;script-src/x",
    `x" onerror="fetch('/hit')`,
    "https://a.example/sample/images/plate-1.svg",
    "https://a.example/sample/images/../../hit.svg",
  ];
  const images = addresses.map((src, index) => ({
    ...(product.image as NonNullable<typeof product.image>),
    id: index + 1,
    src,
    alt: attack("alt"),
  }));
  const [file = "", rejected = ""] = await writeFiles(folder, {
    "products.ndjson": JSON.stringify({ ...product, images: [product.image] }),
    "rejected.ndjson": JSON.stringify({ id: attack("id") }),
  });
  const row = (...cells: string[]) => [cells.map(quote).join(",")];
  const feed = await writeFeed(folder, "feed", {
    "pzlines.csv": toListFile("pzlines", row(hostileSku, attack("s"), attack("q"), attack("c"))),
    "pzstyles.csv": toListFile("pzstyles", row(attack("s"), "A", "1", attack("g"), attack("i"))),
    "pzchoices.csv": toListFile("pzchoices", row(attack("g"), "A", "1", attack("v"))),
  });
  const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, BRAND: "B", SHOP_DOMAIN: "a.example" };
  const imported = async (kind: string, from: string) => {
    const { code, stderr } = await importHere(["import", kind, from, "--brand", hostileBrand], environment);
    return code === 0 ? undefined : stderr;
  };
  const faults = [await imported("products", file), await imported("personalization", feed)].filter(Boolean);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  // Files with such addresses are refused, but the platform may send them.
  const database = await openDatabase(environment.DATABASE_URL, "job");
  await saveProducts(database, [toStoredProduct({ ...product, images, image: null })], readNow());
  await closeDatabase(database);
  // This adds a failed run.
  await imported("products", rejected);
  return environment;
}

export interface Watched {
  readonly page: Page;
  /** Requests and errors since the previous call. */
  take(): { readonly requests: string[]; readonly faults: string[] };
}

/** Opens a page that records its requests and errors across navigations. */
export async function watchPage(browser: Browser): Promise<Watched> {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  const requests: string[] = [];
  const faults: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(`Uncaught ${error.message}`));
  return { page, take: () => ({ requests: requests.splice(0), faults: faults.splice(0) }) };
}
