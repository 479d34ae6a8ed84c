import { afterAll, afterEach, beforeEach, expect } from "bun:test";
import { join } from "node:path";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { toForm } from "../../packages/client/src/form.ts";
import type { LocalizedForm } from "../../packages/client/src/types.ts";
import { buildPersonalizer, type PersonalizerScripts } from "../../packages/personalizer/build.ts";
import type { Personalization } from "../../src/contract/personalization.ts";
import { type OpenPage, openPage, startBrowser } from "./browser.ts";
import { pds, root, serve, temporaryFolder } from "./pds.ts";
import { until } from "./until.ts";

const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'";

const style = `
  body { margin: 0; font: 16px/1.5 sans-serif; color-scheme: light dark; background: #fff; color: #1c1b1a }
  @media (prefers-color-scheme: dark) { body { background: #17181a; color: #ececea } }
  main { max-width: 30rem; margin: auto; padding: 1rem }`;

/** A theme's script. It records events, and submits forms with `data-scripted` by `fetch`. */
const theme = `
  window.events = [];
  window.windowErrors = [];
  for (const type of ["ready", "change", "invalid", "error"]) {
    document.addEventListener(type, (event) => events.push({ type, detail: event.detail, from: event.target.id }));
  }
  window.addEventListener("error", (event) => windowErrors.push(event.type));
  for (const form of document.querySelectorAll("form[data-scripted]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      fetch(form.action, { method: "POST", body: new FormData(form) });
    });
  }`;

/** Moves the page's clock, so that the next click is not the second of a double click. */
export const passSecond = "performance.now = ((now) => () => now() + 1000)(performance.now.bind(performance))";

interface State {
  /** Form entries of each addition to the cart. A test fails if it leaves some. */
  readonly cart: Entries[];
  /** Responses of `endpoint="/custom"` by SKU; 400 for others. */
  readonly responses: Map<string, Personalization | LocalizedForm>;
  /** `Retry-After` of the next responses of `endpoint="/custom"`, which are 503. */
  readonly retryAfter: (string | undefined)[];
  /** Status of such responses. */
  busyStatus: number;
  /** Requests to `endpoint="/custom"`. */
  readonly requests: { readonly sku: string; readonly locale: string; readonly atMs: number }[];
  /** Properties of the lines that `/cart.js` has. */
  cartLines: Record<string, string>[];
  /** Scripts at `/scripts/NAME`. */
  readonly scripts: Map<string, string>;
}

/** Closing it closes its profile. */
export type ShopPage = Page & Pick<OpenPage, "faults">;

interface Shop extends State {
  readonly scriptsOfWidget: PersonalizerScripts;
  /** Delays responses of `endpoint="/custom"` for a SKU until the result is called. */
  hold(sku: string): () => void;
  /** @param scripts URLs of the page's scripts */
  open(main: string, options?: BrowserContextOptions, scripts?: readonly string[]): Promise<ShopPage>;
  /** Adds to the cart, waits for the order, and returns its personalization, each entry as `NAME: VALUE`. */
  order(page: Page): Promise<string[] | undefined>;
}

type Entries = [name: string, value: string][];

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

/** An element whose responses the test sets. */
export const widget = (attributes: string, id = "it") => options(`id="${id}" endpoint="/custom" ${attributes}`);

/** Options with one style and the given lines. A line without choices is a text field. */
export function createOptions(
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

/** The options of a SKU that has the styles of all the given ones. */
export function joinOptions(...all: readonly Personalization[]): Personalization {
  const apart = <Row extends { choice_type: string }>(rows: readonly Row[], place: number) =>
    rows.map((row) => ({ ...row, choice_type: `${place} ${row.choice_type}` }));
  return {
    pzlines: all.flatMap(({ pzlines }) => pzlines),
    pzstyles: all.flatMap(({ pzstyles }, place) => apart(pzstyles, place)),
    pzchoices: all.flatMap(({ pzchoices }, place) => apart(pzchoices, place)),
  };
}

/** Responses that every shop has. */
const commonResponses: Record<string, Personalization> = {
  red: createOptions([{ text: "Name" }, { text: "Back (optional)" }], "BOTH"),
  blue: createOptions([{ text: "Name" }], "BOTH"),
  robe: createOptions([{ text: "Robe name" }], "ROBE"),
  plain: { pzlines: [], pzstyles: [], pzchoices: [] },
};

/** The personalization among form entries, each as `NAME: VALUE`. */
const toProperties = (entries: Entries | undefined) =>
  entries?.flatMap(([name, value]) => (name.startsWith("properties[") ? `${name.slice(11, -1)}: ${value}` : []));

/**
 * Starts a browser, and a shop with product pages, the real service if a test needs it, and failing
 * endpoints. They stop after the test file.
 */
export async function startShop({ hasService = false } = {}): Promise<Shop> {
  const browser = await startBrowser();
  const scriptsOfWidget = buildPersonalizer();
  const service = hasService ? await startService() : undefined;
  const state: State = {
    cart: [],
    responses: new Map(Object.entries(commonResponses)),
    retryAfter: [],
    busyStatus: 503,
    requests: [],
    cartLines: [],
    scripts: new Map(),
  };
  const held = new Map<string, Promise<void>>();
  const pages = new Map<string, string>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      ...pageRoutes(scriptsOfWidget, pages, state),
      ...serviceRoutes(scriptsOfWidget, service, held, state),
    },
    fetch: () => new Response("", { status: 404 }),
  });
  // A test takes the orders that it expects, so one that is left was not blocked.
  afterEach(() => expect(state.cart.splice(0)).toEqual([]));
  afterAll(() => Promise.all([server.stop(true), service?.stop()]));
  return Object.assign(state, {
    scriptsOfWidget,
    hold: (sku: string) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(sku, promise);
      return () => {
        held.delete(sku);
        resolve();
      };
    },
    open: async (
      main: string,
      options: BrowserContextOptions = {},
      scripts: readonly string[] = ["/theme.js", "/personalization-options.js"],
    ) => {
      const name = `${pages.size}`;
      pages.set(name, productPage(main, scripts));
      const { page, ...opened } = await openPage(browser, `${server.url}page/${name}`, options);
      return Object.assign(page, opened);
    },
    order: async (page: Page) => {
      await page.evaluate(passSecond);
      const sent = page.waitForResponse("**/cart/add");
      await add(page);
      await sent;
      return toProperties(state.cart.pop());
    },
  });
}

/** The real service with the sample brand. */
async function startService() {
  const environment = { DATABASE_URL: `sqlite:${join(await temporaryFolder(), "pds.sqlite")}` };
  const imported = await pds(["import", "personalization", join(root, "sample", "personalization")], environment);
  if (imported.code !== 0) throw new Error(imported.stderr);
  return await serve(environment);
}

const productPage = (main: string, scripts: readonly string[]) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
  <title>Napkin</title><link rel="stylesheet" href="/style.css">
  ${scripts.map((src) => `<script type="module" src="${src}"></script>`).join("")}
  <main><h1>Napkin</h1>${main}</main></html>`;

const respond = (type: string, body: string) => new Response(body, { headers: { "Content-Type": type } });

function pageRoutes({ script }: PersonalizerScripts, pages: ReadonlyMap<string, string>, state: State) {
  const { cart, scripts } = state;
  const page = ({ params }: Bun.BunRequest<"/page/:name">) =>
    new Response(pages.get(params.name), {
      headers: { "Content-Type": "text/html", "Content-Security-Policy": policy, "Cache-Control": "no-store" },
    });
  return {
    "/scripts/:name": ({ params }: Bun.BunRequest<"/scripts/:name">) =>
      respond("text/javascript", scripts.get(params.name) ?? ""),
    "/cart.js": () => Response.json({ items: state.cartLines.map((properties) => ({ properties })) }),
    "/cart/add.js": () => Response.json({}),
    "/personalization-options.js": () => respond("text/javascript", script),
    "/theme.js": () => respond("text/javascript", theme),
    "/style.css": () => respond("text/css", style),
    "/favicon.ico": () => new Response(null, { status: 204 }),
    "/cart/add": async (request: Request) => {
      cart.push([...(await request.formData())].map(([name, value]) => [name, `${value}`]));
      return respond("text/html", `<!doctype html><title>Cart</title><h1>Added</h1>`);
    },
    "/page/:name": page,
    "/products/:name": page,
    "/fr/products/:name": page,
  };
}

/** What the service responds with without a presentation. */
function toLocalizedForm(personalization: Personalization, locale: string): LocalizedForm {
  const styles = toForm(personalization).map(({ sku_id: _, lines, ...style }) => ({
    ...style,
    ...toAppearance(style.style_code),
    lines: lines.map(({ style_code: __, choices, ...line }) => ({
      ...line,
      ...toAppearance(line.instruct_text),
      limit: null,
      characters: null,
      required: null,
      uppercase: false,
      choices: choices.map(({ choice_type: ___, ...choice }) => ({ ...choice, ...toAppearance(choice.choice_value) })),
    })),
  }));
  return { sku_id: "1", locale, styles };
}

const toAppearance = (name: string) => ({ name, help: null, image: null });

function serviceRoutes(
  { form, formFile }: PersonalizerScripts,
  service: Awaited<ReturnType<typeof startService>> | undefined,
  held: ReadonlyMap<string, Promise<void>>,
  state: State,
) {
  const { responses, retryAfter, requests } = state;
  const respondTo = (sku: string, locale: string) => {
    const body = responses.get(sku);
    if (body === undefined) return new Response("{}", { status: 400 });
    return Response.json("styles" in body ? body : toLocalizedForm(body, locale));
  };
  return {
    "/personalization-options/:file": ({ params: { file } }: Bun.BunRequest<"/personalization-options/:file">) =>
      file === formFile
        ? respond("text/javascript", form)
        : new Response(Bun.file(join(root, "packages", "personalizer", "languages", file))),
    "/api/v1/products/form/:locale/:sku": async ({ url }: Request) => {
      const headers = { "Accept-Encoding": "identity" };
      const response = await service?.get(new URL(url).pathname, { redirect: "manual", headers });
      return response ?? new Response("{}", { status: 404 });
    },
    "/custom/products/form/:locale/:sku": async ({
      params: { locale, sku },
    }: Bun.BunRequest<"/custom/products/form/:locale/:sku">) => {
      requests.push({ sku, locale, atMs: performance.now() });
      await held.get(sku);
      if (retryAfter.length > 0) {
        const value = retryAfter.shift();
        return new Response("{}", { status: state.busyStatus, headers: value ? { "Retry-After": value } : {} });
      }
      return respondTo(sku, locale);
    },
    "/older/products/pz/:sku": ({ params: { sku } }: Bun.BunRequest<"/older/products/pz/:sku">) =>
      Response.json(responses.get(sku), { headers: { ETag: `"older"` } }),
    "/hanging/products/form/:locale/:sku": () => new Promise<Response>(() => {}),
    "/failing/products/form/:locale/:sku": () => new Response("{}", { status: 500 }),
    "/junk/products/form/:locale/:sku": () => respond("application/json", `{"styles":[{"style_code":7}]`),
    "/other-shape/products/form/:locale/:sku": () => Response.json({ styles: [null] }),
  };
}

/**
 * Opens a page for all tests of a file, because opening one costs most of the time. Before each test,
 * it is empty, and nothing is stored.
 */
export async function openShared(shop: Shop): Promise<ShopPage> {
  const page = await shop.open("");
  const { pathname } = new URL(page.url());
  beforeEach(async () => {
    shop.requests.length = 0;
    await show(page, "");
    const clear = `sessionStorage.clear(), history.pushState(0, "", "${pathname}"), scrollTo(0, 0)`;
    await page.evaluate(`${clear}, document.documentElement.lang = "en"`);
  });
  return page;
}

/** Replaces the content of the page, and forgets its events. */
export const show = (page: Page, markup: string) =>
  page.evaluate(`events.length = 0, document.querySelector("main").innerHTML = ${JSON.stringify(markup)}, void 0`);

/** Shows markup, and waits until an element is ready. */
export async function showReady(page: Page, markup: string): Promise<void> {
  await show(page, markup);
  await untilEvent(page, "ready");
}

/** Runs a script in the page, and waits until an element is ready because of it. */
export async function readyAfter(page: Page, script: string): Promise<void> {
  await page.evaluate(`events.length = 0, ${script}, void 0`);
  await untilEvent(page, "ready");
}

export const add = (page: Page) => page.getByRole("button", { name: "Add to cart" }).click();

/** The personalization that the first form would send now. */
export const readProperties = async (page: Page) =>
  toProperties(await page.evaluate<Entries>("[...new FormData(document.forms[0])]"));

export const hasFocus = (control: Locator) => control.evaluate((node) => node.matches(":focus"));

/** Events that elements of the page have dispatched, of one type or of all. */
export async function readEvents(page: Page, type?: string) {
  const events =
    await page.evaluate<{ type: string; detail: Record<string, unknown>; from: string }[]>("window.events ?? []");
  return events.filter((event) => type === undefined || event.type === type);
}

/** Polls from outside: the page's content security policy forbids evaluating a condition. */
export const untilEvent = (page: Page, type: string, count = 1) =>
  until(`the page receives ${count} ${type}`, async () => (await readEvents(page, type)).length >= count);

export const untilState = (page: Page, state: string) =>
  until(`the element is ${state}`, () => page.evaluate<boolean>(`it.matches(":state(${state})")`));
