import { afterAll, describe, expect, test } from "bun:test";
import { maxSkuLength } from "../../src/personalization/lists.ts";
import { writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { createStore, engines, serve, temporaryFolder } from "../support/pds.ts";

const skus = Array.from({ length: 50 }, (_, index) => `SKU-${index}`);
/** Each line repeats the SKU. */
const longSkus = Array.from({ length: 50 }, (_, index) => `LONG-${index}-`.padEnd(maxSkuLength, "x"));
const longStyles = Array.from({ length: 600 }, (_, index) => `S${index}`);
const choices = Array.from({ length: 1000 }, (_, index) => `G,A,${index},${index}${"x".repeat(1000)}`);
const feed = await writeFeed(await temporaryFolder(), "feed", {
  "pzlines.csv": [
    "sku_id,style_code,style_display_seq,style_sku_status",
    ...skus.map((sku) => `${sku},BIG,1,A`),
    ...longSkus.flatMap((sku) => longStyles.map((style) => `${sku},${style},1,A`)),
  ].join("\n"),
  "pzstyles.csv": "style_code,line_status,line_display_seq,choice_type,instruct_text\nBIG,A,1,G,Pick one",
  "pzchoices.csv": ["choice_type,choice_status,choice_display_seq,choice_value", ...choices].join("\n"),
});

describe.each(engines)("on %s, SKUs with a megabyte each", async (engine) => {
  const environment = { DATABASE_URL: await createStore(engine) };
  expect(await importHere(["import", "personalization", feed], environment)).toMatchObject({ code: 0 });
  const service = await serve(environment);
  afterAll(() => service.stop());
  const get = (some: readonly string[]) =>
    service.get(`/api/v1/products/pz?${some.map((sku) => `sku=${sku}`).join("&")}`);

  test("are served together up to 16 MB", async () => {
    const few = await get(skus.slice(0, 10));
    expect(few.status).toBe(200);
    expect((await few.bytes()).length).toBeWithin(10_000_000, 16 * 2 ** 20);
    const many = await get(skus);
    expect(many.status).toBe(400);
    expect(await many.json()).toMatchObject({
      detail: "The personalization of these SKUs is larger than 16 MB. Request fewer at once.",
    });
  });

  test("count with the bytes that they have, however many these might have been", async () => {
    const long = [await get(longSkus.slice(0, 25)), await get(longSkus.slice(25))];
    const bytes = await Promise.all(long.map(async (response) => (await response.bytes()).length));
    expect(long.map(({ status }) => status)).toEqual([200, 200]);
    expect(Math.max(...bytes)).toBeLessThan(6_000_000);
  });
});
