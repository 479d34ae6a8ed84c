import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { BunPlugin } from "bun";
import type { Locator, Page } from "playwright-core";
import { openPage, startBrowser } from "../support/browser.ts";
import { dawnPage, dawnScripts } from "../support/dawn.ts";
import { installPackages } from "../support/installed-packages.ts";
import { pds, root, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { bundle, readRecipe, renderLiquid, vueCompiler } from "../support/recipes.ts";
import { until } from "../support/until.ts";

const variants = [
  { id: "101", sku: "1812234", title: "White" },
  { id: "102", sku: "unknown", title: "Ivory, without personalization" },
];

async function startService() {
  const environment = { DATABASE_URL: `sqlite:${join(await temporaryFolder(), "pds.sqlite")}` };
  const imported = await pds(["import", "personalization", join(root, "sample", "personalization")], environment);
  if (imported.code !== 0) throw new Error(imported.stderr);
  return await serve(environment);
}

const [browser, service, { folder }] = await Promise.all([startBrowser(), startService(), installPackages()]);
afterAll(() => service.stop());

/** A file of the shop: its content type, its text, and perhaps a content security policy. */
type ShopFile = readonly [type: string, body: string, policy?: string];

type Handlers = Readonly<Record<string, (request: Request) => Promise<Response>>>;

/** Starts a shop that has the files, and a cart. */
function startShop(files: Readonly<Record<string, ShopFile>>, handlers: Handlers = {}) {
  const cart: [string, unknown][][] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const handler = handlers[pathname];
      if (handler !== undefined) return await handler(request);
      if (pathname === "/cart/add") {
        cart.push([...(await request.formData())].map(([name, value]) => [name, `${value}`]));
        if (request.headers.has("X-Requested-With")) return Response.json({ key: "1:1" });
      }
      const isCart = /^\/cart(\/|$)/.test(pathname);
      const [type, body, policy] = isCart ? ["text/html", "<title>Cart</title>"] : (files[pathname] ?? []);
      const headers = { "Content-Type": type ?? "", ...(policy && { "Content-Security-Policy": policy }) };
      return new Response(body, { status: body === undefined ? 404 : 200, headers });
    },
  });
  return { url: server.url.href, cart, [Symbol.asyncDispose]: () => server.stop(true) };
}

const optionsIn = (page: Page) => page.locator("personalization-options");
const styleIn = (page: Page) => optionsIn(page).getByRole("radio", { name: "Embroidered monogram" });
const addIn = (page: Page) => page.getByRole("button", { name: "Add to cart" });

/**
 * Shops as in every recipe: a variant without personalization, an incomplete choice, which is not
 * ordered, and a complete one.
 */
async function order(page: Page): Promise<void> {
  await styleIn(page).waitFor();
  const variant = page.locator("label > select");
  await variant.selectOption("102");
  await styleIn(page).waitFor({ state: "hidden" });
  await variant.selectOption("101");
  await styleIn(page).check();
  await addIn(page).click();
  await optionsIn(page).getByText("Please fill this in.").waitFor();
  await fillIn(page);
  await addIn(page).click();
  await page.waitForURL("**/cart**");
}

/** A browser restores the variant of a form that the shopper comes back to, without an event. */
async function comeBack(page: Page, url: string, ready: Locator): Promise<void> {
  await page.goto(url);
  await ready.waitFor();
  await page.locator("label > select").selectOption("102");
  await styleIn(page).waitFor({ state: "hidden" });
  await page.goto(new URL("/cart", url).href);
  await page.goBack();
  const chosen = await page.locator("label > select").inputValue();
  await styleIn(page).waitFor({ state: chosen === "102" ? "hidden" : "visible" });
  await until("the element has the SKU of the variant", async () => {
    const sku = await optionsIn(page).getAttribute("sku");
    return sku === (chosen === "102" ? "unknown" : "1812234");
  });
}

async function fillIn(page: Page): Promise<void> {
  await optionsIn(page).getByLabel("Max 3 initials").fill("ABC");
  const threads = optionsIn(page).getByLabel("Choose a thread color");
  expect(await threads.locator("option:checked").allInnerTexts()).toEqual(["Choose…"]);
  await threads.selectOption("Navy");
  await optionsIn(page).getByRole("radio", { name: "Script" }).check();
}

const ordered: [string, unknown][] = [
  ["id", "101"],
  ["properties[Style]", "Embroidered monogram"],
  ["properties[Max 3 initials]", "ABC"],
  ["properties[Choose a thread color]", "Navy"],
  ["properties[Choose a lettering style]", "Script"],
  ["properties[_style]", "EMBMON3"],
  ["properties[_personalization]", expect.stringMatching(/^\S+$/)],
];

/** Faults besides requests to the service, which is another origin, and advertisements of tools. */
const faultsOf = (faults: readonly string[]) =>
  faults.filter((fault) => !fault.startsWith(`elsewhere: ${service.url}/`) && !fault.startsWith("info: "));

type Ready = (page: Page) => Locator;

/**
 * Shops on the page of a shop with these files.
 * @param ready what is there when the shopper comes back to the page; undefined does not come back
 */
async function expectOrder(files: Readonly<Record<string, ShopFile>>, shopFor = order, ready?: Ready): Promise<void> {
  await using shop = startShop(files);
  await using opened = await openPage(browser, shop.url);
  await shopFor(opened.page);
  expect(shop.cart).toEqual([ordered]);
  expect(faultsOf(opened.faults)).toEqual([]);
  if (ready !== undefined) await comeBack(opened.page, shop.url, ready(opened.page));
}

test("a plain page works as its guide says, with the guide's content security policy", async () => {
  const recipe = await readRecipe("personalize-a-product-page", service.url);
  const policy = `default-src 'none'; ${recipe.only("text").trim()}; form-action 'self'`;
  const head = '<link rel="icon" href="data:,">';
  const files: Record<string, ShopFile> = {
    "/": ["text/html", recipe.only("html").replace("<head>", `<head>${head}`), `${policy}; img-src data:`],
    "/product.js": ["text/javascript", recipe.files["product.js"] ?? ""],
  };
  await expectOrder(files, order, styleIn);
});

test("Dawn works as its guide says", async () => {
  const recipe = await readRecipe("personalize-in-dawn", service.url);
  const texts = JSON.stringify({ EMBMON3: "Embroidered monogram" }).replaceAll('"', "&quot;");
  const snippet = renderLiquid(recipe.only("liquid"), {
    "'personalization.js' | asset_url": "/assets/personalization.js",
    "section.id": "main",
    "product.selected_or_first_available_variant.sku | escape": "1812234",
    "shop.metafields.custom.personalization_texts.value | json | escape": texts,
  });
  const scripts = Object.entries({ ...dawnScripts, "/assets/personalization.js": recipe.files["personalization.js"] });
  await expectOrder({
    "/": ["text/html", dawnPage(snippet)],
    "/favicon.ico": ["image/x-icon", ""],
    ...Object.fromEntries(scripts.map(([path, text]) => [path, ["text/javascript", text ?? ""] as const])),
    ...Object.fromEntries(
      variants.map((variant) => [`/variants/${variant.id}`, ["application/json", JSON.stringify(variant)] as const]),
    ),
  });
});

/** Starts a shop whose theme and cart drop properties with an underscore. */
function startForgetfulShop(files: Readonly<Record<string, ShopFile>>) {
  const line = { key: "1:1", sku: "1812234", quantity: 1, properties: {} as Record<string, string> };
  const page = startShop(files, {
    "/cart/add": async (request) => {
      const entries = [...(await request.formData())].flatMap(([name, value]) => {
        const [, property] = name.match(/^properties\[([^_].*)\]$/s) ?? [];
        return property === undefined ? [] : [[property, `${value}`]];
      });
      line.properties = Object.fromEntries(entries);
      return Response.json(line);
    },
    "/cart.js": async () => Response.json({ items: [line] }),
    "/cart/change.js": async (request) => {
      const { id, quantity, properties } = (await request.json()) as Record<string, unknown>;
      if (id === line.key) Object.assign(line, { quantity, properties });
      return Response.json({ items: [line] });
    },
  });
  return Object.assign(page, { line });
}

test("a theme that drops properties and buttons that skip the form are mended as their guide says", async () => {
  const recipe = await readRecipe("personalize-a-product-page", service.url);
  const [, element = ""] = recipe.only("html").match(/(<personalization-options .*<\/personalization-options>)/s) ?? [];
  const theme = `document.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    fetch("/cart/add", { method: "POST", body: new FormData(event.target) });
  });`;
  await using shop = startForgetfulShop({
    "/": [
      "text/html",
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>Napkin</title><link rel="icon" href="data:,">
      <style>${recipe.only("css")}</style>
      <script type="module" src="${service.url}/personalization-options.js"></script>
      <script type="module" src="/cart-problem.js"></script>
      <form novalidate>${element.replace(" ", ' cart="/cart.js" ')}<button type="submit">Add to cart</button>
      <div class="shopify-payment-button"><button type="button">Buy it now</button></div></form>
      <script>${theme}</script></html>`,
    ],
    "/cart-problem.js": ["text/javascript", recipe.files["cart-problem.js"] ?? ""],
  });
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  const buyNow = page.getByText("Buy it now");
  await styleIn(page).waitFor();
  expect(await buyNow.isVisible()).toBe(true);
  await styleIn(page).check();
  await buyNow.waitFor({ state: "hidden" });
  await fillIn(page);
  expect(await buyNow.isVisible()).toBe(false);
  await addIn(page).click();
  await until("the cart has all properties", () => "_personalization" in shop.line.properties);
  expect(await page.getByText("The cart lacks").count()).toBe(0);
  expect(shop.line).toEqual({
    ...{ key: "1:1", sku: "1812234", quantity: 1 },
    properties: {
      ...{ Style: "Embroidered monogram", "Max 3 initials": "ABC", "Choose a thread color": "Navy" },
      ...{ "Choose a lettering style": "Script", _style: "EMBMON3", _personalization: expect.any(String) },
    },
  });
  // The cart has added the order to a line that the shopper wanted without personalization.
  shop.line.quantity = 3;
  const told = page.waitForEvent("dialog");
  await addIn(page).click();
  const dialog = await told;
  expect(dialog.message()).toContain("The cart lacks");
  await dialog.dismiss();
  expect(shop.line.properties).not.toHaveProperty("_personalization");
  expect(faultsOf(opened.faults)).toEqual([]);
});

/** Serves a page whose container has what the server rendered, and its script. */
const pageOf = (script: string, rendered = ""): Record<string, ShopFile> => ({
  "/": [
    "text/html",
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Napkin</title><link rel="icon" href="data:,">
    <div id="product" data-variants='${JSON.stringify(variants)}'>${rendered}</div>
    <script type="module" src="/script.js"></script></html>`,
  ],
  "/script.js": ["text/javascript", script],
});

interface Framework {
  readonly name: string;
  readonly guide: string;
  /** Entry points: of the guide in the browser, and of rendering on a server. */
  readonly main: string;
  readonly client: string;
  readonly server: string;
}

const frameworks: readonly Framework[] = [
  { name: "React", guide: "personalize-with-react", main: "main.tsx", client: "client.tsx", server: "server.tsx" },
  { name: "Vue", guide: "personalize-with-vue", main: "main.ts", client: "client.ts", server: "server.ts" },
];

describe.each(frameworks)("$name", ({ name, guide, main, client, server }) => {
  const prepare = async (): Promise<BunPlugin[]> => {
    const [own, ofServer] = await Promise.all([
      readRecipe(guide, service.url),
      readRecipe("render-on-a-server", service.url),
    ]);
    await writeFiles(folder, { ...own.files, ...ofServer.files });
    return name === "Vue" ? [await vueCompiler(folder)] : [];
  };

  const headingIn = (page: Page) => optionsIn(page).getByText("Make it yours").first();
  async function orderWithStatus(page: Page): Promise<void> {
    await headingIn(page).waitFor();
    await styleIn(page).check();
    await page.getByText("Not complete yet").waitFor();
    await order(page);
  }

  test("works as its guide says", async () => {
    const plugins = await prepare();
    await expectOrder(pageOf(await bundle(join(folder, main), "browser", plugins)), orderWithStatus, headingIn);
  });

  test("renders on a server as the guide says, and the browser takes over without a warning", async () => {
    const plugins = await prepare();
    const [onServer = ""] = await writeFiles(folder, {
      [`rendered-${name}.js`]: await bundle(join(folder, server), "bun", plugins),
    });
    const { renderProduct } = await import(onServer);
    const rendered: string = await renderProduct(variants);
    expect(rendered).toContain(`sku="1812234"`);
    expect(rendered).toContain("1-800-555-0100");
    const files = pageOf(await bundle(join(folder, client), "browser", plugins), rendered);
    await expectOrder(files, orderWithStatus, headingIn);
  });
});
