import { describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { toJson } from "../../src/base/json.ts";
import { chooseEncoding } from "../../src/cache/encoding.ts";
import { toMetafield, toProduct } from "../support/catalog.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { serveUntilEnd, temporaryFolder, writeFiles } from "../support/pds.ts";
import { Wire } from "../support/wire.ts";

const folder = await temporaryFolder();
const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, BRAND: "acme" };
const long = toMetafield(1, 8, "product", "long_desc", "é😀 and \u0000 text ".repeat(20_000));
const [products = ""] = await writeFiles(folder, {
  "products.ndjson": [toProduct(7), toProduct(8, { metafields: [long] })].map(toJson).join("\n"),
});
expect((await importHere(["import", "products", products], environment)).code).toBe(0);
const feed = await writeFeed(folder, "feed", {
  ...feedFiles,
  "pzstyles.csv": feedFiles["pzstyles.csv"].replaceAll("Choose a font", "Choose a font. ".repeat(40)),
});
expect((await importHere(["import", "personalization", feed], environment)).code).toBe(0);
const service = await serveUntilEnd(environment);

const large = ["/api/v1/products/7", "/api/v1/products/8", "/api/v1/products/pz/MUG", "/openapi.json", "/docs"];
const decoders = { br: brotliDecompressSync, zstd: zstdDecompressSync, gzip: gunzipSync };

/** The response without decompression. */
async function ask(path: string, accepted: string) {
  const response = await service.get(path, { headers: { "Accept-Encoding": accepted }, decompress: false });
  return { headers: response.headers, coding: response.headers.get("content-encoding"), body: await response.bytes() };
}

describe("a response", () => {
  test.each(large)("%s is smaller in each encoding, and decodes to the same body", async (path) => {
    const plain = await ask(path, "identity");
    expect(plain.coding).toBeNull();
    expect(plain.body.length).toBeGreaterThan(1024);
    // The first pass compresses, the second uses the kept bodies.
    for (const coding of ["br", "zstd", "gzip", "br", "zstd", "gzip"] as const) {
      const { headers, coding: used, body } = await ask(path, coding);
      expect(used).toBe(coding);
      expect(body.length).toBeLessThan(plain.body.length);
      expect(headers.get("content-length")).toBe(`${body.length}`);
      expect(headers.get("content-type")).toBe(plain.headers.get("content-type"));
      expect(Buffer.compare(decoders[coding](body), plain.body)).toBe(0);
    }
  });

  test("is complete for concurrent first requests in an encoding", async () => {
    const path = "/docs/style.css";
    const bodies = await Promise.all(Array.from({ length: 20 }, async () => (await ask(path, "br")).body));
    const plain = (await ask(path, "identity")).body;
    for (const body of bodies) expect(Buffer.compare(brotliDecompressSync(body), plain)).toBe(0);
  });

  test.each(["/api/v1/products/pz/NOPE", "/api/v1/histories", "/livez", "/readyz", "/nowhere", "/api/v1/products/9"])(
    "%s fits into one packet and is not compressed",
    async (path) => {
      const { coding, body } = await ask(path, "br, gzip, *");
      expect(coding).toBeNull();
      expect(body.length).toBeLessThan(1024);
      JSON.parse(new TextDecoder().decode(body));
    },
  );

  test("has Vary in every encoding if it may be compressed", async () => {
    for (const path of [...large, "/api/v1/products/pz/NOPE"]) {
      for (const accepted of ["identity", "br", "zstd", "gzip", "", "nonsense"]) {
        expect((await ask(path, accepted)).headers.get("vary")).toBe("Accept-Encoding");
      }
    }
  });

  test("is not compressed without Accept-Encoding", async () => {
    const wire = await Wire.open(service.url);
    wire.write("GET /api/v1/products/7 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const said = `${await wire.untilClosed()}`;
    expect(said).not.toMatch(/^content-encoding:/im);
    expect(said).toEndWith('"error":null}');
  });
});

describe("Accept-Encoding", () => {
  const browser = "gzip, deflate, br, zstd";
  const cases: [accepted: string | null, coding: string][] = [
    [null, "identity"],
    ["", "identity"],
    [browser, "zstd"],
    ["x-gzip", "gzip"],
    ["X-GZIP;Q=0.5", "gzip"],
    ["*", "zstd"],
    ["*;q=0", "identity"],
    ["br;q=0, zstd;q=0, *;q=0.1", "gzip"],
    ["gzip;q=0.000", "identity"],
    ["\tgzip\t;\tq=1", "gzip"],
    ["identity;q=0.5, gzip;q=0.5", "gzip"],
    ["identity;q=0, *", "zstd"],
    // No encoding is acceptable, but the plain body may still be of use.
    ["identity;q=0", "identity"],
    ["identity;q=0, *;q=0", "identity"],
    ["gzip;q=2", "identity"],
    ["gzip;q=-1", "identity"],
    ["gzip;q=x", "identity"],
    ["gzip;q=NaN", "identity"],
    ["gzip;q=", "identity"],
    [",, ,gzip,,", "gzip"],
    [";q=1", "identity"],
    [",", "identity"],
    ["gzi", "identity"],
    ["gzip2, brotli", "identity"],
    ["gzip br", "identity"],
    ["__proto__, constructor", "identity"],
  ];
  test.each(cases)("%j gives %s", (accepted, coding) => {
    expect<string>(chooseEncoding(accepted)).toBe(coding);
    // The second call uses the parsed value.
    expect<string>(chooseEncoding(accepted)).toBe(coding);
  });

  interface Offer {
    readonly name: string;
    /** Thousandths; undefined if not given. */
    readonly quality: number | undefined;
  }

  /** RFC 9110, 12.5.3, for a server that prefers zstd and compresses by default. */
  function reference(offers: readonly Offer[]): string {
    const given = (name: string) => offers.find((offer) => offer.name === name);
    const qualityOf = (name: string) => {
      const offer = given(name) ?? given("*");
      return offer === undefined ? 0 : (offer.quality ?? 1000);
    };
    const acceptable = ["zstd", "br", "gzip"].filter((name) => qualityOf(name) > 0);
    const most = Math.max(...acceptable.map(qualityOf));
    const plain = given("identity");
    if (acceptable.length === 0 || (plain !== undefined && (plain.quality ?? 1000) > most)) return "identity";
    return acceptable.find((name) => qualityOf(name) === most) ?? "";
  }

  test("is evaluated as RFC 9110 says", () => {
    const names = fc.constantFrom("br", "zstd", "gzip", "identity", "*", "deflate", "nonsense");
    const quality = fc.option(fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.constantFrom(0, 500, 1000)), {
      nil: undefined,
    });
    const offers = fc.uniqueArray(fc.record({ name: names, quality }), { selector: ({ name }) => name, maxLength: 7 });
    const space = fc.constantFrom("", " ", "\t", "  ");
    const looks = fc.record({ before: space, after: space, isUpper: fc.boolean() });
    const header = fc.tuple(offers, fc.array(looks, { minLength: 7, maxLength: 7 }));
    fc.assert(
      fc.property(header, ([of, how]) => {
        const members = of.map(({ name, quality: thousandths }, index) => {
          const { before, after, isUpper } = how[index] ?? { before: "", after: "", isUpper: false };
          const weight = thousandths === undefined ? "" : `${after};${before}q=${thousandths / 1000}`;
          return `${before}${isUpper ? name.toUpperCase() : name}${weight}${after}`;
        });
        expect<string>(chooseEncoding(members.join(","))).toBe(reference(of));
      }),
      { numRuns: 3000 },
    );
  });

  test("is searched a few times for a long list, and not at all for one that no client sends", () => {
    const parse = spyOn(String.prototype, "match");
    try {
      chooseEncoding("br;q=0.1,".repeat(22));
      expect(parse.mock.calls.length).toBeWithin(1, 12);
      parse.mockClear();
      expect(chooseEncoding("gzip,".repeat(2800))).toBe("identity");
      expect(parse).not.toHaveBeenCalled();
    } finally {
      parse.mockRestore();
    }
  });

  test("may be any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        expect(["br", "zstd", "gzip", "identity"]).toContain(chooseEncoding(text));
      }),
    );
  });
});
