import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Locator } from "playwright-core";
import { isFirefox } from "../support/browser.ts";
import { isCampaign } from "../support/pds.ts";
import { add, createOptions, joinOptions, productForm, startShop, widget } from "../support/product-page.ts";
import { until } from "../support/until.ts";

// Shoppers do anything in any order. What their screen shows, as the accessibility tree has it, is
// what the cart receives, or they are told. Nothing is compared with what the element says itself.

const shop = await startShop();

const threads = ["1", "2", "3", "4", "5", "6", "7", "8", " Navy "];
const name = { text: "Name" };
const back = { text: "Back (optional)" };
const fonts = { text: "Font", choices: ["Block", "Script"] };
const robe = createOptions([{ text: "Robe: up to 100 characters" }], "ROBE");
const responses = {
  red: joinOptions(createOptions([name, back], "BOTH"), robe),
  moved: createOptions([back, fonts, name], "BOTH"),
  robe,
  initials: createOptions([{ text: "Initials: up to 3 letters" }, { text: "Thread", choices: threads }], "MONO"),
};
for (const [sku, response] of Object.entries(responses)) shop.responses.set(sku, response);
/** The last one cannot be loaded. */
const skus = ["red", "blue", "moved", "robe", "initials", "plain", "gone"];
const languages = ["en", "de", "fr"];

shop.scripts.set(
  "ways.js",
  `const form = document.forms[0];
  const readers = {
    data: () => new FormData(form),
    // As serialize() of jQuery does.
    serialize: () => new URLSearchParams([...form.elements].filter((one) => one.name && !one.matches(":disabled") &&
      /^(input|select|textarea)$/i.test(one.nodeName) && !/^(submit|reset)$/.test(one.type)).map(({ name, value }) => [name, value])),
  };
  let reader = "data";
  window.sent = 0;
  const send = () => { sent++; fetch("/cart/add", { method: "POST", body: readers[reader]() }); };
  window.read = (name) => (reader = name);
  window.quick = () => it.reportValidity() && send();
  form.addEventListener("submit", (event) => { event.preventDefault(); send(); });`,
);

/** Without the marks that a paste brings, which nobody sees. */
const plain = (text: string) =>
  text
    .normalize("NFC")
    .replace(/[\u200e\u200f]/g, "")
    .replace(/\s+/g, " ")
    .trim();

interface Screen {
  readonly style: string | undefined;
  /** Of the lines, by label. */
  readonly values: ReadonlyMap<string, string>;
  readonly alert: string;
  readonly text: string;
}

/** The nodes of an accessibility tree, each as Playwright writes it: `radio "Block" [checked]`. */
type Node = string | Record<string, unknown>;

function readTree(text: string): Screen {
  const values = new Map<string, string>();
  let style: string | undefined;
  let alert = "";
  const visit = (nodes: readonly Node[], group: string | undefined) => {
    for (const node of nodes) {
      const [key = "", inside] = typeof node === "string" ? [node] : (Object.entries(node)[0] ?? []);
      const [, role, name = ""] = /^(\w+)(?: "((?:[^"\\]|\\.)*)")?/.exec(key) ?? [];
      const label = name.replace(/ (optional|facultatif)$/, "");
      if (role === "alert") alert = plain(JSON.stringify(inside ?? ""));
      if (role === "textbox" && plain(`${inside ?? ""}`) !== "") values.set(label, `${inside}`);
      const isChosen = key.includes("[checked]") || key.includes("[selected]");
      if (isChosen && group === "styles") style = name;
      else if (isChosen && group !== undefined) values.set(group, name);
      const isStyles =
        role === "radiogroup" && nodes.length > 0 && group === undefined && !values.has(label) && isFirst;
      if (role === "radiogroup") isFirst = false;
      if (Array.isArray(inside)) {
        visit(inside, isStyles ? "styles" : role === "radiogroup" || role === "combobox" ? label : group);
      }
    }
  };
  let isFirst = true;
  visit((Bun.YAML.parse(text) ?? []) as Node[], undefined);
  const isNone =
    style === undefined || /^(No personalization|Ohne Personalisierung|Sans personnalisation)$/.test(style);
  for (const [label, value] of values) {
    if (isNone || /^(Choose…|Bitte wählen …|Choisir…|None|Keine Angabe|Aucun choix)$/.test(value)) values.delete(label);
  }
  return { style: isNone ? undefined : style, values, alert, text };
}

const page = await shop.open("");
const scripts = ["/scripts/ways.js", "/personalization-options.js"];
const pages = new Map<string, string>();
for (const required of [true, false]) {
  for (const sku of ["red", "initials"]) {
    const markup = productForm(widget(`sku="${sku}"${required ? " required" : ""}`));
    await using opened = await shop.open(markup, {}, scripts);
    pages.set(`${required} ${sku}`, opened.url().replace("/page/", "/products/"));
  }
}
const host = page.locator("personalization-options");
const boxes = host.getByRole("textbox");

const settled = () =>
  until("the element is settled", () =>
    page.evaluate<boolean>(`!!window.it && !it.matches(":state(loading)") && it.matches(":defined")`),
  );
const readScreen = async () => readTree(await host.ariaSnapshot());
const pick = <Item>(items: readonly Item[], number: number) => items[number % items.length] as Item;
async function pickBox(number: number): Promise<Locator | undefined> {
  const count = await boxes.count();
  return count > 0 ? boxes.nth(number % count) : undefined;
}

/** Changes what the page offers, and returns its end, which the test lets happen later. */
async function change(number: number): Promise<() => Promise<void>> {
  const sku = pick(skus, number);
  const release = shop.hold(sku);
  const isLanguage = number % 3 === 0;
  if (isLanguage) release();
  await page.evaluate(
    isLanguage ? `document.documentElement.lang = "${pick(languages, number)}"` : `it.sku = "${sku}"`,
  );
  return async () => {
    release();
    await settled();
  };
}

/** Whether a text is on the screen, or the shopper was told that it was lost. */
function expectKept(text: string, { values, alert, text: tree }: Screen): void {
  const isShown = [...values.values()].some((value) => plain(value) === plain(text));
  const isNamed =
    alert.includes(JSON.stringify(plain(text)).slice(1, -1)) ||
    /could not be loaded|nicht geladen|pas pu être/.test(alert);
  if (!isShown && !isNamed) throw new Error(`The text "${text}" is neither on the screen nor named as lost:\n${tree}`);
}

type Step = readonly [kind: keyof typeof steps, number: number, text: string];

const steps = {
  async type(number: number, text: string) {
    const box = await pickBox(number);
    if (box === undefined) return;
    await box.focus();
    await page.keyboard.press("Control+End");
    await page.keyboard.type(text);
  },
  /** While another variant or language loads, as with a theme that is slow. */
  async typeThrough(number: number, text: string) {
    const box = await pickBox(number);
    if (box === undefined) return;
    await box.focus();
    await page.keyboard.press("Control+End");
    const before = await box.inputValue();
    await page.keyboard.type(text);
    const finish = await change(number);
    await page.keyboard.type("x");
    await finish();
    expectKept(`${before}${text}x`, await readScreen());
  },
  async paste(number: number, text: string) {
    await (await pickBox(number))?.focus();
    await page.keyboard.insertText(`\u200e${text}\u200f`);
  },
  async fill(number: number, text: string) {
    const isReported = number % 2 === 0;
    await (await pickBox(number))?.evaluate(
      (field, [value, reported]) => {
        Object.assign(field, { value });
        if (reported) (field as unknown as EventTarget).dispatchEvent(new Event("change", { bubbles: true }));
      },
      [text, isReported] as const,
    );
  },
  async choose(number: number) {
    const radios = host.getByRole("radio");
    const count = await radios.count();
    if (count > 0) await radios.nth(number % count).check();
    const list = host.locator("select");
    if ((await list.count()) > 0) await list.selectOption({ index: number % (threads.length + 1) });
  },
  async change(number: number) {
    const { values, alert } = await readScreen();
    await (await change(number))();
    const after = await readScreen();
    // With a loss, a required element shows what is left, and the next variant may bring back more.
    if (alert === "") for (const value of values.values()) expectKept(value, after);
  },
  async relabel(number: number) {
    await page.evaluate(`it.labels = { title: "Title ${number}" }, it.textContent = "Call ${number}"`);
  },
  async comeBack() {
    const { values, alert } = await readScreen();
    await page.goto(new URL("/cart.js", page.url()).href);
    await page.goBack();
    await settled();
    const after = await readScreen();
    if (!isOrdered && alert === "") for (const value of values.values()) expectKept(value, after);
  },
  async send(number: number) {
    await page.evaluate(`read("${pick(["data", "serialize"], number)}")`);
    const before = await readScreen();
    const box = await pickBox(number);
    const ways = [
      () => add(page),
      () => page.evaluate("document.forms[0].requestSubmit()"),
      () => page.evaluate("quick(), void 0"),
      () => (box ?? page.getByRole("button", { name: "Add to cart" })).press("Enter"),
    ];
    const count = await page.evaluate<number>("sent");
    await pick(ways, number >> 1)();
    // Enter submits after the event, and does not in a text of several lines.
    await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
    if ((await page.evaluate<number>("sent")) === count) {
      const { text } = await readScreen();
      const isNewLine = box !== undefined && (await box.evaluate((one) => one.localName)) === "textarea";
      if (!isNewLine)
        expect(text).toMatch(/Please|Bitte|Veuillez|no longer|nicht mehr|ne comprend plus|could not|konnten|pas pu/);
      return;
    }
    await until("the cart has the order", () => shop.cart.length > 0);
    const [entries = []] = shop.cart.splice(0);
    const received = entries.filter(([name]) => /^properties\[(?!_)/.test(name)).map(([, value]) => plain(value));
    const { style, values } = before;
    expect(received).toEqual(style === undefined ? [] : [style, ...[...values.values()].map(plain)]);
    isOrdered = true;
  },
};
let isOrdered = false;

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom(
    ...(["type", "type", "typeThrough", "paste", "fill", "choose", "choose"] as const),
    ...(["change", "relabel", "comeBack", "send", "send", "send"] as const),
  ),
  fc.nat(1000),
  fc.constantFrom("An", "Zoë L", "19", "Lee", "ß"),
);

async function run(isRequired: boolean, sku: string, all: readonly Step[]): Promise<void> {
  await page.goto(new URL("/cart.js", page.url()).href);
  await page.evaluate("sessionStorage.clear()");
  await page.goto(pages.get(`${isRequired} ${sku}`) ?? "");
  await settled();
  isOrdered = false;
  // Most shoppers of this test want a personalization.
  if (all.length % 4 > 0) await host.getByRole("radio").last().check();
  for (const [kind, number, text] of [...all, ["send", all.length, ""] as const]) {
    if (/^(type|typeThrough|paste|fill|choose)$/.test(kind)) isOrdered = false;
    await steps[kind](number, text);
  }
}

test("the cart receives what the screen shows, or the shopper is told that it does not", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.constantFrom("red", "initials"),
      fc.array(step, { minLength: 3, maxLength: 12 }),
      run,
    ),
    {
      numRuns: isCampaign ? (isFirefox ? 200 : 1000) : 20,
      seed: isCampaign ? Date.now() : 7,
      endOnFailure: true,
    },
  );
});
