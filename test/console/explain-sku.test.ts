import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { saveProducts, toStoredProduct } from "../../src/catalog/product.ts";
import { explainSku, textOf as sentenceOf } from "../../src/console/explain-sku.ts";
import { compareFolded } from "../../src/console/similar-skus.ts";
import { readSkuFacts } from "../../src/console/sku-facts.ts";
import { pauseJob } from "../../src/jobs/job-pause.ts";
import { listGenerations } from "../../src/personalization/generation.ts";
import { removePersonalization } from "../../src/personalization/generation-removal.ts";
import { personalizationImportName } from "../../src/personalization/options.ts";
import { rollBack } from "../../src/personalization/rollback.ts";
import { generations } from "../../src/personalization/versions.ts";
import { readNow, toProduct, toVariant } from "../support/catalog.ts";
import { type OpenConsole, openConsole, textOf } from "../support/console.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { createMigratedStore, enginesOf, temporaryFolder, writeFiles } from "../support/pds.ts";

const folder = await temporaryFolder();
const stores = await Promise.all(
  enginesOf("sqlite").map(async (engine) => ({ engine, url: await createMigratedStore(engine) })),
);

/** A feed in which each SKU has the given styles; the styles are those of every feed. */
const feedOf = (styles: Readonly<Record<string, readonly string[]>>) => ({
  "pzlines.csv": [
    "sku_id,style_code,style_display_seq,style_sku_status",
    ...Object.entries(styles).flatMap(([sku, codes]) => codes.map((code, index) => `${sku},${code},${index},A`)),
    "",
  ].join("\n"),
  "pzstyles.csv": `${feedFiles["pzstyles.csv"]}BLANK,A,1,SPACES,Pick one\n`,
  "pzchoices.csv": `${feedFiles["pzchoices.csv"]}SPACES,A,1,"  "\n`,
});

const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \((just now|now|.+ ago)\)`;

describe.each(stores)("on $engine", ({ engine, url }) => {
  let opened: OpenConsole;

  const importFeed = async (
    brand: string,
    styles: Readonly<Record<string, readonly string[]>>,
    force = ["--force"],
  ) => {
    const feed = await writeFeed(folder, `${engine}-${brand}-${Object.keys(styles).join("-")}`, feedOf(styles));
    const { code, stderr } = await importHere(["import", "personalization", feed, "--brand", brand, ...force], {
      DATABASE_URL: url,
    });
    expect({ code, stderr }).toMatchObject({ code: 0 });
  };
  /** Runs the job for a brand whose feed waits for its marker. */
  const importUnfinished = async (brand: string) => {
    const source = JSON.stringify(await writeFeed(folder, `${engine}-${brand}`, feedOf({ SOON: ["NOTE"] })));
    const settings = `[jobs.personalization-import]\nsource = ${source}\nmarker = "done"\n`;
    const [config = ""] = await writeFiles(folder, { [`${engine}.toml`]: settings });
    const { code, stderr } = await importHere(["run", "personalization-import"], {
      DATABASE_URL: url,
      BRAND: brand,
      PDS_CONFIG: config,
    });
    expect({ code, stderr }).toMatchObject({ code: 0 });
  };
  const importNothing = async (brand: string) => {
    const { code } = await importHere(["import", "personalization", folder, "--brand", brand], { DATABASE_URL: url });
    expect(code).toBe(1);
  };

  beforeAll(async () => {
    const rest = { MUG: ["SCRIPT", "NOTE"], "00123": ["NOTE"], "Tall Cup": ["NOTE"] };
    // Run 1 and 2.
    await importFeed("Own", { ...rest, GONE: ["NOTE"], AWAY: ["NOTE"] });
    await importFeed("Own", { ...rest, HALF: ["NOTE", "LOST", "BLANK"], EMPTY: ["BLANK"], UNDEFINED: ["LOST"] });
    await importFeed("Outlet", { MUG: ["NOTE"], ONLY: ["NOTE"] });
    await importFeed("Back", { BOTH: ["NOTE"] });
    await importFeed("Back", { BOTH: ["NOTE"], LATE: ["NOTE"] });
    await importFeed("Broken", { KEPT: ["NOTE"] });
    await importNothing("Broken");
    await importNothing("Never");
    await importFeed("Former", { OLD: ["NOTE"] });
    await importFeed("Silent", { LOUD: ["NOTE"], QUIET: ["NOTE"] });
    await importFeed("Silent", { QUIET: ["NOTE"] });
    await importUnfinished("Waiting");
    opened = await openConsole(url, "Own");
    const { database } = opened;
    await rollBack(database, generations, "Back");
    await removePersonalization(database, "Former");
    await pauseJob(database, personalizationImportName, "Outlet", "ann@office");
    // As the job history-retention does.
    await database.sql`DELETE FROM run WHERE brand = 'Silent'`;
    const products = [
      toProduct(1, { title: "Mug", variants: [toVariant(1, { sku: "MUG" })] }),
      toProduct(2, { title: "Half", status: "draft", variants: [toVariant(2, { sku: "HALF" })] }),
      toProduct(3, { title: "Half again", status: "archived", variants: [toVariant(3, { sku: "HALF" })] }),
      toProduct(4, { title: "Kept", published_at: null, variants: [toVariant(4, { sku: "KEPT" })] }),
      toProduct(5, {
        title: "Only",
        published_at: "2999-01-01T00:00:00Z",
        variants: [toVariant(5, { sku: "ONLY" })],
      }),
    ];
    await saveProducts(
      database,
      products.map((product) => toStoredProduct(product)),
      readNow(),
    );
  });

  afterAll(() => opened[Symbol.asyncDispose]());

  const explain = async (sku: string, brand?: string, visible: "active" | "all" = "active") => {
    const { database } = opened;
    const facts = await readSkuFacts({ database, brand: "Own", visible }, sku, brand, await listGenerations(database));
    const { isOffered, answer, findings } = explainSku(facts);
    return { isOffered, answer, kinds: findings.map(({ kind }) => kind), text: findings.map(sentenceOf).join("\n") };
  };

  test.each([
    [
      "MUG",
      undefined,
      "MUG is offered.",
      ["offered", "cached"],
      `The public API returns 2 styles, from generation 2 of Own, loaded ${time}; an import last succeeded ${time}\\.`,
    ],
    [
      "MUG",
      "Outlet",
      "Outlet offers MUG.",
      ["offered", "other-brand", "import-paused", "cached"],
      "Shoppers do not see this one, but that of Own, which comes first\\.",
    ],
    [
      "ONLY",
      undefined,
      "ONLY is offered.",
      ["offered", "import-paused", "product-hidden", "cached"],
      `personalization-import of Outlet has been paused since ${time} by ann@office, so newer feeds are not loaded\\.\nShoppers do not see the product Only: it is not published until 2999-01-01 00:00:00 UTC\\.`,
    ],
    [
      "HALF",
      undefined,
      "HALF is offered.",
      ["offered", "style-without-rows", "blank-choices", "product-hidden", "product-hidden", "cached"],
      "Styles without rows in the feed, which are not shown: LOST\\.\nStyles whose choices are all blank, which are not shown: BLANK\\.\nShoppers do not see the product Half: it is a draft\\.\nShoppers do not see the product Half again: it is archived\\.",
    ],
    [
      "KEPT",
      undefined,
      "KEPT is offered.",
      ["offered", "import-failed", "product-hidden", "cached"],
      `The imports of Broken have not succeeded since ${time}: run 7 failed: .+pzlines.*\nShoppers do not see the product Kept: it is not published\\.`,
    ],
  ] as const)("%s is offered, by the brand %s: %s", async (sku, brand, answer, kinds, text) => {
    const found = await explain(sku, brand);
    expect(found).toMatchObject({ isOffered: true, answer, kinds });
    expect(found.text).toMatch(new RegExp(text));
  });

  test.each([
    [
      "of blank choices only",
      "EMPTY",
      undefined,
      "Shoppers can personalize nothing of EMPTY.",
      ["offered", "blank-choices", "no-product"],
      "The public API returns 1 style,",
    ],
    [
      "of styles without rows only",
      "UNDEFINED",
      undefined,
      "Shoppers can personalize nothing of UNDEFINED.",
      ["offered", "style-without-rows", "no-product"],
      "Styles without rows in the feed, which are not shown: LOST\\.",
    ],
    [
      "that only another brand has",
      "ONLY",
      "Own",
      "Shoppers see ONLY of Outlet; Own has no personalization of it.",
      ["other-brand", "not-stored", "product-hidden"],
      `Other brands have it: Outlet\\.\nIt is in none of the 2 stored generations of Own, the oldest loaded ${time}\\.`,
    ],
  ] as const)("explains a SKU %s: %s", async (_, sku, brand, answer, kinds, text) => {
    const found = await explain(sku, brand);
    expect(found).toMatchObject({ isOffered: false, answer, kinds });
    expect(found.text).toMatch(new RegExp(text));
  });

  test.each([
    ["in lowercase", "mug", "MUG"],
    ["without leading zeros", "123", "00123"],
    ["with too many leading zeros", "0000123", "00123"],
    ["with spaces around", " Tall  Cup ", "Tall Cup"],
    ["with punctuation", "'m-u G", "MUG"],
    ["without its space", "tallcup", "Tall Cup"],
    ["that is cut off", "Tall", "Tall Cup"],
  ])("suggests the SKU that may be meant by one %s: %j", async (_, sku, meant) => {
    const found = await explain(sku);
    const quoted = sku.startsWith(" ") ? `"${sku}"` : sku;
    const answer = `${quoted} has no personalization.`;
    expect(found).toMatchObject({ isOffered: false, answer, kinds: ["similar", "not-stored", "no-product"] });
    const rule = "SKUs must match exactly, including case, spaces, punctuation, and leading zeros.";
    expect(found.text).toContain(`Did you mean ${meant}? ${rule}`);
  });

  test.each([
    [
      "that a run removed",
      "GONE",
      undefined,
      ["removed"],
      `Run 2 of Own removed it, and 1 other SKU: generation 2, loaded ${time}, from .+/pzlines\\.csv, is the first without it\\. Until then, it was in generation 1, loaded ${time}\\.`,
    ],
    [
      "that a forgotten run removed",
      "LOUD",
      undefined,
      ["removed"],
      `An import of Silent removed it: generation \\d+, loaded ${time}, is the first without it\\. Until then, it was in generation \\d+, loaded ${time}\\.`,
    ],
    [
      "of before a rollback",
      "LATE",
      undefined,
      ["rolled-back"],
      `Generation 5 of Back, loaded ${time}, has it, but the older generation 4 is current since ${time}, after a rollback\\.`,
    ],
    [
      "that is unknown",
      "NOTHING",
      undefined,
      ["not-stored"],
      `It is in none of the \\d+ stored generations, the oldest loaded ${time}\\.`,
    ],
    [
      "that a brand with one generation does not have",
      "NOTHING",
      "Outlet",
      ["not-stored", "import-paused"],
      `It is not in the only stored generation of Outlet, which was loaded ${time}\\.`,
    ],
    [
      "of a brand without imports",
      "NOTHING",
      "Nobody",
      ["no-feed"],
      "No feed of Nobody was ever loaded: import one, or configure personalization-import\\.",
    ],
    [
      "of a brand whose imports failed",
      "NOTHING",
      "Never",
      ["no-feed", "import-failed"],
      `No import of Never has ever succeeded: run 8 failed: `,
    ],
    [
      "of a brand whose feed is incomplete",
      "NOTHING",
      "Waiting",
      ["no-feed", "nothing-loaded"],
      "The last import, run \\d+, loaded nothing: the feed is incomplete; the next run tries again: .+done",
    ],
    [
      "of a brand that was removed",
      "OLD",
      "Former",
      ["no-feed"],
      `No feed of Former is stored, although an import last succeeded ${time}: the feed was incomplete, or the brand was removed\\.`,
    ],
  ] as const)("explains that there is no personalization of a SKU %s: %s", async (_, sku, brand, kinds, text) => {
    const found = await explain(sku, brand);
    const answer = `${sku} has no personalization.`;
    expect(found).toMatchObject({ isOffered: false, answer, kinds: [...kinds, "no-product"] });
    expect(found.text).toMatch(new RegExp(text));
  });

  test("does not call products hidden that the public API serves", async () => {
    expect((await explain("HALF", undefined, "all")).kinds).not.toContain("product-hidden");
  });

  test("the answer stands first on the page of a SKU, with links to what it names", async () => {
    const page = await opened.load("/personalization?sku=GONE");
    const [, content = ""] = page.match(/<main.*?<\/form>(.*)/s) ?? [];
    expect(textOf(content)).toMatch(/^\s*Versions of Own\s+GONE has no personalization\. +Run 2 of Own/);
    expect(page).toContain('<a href="/runs/2">Run 2</a>');
    expect(page).toContain(
      '<a href="/personalization/difference?brand=Own&amp;from=1&amp;to=2">the first without it</a>',
    );
    expect(page).toContain('href="http://127.0.0.1:3000/api/v1/products/pz/GONE"');
    expect(await opened.load("/personalization?sku=mug")).toContain('<a href="/personalization?sku=MUG">MUG</a>');
  });

  test.each([".", "..", "...", "./", "a.."])(
    "the link to the response of %j is one that browsers keep",
    async (sku) => {
      const page = await opened.load(`/personalization?${new URLSearchParams({ sku })}`);
      const { pathname, search } = new URL(page.match(/<a href="([^"]*)">View response/)?.[1] ?? "");
      const path = search === "" ? decodeURIComponent(pathname) : pathname + search;
      expect(path).toBe(`/api/v1/products/pz${sku === "." || sku === ".." ? "?sku=" : "/"}${sku}`);
    },
  );
});

test.each(enginesOf("sqlite"))("on %s, the page of a SKU says that no feed was ever loaded", async (engine) => {
  await using empty = await openConsole(await createMigratedStore(engine), "Own");
  const page = textOf(await empty.load("/personalization?sku=MUG"));
  expect(page).toContain("MUG has no personalization. No feed of Own was ever loaded");
});

test("a walk by the next text that may be alike finds exactly the SKUs that differ in case and punctuation", () => {
  const text = fc.array(fc.constantFrom("a", "A", "b", "B", "1", "0", "-", " ", "/", "~", "é", "ß"), { maxLength: 5 });
  const sku = text.map((parts) => parts.join("")).filter((each) => each !== "");
  const foldAscii = (each: string) => each.toLowerCase().replace(/[- /~]/g, "");
  fc.assert(
    fc.property(fc.uniqueArray(sku, { maxLength: 40 }), fc.stringMatching(/^[ab01]{1,3}$/), (skus, folded) => {
      const sorted = skus.toSorted((a, b) => (a < b ? -1 : 1));
      const found: string[] = [];
      let next: string | undefined = " ";
      while (next !== undefined) {
        const from: string = next;
        const first = sorted.find((each) => each >= from);
        if (first === undefined) break;
        const compared = compareFolded(first, folded);
        if (compared.isAlike) found.push(first);
        next = compared.next;
        if (next !== undefined) expect(next > first).toBe(true);
      }
      expect(found).toEqual(sorted.filter((each) => foldAscii(each) === folded));
    }),
    { numRuns: 2000 },
  );
});
