import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { buildPersonalizer } from "../../packages/personalizer/build.ts";
import type { Personalization } from "../../src/model/personalization.ts";
import { type OpenPage, openPage } from "./browser.ts";
import { pds, root, serve, temporaryFolder } from "./pds.ts";
import { until } from "./until.ts";

const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'";

const style = `
  body { margin: 0; font: 16px/1.5 sans-serif; color-scheme: light dark; background: #fff; color: #1c1b1a }
  @media (prefers-color-scheme: dark) { body { background: #17181a; color: #ececea } }
  main { max-width: 30rem; margin: auto; padding: 1rem }`;

/** The script of a theme: it submits forms with `data-scripted` itself. */
const theme = `
  window.told = [];
  window.atWindow = [];
  for (const type of ["ready", "change", "invalid", "error"]) {
    document.addEventListener(type, (event) => told.push({ type, detail: event.detail, from: event.target.id }));
  }
  window.addEventListener("error", (event) => atWindow.push(event.type));
  for (const form of document.querySelectorAll("form[data-scripted]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      fetch(form.action, { method: "POST", body: new FormData(form) });
    });
  }`;

export interface Shop extends AsyncDisposable {
  /** The submitted form entries of each addition to the cart. */
  readonly cart: [name: string, value: string][][];
  /** The responses of `endpoint="/made"` by SKU. */
  readonly made: Map<string, Personalization>;
  /** What `endpoint="/made"` answers first: a 503 for each entry, with it as `Retry-After`. */
  readonly busy: (string | undefined)[];
  /** When `endpoint="/made"` was asked for which SKU. */
  readonly madeRequests: { readonly sku: string; readonly atMs: number }[];
  /** Holds back the answers of `endpoint="/made"` for a SKU until the returned function is called. */
  hold(sku: string): () => void;
  readonly script: string;
  /** SKUs requested from the real service, and the entity tag added to its responses. */
  readonly asked: string[];
  tag: string | undefined;
  /** @param scripts of the page, which loads the theme and the widget unless told otherwise */
  open(main: string, options?: BrowserContextOptions, scripts?: readonly string[]): Promise<OpenPage>;
}

/** The form of a product page with the given elements inside. */
export const productForm = (inside: string, attributes = "novalidate") => `
  <form action="/cart/add" method="post" ${attributes}>
    <input type="hidden" name="id" value="40123">
    ${inside}
    <label>Quantity <input type="number" name="quantity" value="1" min="1"></label>
    <button type="submit" name="add">Add to cart</button>
    <button type="reset">Start over</button>
  </form>`;

export const options = (attributes: string, inside = "") =>
  `<personalization-options ${attributes}>${inside}</personalization-options>`;

/** A SKU with one style of the given lines; a line without choices is typed. */
export function making(
  lines: readonly { text: string; choices?: readonly string[] }[],
  code = "STYLE",
): Personalization {
  return {
    pzlines: [{ sku_id: "1", style_code: code, style_display_seq: "1", style_sku_status: "A" }],
    pzstyles: lines.map(({ text }, index) => ({
      style_code: code,
      line_status: "A",
      line_display_seq: `${index}`,
      choice_type: `TYPE${index}`,
      instruct_text: text,
    })),
    pzchoices: lines.flatMap(({ choices = [] }, index) =>
      choices.map((choice_value, place) => ({
        choice_type: `TYPE${index}`,
        choice_status: "A",
        choice_display_seq: `${place}`,
        choice_value,
      })),
    ),
  };
}

/** Of what was added to the cart, the personalization. */
export const properties = (entries: [string, string][] | undefined) =>
  entries?.filter(([name]) => name.startsWith("properties["));

/** Starts a shop whose product pages use the real service with the sample brand. */
export async function openShop(browser: Browser): Promise<Shop> {
  const environment = { DATABASE_URL: `sqlite:${join(await temporaryFolder(), "pds.sqlite")}` };
  const script = buildPersonalizer();
  const imported = await pds(["import", "personalization", join(root, "sample", "personalization")], environment);
  if (imported.code !== 0) throw new Error(imported.stderr);
  const service = await serve(environment);
  const cart: Shop["cart"] = [];
  const made: Shop["made"] = new Map();
  const busy: Shop["busy"] = [];
  const madeRequests: Shop["madeRequests"] = [];
  const held = new Map<string, Promise<void>>();
  const asked: string[] = [];
  const shop = { tag: undefined as string | undefined };
  const pages = new Map<string, string>();
  const typed = (type: string, body: string) => new Response(body, { headers: { "Content-Type": type } });
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      "/personalization-options.js": () => typed("text/javascript", script),
      "/theme.js": () => typed("text/javascript", theme),
      "/style.css": () => typed("text/css", style),
      "/favicon.ico": () => new Response(null, { status: 204 }),
      "/api/v1/products/pz/:sku": async ({ url }) => {
        const path = new URL(url).pathname;
        asked.push(decodeURIComponent(path.split("/").at(-1) ?? ""));
        const answer = await (await service.get(path)).text();
        return new Response(answer, { headers: shop.tag === undefined ? {} : { ETag: shop.tag } });
      },
      "/made/products/pz/:sku": async ({ params: { sku } }) => {
        madeRequests.push({ sku, atMs: performance.now() });
        await held.get(sku);
        if (busy.length > 0) {
          const retryAfter = busy.shift();
          return new Response("{}", { status: 503, headers: retryAfter ? { "Retry-After": retryAfter } : {} });
        }
        return made.has(sku) ? Response.json(made.get(sku)) : new Response("{}", { status: 404 });
      },
      "/slow/products/pz/:sku": async ({ params }) => {
        await Bun.sleep(params.sku.startsWith("late") ? 250 : 20);
        return Response.json(made.get(params.sku));
      },
      "/hanging/products/pz/:sku": () => new Promise<Response>(() => {}),
      "/failing/products/pz/:sku": () => new Response("{}", { status: 500 }),
      "/junk/products/pz/:sku": () => typed("application/json", `{"pzlines":[{"style_code":7}],"pzstyles":[]`),
      "/other-shape/products/pz/:sku": () => Response.json({ pzlines: [null], pzstyles: {}, pzchoices: [] }),
      "/cart/add": async (request) => {
        cart.push([...(await request.formData())].map(([name, value]) => [name, `${value}`]));
        return typed("text/html", `<!doctype html><title>Cart</title><h1>Added</h1>`);
      },
      "/page/:name": ({ params }) =>
        new Response(pages.get(params.name), {
          headers: { "Content-Type": "text/html", "Content-Security-Policy": policy, "Cache-Control": "no-store" },
        }),
    },
    fetch: () => new Response("", { status: 404 }),
  });
  return Object.assign(shop, {
    cart,
    made,
    busy,
    madeRequests,
    hold: (sku: string) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(sku, promise);
      return () => {
        held.delete(sku);
        resolve();
      };
    },
    asked,
    script,
    open: (
      main: string,
      options: BrowserContextOptions = {},
      scripts: readonly string[] = ["/theme.js", "/personalization-options.js"],
    ) => {
      const name = `${pages.size}`;
      pages.set(
        name,
        `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
        <title>Napkin</title><link rel="stylesheet" href="/style.css">
        ${scripts.map((src) => `<script type="module" src="${src}"></script>`).join("")}
        <main><h1>Napkin</h1>${main}</main></html>`,
      );
      return openPage(browser, `${server.url}page/${name}`, options);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([server.stop(true), service.stop()]);
    },
  });
}

/** Events of the elements of a page so far. */
export const toldBy = (page: Page) =>
  page.evaluate<{ type: string; detail: Record<string, unknown>; from: string }[]>("window.told ?? []");

/** Waits for an event of an element. It polls from outside because the content security policy of the page forbids evaluating a condition. */
export const untilTold = (page: Page, type: string) =>
  until(`the page is told: ${type}`, async () => (await toldBy(page)).some((told) => told.type === type));
