import { describe, expect, test } from "bun:test";
import { fingerprintTag } from "../../src/cdn/headers.ts";
import type { Form } from "../../src/contract/form.ts";
import { presentationFingerprint } from "../../src/personalization/fingerprint.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { connectTo, createStore, engines, serveUntilEnd, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

const presentation = `
[styles.BLOCK]
name.en = "Block letters"
name.fr = "Lettres capitales"
help.en = "As on a sign."
image = "/block.svg"

[styles.SCRIPT.lines.2]
name.en = "Motif"
name.fr = "Motif brodé"
name.fr-CH = "Sujet"

[styles.NOTE.lines.1]
limit = 12
characters = "A-Z&"
required = false
uppercase = true

[choices.FONT.Serif]
name.fr = "Avec empattements"
`;

const noPresentation = "# nothing is left\n";

for (const engine of engines) {
  const folder = await temporaryFolder();
  let files = 0;
  const environment = {
    DATABASE_URL: await createStore(engine),
    BRAND: "acme",
    CDN: "generic",
    SERVER_TIMING: "on",
    VISIBLE: "all",
  };
  /** The texts that were imported last, of the service's brand. */
  const imported = { lines: "", presentation: noPresentation };
  const importFeed = async (brand: string, lines = feedFiles["pzlines.csv"]) => {
    const feed = await writeFeed(folder, `feed-${files++}`, { ...feedFiles, "pzlines.csv": lines });
    if (brand === "acme") imported.lines = lines;
    const args = ["import", "personalization", feed, "--brand", brand, "--force"];
    expect(await importHere(args, environment)).toMatchObject({ code: 0 });
  };
  const importPresentation = async (text: string, brand = "acme") => {
    const [path = ""] = await writeFiles(folder, { [`${files++}.toml`]: text });
    const args = ["import", "presentation", path, "--brand", brand, "--force"];
    if (brand === "acme") imported.presentation = text;
    expect(await importHere(args, environment)).toMatchObject({ code: 0 });
  };
  await importFeed("acme");
  await importFeed("other", "sku_id,style_code,style_display_seq,style_sku_status\nELSEWHERE,BLOCK,1,A\n");
  const service = await serveUntilEnd(environment);
  const get = (path: string, headers = {}) =>
    service.get(`/api/v1/products/form/${path}`, { redirect: "manual", headers });
  const read = async (path: string) => (await (await get(path)).json()) as Form;
  const redirectOf = async (path: string) => {
    const { status, headers } = await get(path);
    return { status, location: headers.get("location") };
  };

  /** Makes one more change, and waits until the service has it, and so all before it. */
  const settle = async () => {
    const tag = `${files++}`;
    const row = { id: 1, document: JSON.stringify({ id: 1, title: tag }), tag, updated_at: "" };
    await service.get("/api/v1/products/1");
    await using sql = await connectTo(environment.DATABASE_URL);
    await sql`INSERT INTO product ${sql(row)} ON CONFLICT (id) DO UPDATE SET document = excluded.document, tag = excluded.tag`;
    await until("the service has the last change", async () =>
      (await (await service.get("/api/v1/products/1")).text()).includes(`"title":"${tag}"`),
    );
  };
  /** Begins a test with the feed and this presentation, whichever tests ran before. */
  const provide = async (text: string) => {
    if (imported.lines !== feedFiles["pzlines.csv"]) await importFeed("acme");
    if (imported.presentation !== text) await importPresentation(text);
    await settle();
    // Reads the new presentation, which no look at a SKU does that cannot be stored.
    await get("en/MUG");
  };

  describe(`on ${engine}, a form`, () => {
    test("has codes and instruction texts without a presentation", async () => {
      await provide(noPresentation);
      const response = await get("en/MUG");
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
      const plain = { help: null, image: null };
      const rules = { limit: null, characters: null, required: null, uppercase: false };
      const choice = (choice_value: string, choice_display_seq: string, choice_status = "A") => {
        return { choice_value, choice_display_seq, choice_status, name: choice_value, ...plain };
      };
      const line = (line_display_seq: string, choice_type: string, instruct_text: string, choices: unknown) => ({
        ...{ line_display_seq, line_status: "A", choice_type, instruct_text, name: instruct_text, ...plain, ...rules },
        choices,
      });
      const style = (style_code: string, style_display_seq: string, style_sku_status: string, lines: unknown) => ({
        ...{ style_code, style_display_seq, style_sku_status, name: style_code, ...plain },
        lines,
      });
      const font = line("1", "FONT", "Choose a font", [
        choice("Sans", "1", "H"),
        choice("Serif", "2"),
        choice("Other", "x"),
      ]);
      const motif = line("2", "MOTIF", 'Pick one, or "none"', [choice("Heart", "1")]);
      const styles = [style("BLOCK", "9", "I", [font]), style("SCRIPT", "10", "A", [font, motif])];
      const form = { sku_id: "MUG", locale: "en", styles };
      expect(await response.text()).toBe(JSON.stringify(form));
      expect(await redirectOf("fr/MUG")).toEqual({ status: 302, location: "../en/MUG" });
    });

    test("is new in every locale soon after its brand's presentation changed, and no other brand's", async () => {
      await provide(noPresentation);
      await Promise.all(["en/MUG", "fr/MUG", "en/ELSEWHERE"].map((path) => get(path)));
      await importPresentation(presentation);
      await until("the form has the name", async () => (await read("en/MUG")).styles[0]?.name === "Block letters");
      expect((await read("fr/MUG")).styles[0]?.name).toBe("Lettres capitales");
      const other = await get("en/ELSEWHERE");
      expect(other.headers.get("cache-status")).toBe("pds; hit");
      expect(await other.text()).toContain('"name":"BLOCK"');
      const pz = await service.get("/api/v1/products/pz/MUG");
      expect(await pz.text()).toStartWith('{"pzlines":[{"sku_id":"MUG","style_code":"BLOCK"');
    });

    test("has texts in its locale, in those looked up next, in the default locale, or codes", async () => {
      await provide(presentation);
      const french = await read("fr/MUG");
      expect(french.styles.map(({ name, help, image }) => [name, help, image])).toEqual([
        ["Lettres capitales", "As on a sign.", "/block.svg"],
        ["SCRIPT", null, null],
      ]);
      expect(french.styles[1]?.lines.map(({ name }) => name)).toEqual(["Choose a font", "Motif brodé"]);
      expect(french.styles[0]?.lines[0]?.choices.map(({ name }) => name)).toEqual([
        "Sans",
        "Avec empattements",
        "Other",
      ]);
      const swiss = await read("fr-CH/MUG");
      expect(swiss.styles[0]?.name).toBe("Lettres capitales");
      expect(swiss.styles[1]?.lines[1]?.name).toBe("Sujet");
      expect((await read("en/MUG")).styles[0]?.lines[0]?.choices[1]?.name).toBe("Serif");
    });

    test("has the rules of its lines", async () => {
      await provide(presentation);
      const [style] = (await read("en/A%2FB%20%C3%A9%2B")).styles;
      expect(style?.lines[0]).toMatchObject({ limit: 12, characters: "[&A-Z]", required: false, uppercase: true });
    });

    test.each([
      ["fr-CA/MUG", "../fr/MUG"],
      ["fr-ch-x-private/MUG", "../fr-CH/MUG"],
      ["de/MUG", "../en/MUG"],
      ["zh-Hant-TW/A%2FB%20%C3%A9%2B", "../en/A%2FB%20%C3%A9%2B"],
      ["fr-CA/UNKNOWN", "../fr/UNKNOWN"],
      ["fr/ELSEWHERE", "../en/ELSEWHERE"],
    ])("redirects from a locale that is not offered: %s", async (path, location) => {
      await provide(presentation);
      expect(await redirectOf(path)).toEqual({ status: 302, location });
      const followed = await service.get(`/api/v1/products/form/${path}`);
      expect([followed.status, new URL(followed.url).pathname]).toEqual([
        200,
        `/api/v1/products/form${location.slice(2)}`,
      ]);
    });

    test("may be requested with the locale in any case, and otherwise only with a language tag", async () => {
      await provide(presentation);
      expect(await (await get("FR-ch/MUG")).text()).toBe(await (await get("fr-CH/MUG")).text());
      for (const locale of ["fr_CA", "f", "fr--CA", "%20fr", "*", "fr%00", "x".repeat(300), "%zz"]) {
        expect([locale, (await get(`${locale}/MUG`)).status]).toEqual([locale, 400]);
      }
      expect((await service.get("/api/v1/products/form")).status).toBe(400);
    });

    test.each([["UNKNOWN"], ["mug"], ["x".repeat(256)], ["MUG%00"], ["..%2FMUG"]])(
      "is empty for the unknown SKU %s",
      async (sku) => {
        await provide(presentation);
        const response = await get(`fr/${sku}`);
        expect([response.status, response.headers.get("cache-control")]).toEqual([
          200,
          "public, max-age=10, s-maxage=10",
        ]);
        expect(await response.json()).toEqual({ sku_id: decodeURIComponent(sku), locale: "fr", styles: [] });
      },
    );

    test("and its redirection have the tag of the brand's presentation, and of personalization", async () => {
      await provide(presentation);
      const tag = fingerprintTag(presentationFingerprint("acme"));
      for (const path of ["en/MUG", "fr/MUG", "fr-CA/MUG", "en/UNKNOWN"]) {
        const tags = (await get(path)).headers.get("cache-tag")?.split(",");
        expect(tags).toContain(tag);
        expect(tags).toContain("personalization");
      }
      const [pz, form] = await Promise.all([service.get("/api/v1/products/pz/MUG"), get("en/MUG")]);
      const fingerprints = (pz.headers.get("cache-tag") ?? "").split(",").filter((each) => each.startsWith("pz-"));
      expect(form.headers.get("cache-tag")?.split(",")).toEqual(expect.arrayContaining(fingerprints));
    });

    test("keeps its entity tag while neither feed nor presentation change it", async () => {
      await provide(presentation);
      const etag = (await get("fr/MUG")).headers.get("etag") ?? "";
      expect((await get("fr/MUG", { "If-None-Match": etag })).status).toBe(304);
      expect((await get("en/MUG")).headers.get("etag")).not.toBe(etag);
      await importPresentation(`${presentation}\n[styles.UNUSED]\nname.en = "Unused"\n`);
      await until("the form was evicted", async () => {
        const { headers } = await get("fr/MUG");
        expect(headers.get("etag")).toBe(etag);
        return headers.get("cache-status")?.includes("miss") === true;
      });
    });

    test("is new soon after the feed changed, or the presentation is gone", async () => {
      await provide(presentation);
      await get("fr/MUG");
      await importFeed("acme", "sku_id,style_code,style_display_seq,style_sku_status\nMUG,BLOCK,1,A\n");
      await until("the form has one style", async () => (await read("fr/MUG")).styles.length === 1);
      await importPresentation(noPresentation);
      await until("French is not offered", async () => (await redirectOf("fr/MUG")).status === 302);
      expect((await read("en/MUG")).styles[0]?.name).toBe("BLOCK");
    });
  });
}
