import { expect, test } from "bun:test";
import { defaultApp } from "../../../packages/platform-stand-in/src/options.ts";
import { createClient, type SendRequest } from "../../../src/platforms/shopify/client.ts";
import { Documents } from "../../../src/platforms/shopify/documents.ts";
import { optionalFields } from "../../../src/platforms/shopify/optional-fields.ts";
import { readProduct } from "../../../src/platforms/shopify/read-product.ts";
import { staticToken } from "../../../src/platforms/shopify/token.ts";
import { startPlatform } from "../../support/platform.ts";
import { createMemoryLog, live, watch } from "../../support/shopify.ts";

const hourMs = 3_600_000;

/** A client to which a field was refused, and a clock that decides when it asks for the field again. */
async function connectRefused() {
  const platform = startPlatform({ products: 2, specials: ["manyImages"] });
  const clock = { nowMs: 0 };
  const documents = new Documents(createMemoryLog().log, {}, () => clock.nowMs);
  const { log } = createMemoryLog();
  const request = createClient({ url: platform.graphqlUrl(), token: staticToken(defaultApp.token), log, documents });
  platform.fields.change({ denied: ["Product.descriptionHtml"] });
  await readProduct(request, BigInt(platform.catalog.idAt(0)), live());
  /** Another request asks for the field again, an hour later. */
  const askAgain = () => {
    clock.nowMs += hourMs;
    return documents.current;
  };
  return { platform, request, askAgain };
}

const kept = [optionalFields["Product.descriptionHtml"]];

test("a product that was requested without a field keeps it, though others ask for it again meanwhile", async () => {
  const { platform, request, askAgain } = await connectRefused();
  platform.faults.add({ kind: "slow", latencyMs: 300, operation: "ProductById" });
  const reading = readProduct(request, BigInt(platform.catalog.idAt(1)), live());
  await Bun.sleep(100);
  askAgain();
  expect((await reading).found?.kept).toEqual(kept);
});

test("a product whose pages were requested with different fields is read again", async () => {
  const { platform, request, askAgain } = await connectRefused();
  const id = BigInt(platform.catalog.idOfSpecial("manyImages"));
  let pages = 0;
  const watched: SendRequest = watch(request, (operation) => {
    if (operation === "ProductImagesPage" && ++pages === 1) {
      platform.fields.change({ denied: [] });
      askAgain();
    }
  });
  const { found } = await readProduct(watched, id, live());
  expect(found?.kept).toBeUndefined();
  expect(found?.product.body_html).not.toBe("");
  expect(pages).toBe(2);
});
