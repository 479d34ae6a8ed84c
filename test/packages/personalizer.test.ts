import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { accessibilityProblems, isFirefox, readOverflow } from "../support/browser.ts";
import {
  add,
  createOptions,
  hasFocus,
  options,
  productForm,
  readEvents,
  readProperties,
  show,
  startShop,
  untilEvent,
} from "../support/product-page.ts";

const shop = await startShop({ hasService: true });

const open = (attributes: string, form?: string) => shop.open(productForm(options(`id="it" ${attributes}`), form));
const element = (page: Page) => page.locator("personalization-options");
const focused = (page: Page) =>
  page.evaluate<string>("document.activeElement.shadowRoot?.activeElement?.id || document.activeElement.localName");

describe("a shopper", () => {
  test("can choose, fill in, and order by keyboard", async () => {
    await using page = await open(`sku="1812234"`);
    const { keyboard } = page;
    await untilEvent(page, "ready");
    await keyboard.press("Tab");
    await keyboard.press("ArrowDown");
    await keyboard.press("ArrowDown");
    await keyboard.press("Tab");
    await keyboard.type("Zoë");
    await keyboard.press("Tab");
    await keyboard.type("Navy");
    await keyboard.press("Tab");
    await keyboard.press("Space");
    await keyboard.press("ArrowRight");
    await keyboard.press("Tab");
    await keyboard.press("Tab");
    const value = await page.evaluate<unknown>("it.value");
    await keyboard.press("Enter");
    await page.waitForURL("**/cart/add");
    expect(value).toEqual({
      style: "EMBMON3",
      lines: [
        { label: "Max 3 initials", value: "Zoë" },
        { label: "Choose a thread color", value: "Navy" },
        { label: "Choose a lettering style", value: "Block" },
      ],
    });
    expect(shop.cart.pop()).toEqual([
      ["id", "40123"],
      ["properties[Style]", "EMBMON3"],
      ["properties[Max 3 initials]", "Zoë"],
      ["properties[Choose a thread color]", "Navy"],
      ["properties[Choose a lettering style]", "Block"],
      ["properties[_style]", "EMBMON3"],
      ["properties[_personalization]", expect.stringMatching(/^[\w-]+$/)],
      ["quantity", "1"],
      ["add", ""],
    ]);
    expect(page.faults).toEqual([]);
  });

  test("can order without personalization, which adds no form entries", async () => {
    await using page = await open(`sku="1812234"`);
    await untilEvent(page, "ready");
    expect(await page.getByRole("radio", { name: "No personalization" }).isChecked()).toBe(true);
    await add(page);
    await page.waitForURL("**/cart/add");
    expect(shop.cart.pop()?.map(([name]) => name)).toEqual(["id", "quantity", "add"]);
  });

  test("sees a summary, and finds the text of a style again after switching", async () => {
    await using page = await open(`sku="TM814810W" texts='{"LASFAM":"Family sign"}'`);
    const summary = element(page).locator("[aria-atomic]");
    await page.getByRole("radio", { name: "Family sign" }).check();
    await page.getByLabel("Family name").fill("  THE NÚÑEZ FAMILY ");
    await summary.getByText("THE NÚÑEZ FAMILY", { exact: true }).waitFor();
    expect(await summary.locator("dt").allInnerTexts()).toEqual(["Style", "Family name"]);
    expect(await summary.locator("dd").allInnerTexts()).toEqual(["Family sign", "THE NÚÑEZ FAMILY"]);
    await page.getByRole("radio", { name: "No personalization" }).check();
    expect(await summary.innerText()).toBe("");
    await page.getByRole("radio", { name: "Family sign" }).check();
    expect(await page.getByLabel("Family name").inputValue()).toBe("  THE NÚÑEZ FAMILY ");
    expect((await readEvents(page, "change")).at(-1)?.detail).toEqual({
      value: { style: "LASFAM", lines: [{ label: "Family name", value: "THE NÚÑEZ FAMILY" }] },
      complete: true,
    });
  });

  test("gets a counter, and a message beyond the limit that the instruction states", async () => {
    await using page = await open(`sku="TM814935W"`);
    await page.getByRole("radio", { name: "LASFAM" }).check();
    const name = page.getByLabel("Family name");
    await name.pressSequentially("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    expect(await name.inputValue()).toBe("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const ids = (await name.getAttribute("aria-describedby"))?.split(" ") ?? [];
    const described = await Promise.all(ids.map((id) => page.locator(`#${id}`).textContent()));
    expect(described).toEqual([
      "up to 20 characters, e.g. THE NÚÑEZ FAMILY",
      "26 of 20",
      "Please use 20 characters at most.",
    ]);
    const established = page.getByLabel("Established");
    expect(await established.getAttribute("inputmode")).toBe("numeric");
    expect(await established.getAttribute("aria-required")).toBeNull();
  });

  test("gets radio buttons for up to 8 choices, a list for more, and None if optional", async () => {
    const numbers = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    const texts = ["Eight", "Nine", "Some (optional)", "Many (optional)"];
    const choices = [numbers.slice(0, 8), numbers, ["a", "b"], numbers];
    shop.responses.set("kinds", createOptions(texts.map((text, index) => ({ text, choices: choices[index] ?? [] }))));
    await using page = await open(`sku="kinds" endpoint="/custom" required`);
    await untilEvent(page, "ready");
    // A single required style is chosen automatically.
    expect(await page.getByRole("radiogroup", { name: "Eight" }).getByRole("radio").count()).toBe(8);
    const offered = `[...it.shadowRoot.querySelector("select").options].map(({ text }) => text)`;
    expect(await page.evaluate<string[]>(offered)).toEqual(["Choose…", ...numbers]);
    await page.getByRole("radiogroup", { name: "Eight" }).getByLabel("8").check();
    await page.locator("select").first().selectOption("9");
    const some = page.getByRole("radiogroup", { name: "Some" });
    await some.getByLabel("b").check();
    await some.getByLabel("None").check();
    expect((await shop.order(page))?.slice(0, -1)).toEqual(["Style: STYLE", "Eight: 8", "Nine: 9", "_style: STYLE"]);
  });

  // Firefox restores no input of a page with `no-store`, and what was ordered is not kept otherwise.
  test.skipIf(isFirefox)("finds the input again after going back to the page", async () => {
    await using page = await open(`sku="TM814935W"`);
    await page.getByRole("radio", { name: "LASFAM" }).check();
    await page.getByLabel("Family name").fill("Ada");
    await add(page);
    await page.waitForURL("**/cart/add");
    const entries = shop.cart.pop();
    await page.goBack();
    await page.getByLabel("Family name").waitFor();
    expect(await page.getByLabel("Family name").inputValue()).toBe("Ada");
    await add(page);
    await page.waitForURL("**/cart/add");
    expect(shop.cart.pop()).toEqual(entries);
  });

  test("cannot change or submit anything in a disabled fieldset", async () => {
    const inside = `<fieldset disabled>${options(`sku="1812234" required`)}</fieldset>`;
    await using page = await shop.open(productForm(inside));
    await untilEvent(page, "ready");
    expect(await page.getByRole("radio", { name: "EMBNAME" }).isDisabled()).toBe(true);
    expect(await shop.order(page)).toEqual([]);
  });
});

describe("an incomplete choice", () => {
  test.each(["novalidate", "novalidate data-scripted"])("is not submitted by a form with %s", async (attributes) => {
    await using page = await open(`sku="1812234"`, attributes);
    await page.getByRole("radio", { name: "EMBMON3" }).check();
    await page.getByLabel("Max 3 initials").fill("   ");
    await add(page);
    expect(await focused(page)).toBe("line-0");
    const messages = element(page).locator("[part~=message]:visible");
    expect(await messages.allInnerTexts()).toEqual([
      "Please fill this in.",
      "Please choose one.",
      "Please choose one.",
    ]);
    expect(await page.getByLabel("Max 3 initials").getAttribute("aria-invalid")).toBe("true");
    expect(await readEvents(page, "invalid")).toEqual([
      { type: "invalid", detail: { message: "Please fill this in.", label: "Max 3 initials" }, from: "it" },
    ]);
    await page.getByLabel("Max 3 initials").fill("ABC");
    expect(await messages.count()).toBe(2);
    await add(page);
    expect(await focused(page)).toBe("line-1");
    await page.getByLabel("Choose a thread color").selectOption("Navy");
    await page.getByLabel("Script").check();
    expect(await shop.order(page)).toHaveLength(6);
    expect(page.faults).toEqual([]);
  });

  test.each(["novalidate", ""])("is one without a style if required, in a form with %j", async (attributes) => {
    await using page = await open(`sku="1812234" required`, attributes);
    await untilEvent(page, "ready");
    expect(await page.getByRole("radio", { name: "No personalization" }).count()).toBe(0);
    const report = () =>
      page.evaluate<unknown>("[it.validity.valid, it.validationMessage, document.forms[0].checkValidity()]");
    await add(page);
    // The browser itself chooses what to focus in a form that it validates.
    if (attributes === "") expect(await focused(page)).not.toBe("button");
    else {
      await page.getByText("Please choose a style.").waitFor();
      expect(await hasFocus(page.getByRole("radio").first())).toBe(true);
    }
    expect(await report()).toEqual([false, "Please choose a style.", false]);
    await page.getByRole("radio", { name: "EMBMON3" }).check();
    await add(page);
    expect(await focused(page)).toBe("line-0");
    expect(await report()).toEqual([false, "Please fill this in.", false]);
    expect(page.faults).toEqual([]);
  });
});

describe("a service that fails", () => {
  const failures = [
    ["responds with 500", "/failing", "status"],
    ["responds without JSON", "/junk", "answer"],
    ["responds in another shape", "/other-shape", "answer"],
    ["cannot be reached", "/offline", "network"],
    ["hangs", "/hanging", "timeout"],
  ] as const;

  async function openFailing(endpoint: string, attributes = "") {
    const page = await shop.open("<p></p>");
    await page.clock.install();
    // From here on time passes only where a test lets it.
    await page.clock.pauseAt(new Date(Date.now() + 1000));
    await page.route("**/offline/**", (route) => route.abort("internetdisconnected"));
    const failing = options(`sku="1812234" endpoint="${endpoint}" ${attributes}`, "Call us to personalize.");
    await show(page, productForm(failing));
    if (endpoint === "/hanging") {
      await page.clock.fastForward(7900);
      expect(await readEvents(page)).toEqual([]);
      await page.clock.fastForward(200);
    }
    await untilEvent(page, "error");
    return page;
  }

  test.each(failures)("and %s does not block orders", async (_, endpoint, reason) => {
    await using page = await openFailing(endpoint);
    const [event] = await readEvents(page);
    expect(event?.detail).toMatchObject({ reason, sku: "1812234" });
    expect(await page.evaluate<string[]>("window.windowErrors")).toEqual([]);
    expect(await page.getByText("Call us to personalize.").isVisible()).toBe(true);
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await shop.order(page)).toEqual([]);
  });

  test.each(failures)("and %s blocks orders if required, until it recovers", async (_, endpoint) => {
    await using page = await openFailing(endpoint, "required");
    await add(page);
    const retry = page.getByRole("alert").getByRole("button", { name: "Try again" });
    expect(await hasFocus(retry)).toBe(true);
    await page.route(`**${endpoint}/**`, async (route) => {
      const url = route.request().url().replace(endpoint, "/api/v1");
      await route.fulfill({ response: await route.fetch({ url }) });
    });
    await page.keyboard.press("Enter");
    await untilEvent(page, "ready");
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await hasFocus(page.locator("[part~=title]"))).toBe(true);
  });

  test("blocks while loading only if required or if there is input", async () => {
    const expectBlocked = async (page: Page) => {
      await add(page);
      await page.getByText("The personalization options are still loading.").waitFor();
    };
    await using required = await open(`sku="1" endpoint="/hanging" required`);
    await expectBlocked(required);
    await using free = await open(`sku="1" endpoint="/hanging"`);
    expect(await shop.order(free)).toEqual([]);
    await using filled = await open(`sku="TM814935W"`);
    await filled.getByRole("radio", { name: "LASFAM" }).check();
    await filled.getByLabel("Family name").fill("Ada");
    await filled.evaluate(`it.endpoint = "/hanging"`);
    await expectBlocked(filled);
  });
});

describe("the element", () => {
  test("shows the options of the last SKU and keeps the input that it offers", async () => {
    shop.responses.set("late", createOptions([{ text: "Late" }], "LATE"));
    const release = shop.hold("late");
    shop.responses.set("last", createOptions([{ text: "Name" }, { text: "Last" }], "BOTH"));
    await using page = await open(`sku="blue" endpoint="/custom"`);
    await page.getByRole("radio", { name: "BOTH" }).check();
    await page.getByLabel("Name").fill("Ada");
    // The service has received the late request when the last SKU is set.
    await Promise.all([page.waitForRequest("**/late"), page.evaluate("it.sku = 'late'")]);
    await page.evaluate("it.sku = 'last'");
    await page.getByLabel("Last").waitFor();
    release();
    // Long enough for the late response to appear, if it could.
    await Bun.sleep(300);
    expect(await page.getByLabel("Last").isVisible()).toBe(true);
    expect(await page.getByLabel("Name").inputValue()).toBe("Ada");
    const events = (await readEvents(page)).map(({ type }) => type);
    expect(events.filter((type) => type !== "change")).toEqual(["ready", "ready"]);
    expect(page.faults).toEqual([expect.stringMatching(/^failed: .*\/late: \S+_ABORTED$/)]);
  });

  test("takes no space without options, even if required", async () => {
    await using page = await shop.open(productForm(options(`id="it" sku="810134" required`, "Loading…")));
    await untilEvent(page, "ready");
    expect((await readEvents(page))[0]?.detail).toEqual({ styles: 0 });
    expect(await page.evaluate<unknown>("[it.offsetHeight, getComputedStyle(it).display]")).toEqual([0, "none"]);
    expect(await shop.order(page)).toEqual([]);
  });

  test("encodes the SKU in the URL, so that the service finds it", async () => {
    await using page = await shop.open(options(`sku="MC 813445/1"`));
    await untilEvent(page, "ready");
    expect((await readEvents(page))[0]?.detail.styles).toBeGreaterThan(0);
  });

  test("shows markup in texts as text", async () => {
    const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>`;
    const lines = [
      { text: `__[a]${evil}` },
      { text: evil, choices: [evil, "__proto__"] },
      { text: `(optional) ${evil}` },
    ];
    shop.responses.set("evil", createOptions(lines, `__proto__${evil}`));
    await using page = await open(`sku="evil" endpoint="/custom" required`);
    await untilEvent(page, "ready");
    expect(await element(page).locator("img, script").count()).toBe(0);
    const fields = element(page).locator("[part~=line]");
    await fields.nth(0).getByRole("textbox").fill(evil);
    expect(await fields.nth(1).getByRole("radio", { name: "__proto__" }).count()).toBe(1);
    await fields.nth(1).getByRole("radio").first().check();
    await element(page).locator("dd").nth(2).waitFor();
    expect(await element(page).locator("dd").allInnerTexts()).toEqual([`__proto__${evil}`, evil, evil]);
    expect(await element(page).locator("img, script").count()).toBe(0);
    expect((await shop.order(page))?.slice(0, 4)).toEqual([
      `Style: __proto__${evil}`,
      `(a)${evil}: ${evil}`,
      `${evil}: ${evil}`,
      `_style: __proto__${evil}`,
    ]);
    expect(page.faults).toEqual([]);
  });

  test("submits a checksum that depends only on the response", async () => {
    const tags: (string | undefined)[] = [];
    shop.responses.set("mark", createOptions([]));
    await using page = await open(`sku="mark" endpoint="/custom" required`);
    for (const text of ["Name", "Name", "Other"]) {
      shop.responses.set("mark", createOptions([{ text: `${text} (optional)` }]));
      await page.evaluate("it.reload()");
      await page.getByLabel(text).waitFor();
      tags.push((await readProperties(page))?.at(-1));
    }
    expect(tags[0]).toMatch(/^_personalization: [0-9a-f]{16}$/);
    expect(tags[1]).toBe(tags[0]);
    expect(tags[2]).not.toBe(tags[0]);
  });

  test("takes labels from attributes and from the property", async () => {
    shop.responses.set("german", createOptions([{ text: "Name (freiwillig)" }, { text: "Ort", choices: ["Rome"] }]));
    await using page = await open(`sku="german" endpoint="/custom"
      label-none="Ohne Gravur" label-optional="freiwillig" label-style="Art"`);
    await page.getByText("Ohne Gravur").waitFor();
    await page.evaluate(`it.labels = { title: "Gravur", texts: { STYLE: "Schreibschrift", Rome: "Rom" } }`);
    await page.getByRole("radiogroup", { name: "Gravur" }).getByRole("radio", { name: "Schreibschrift" }).check();
    await page.getByRole("radio", { name: "Rom", exact: true }).check();
    expect((await shop.order(page))?.slice(0, 3)).toEqual(["Art: Schreibschrift", "Ort: Rome", "_style: STYLE"]);
  });

  // In Firefox, the scheme is always light.
  test.each([
    ["light", 1280],
    ["dark", 360],
  ] as const)("has no axe-core violations, %s at %i px", async (colorScheme, width) => {
    const main = [`sku="1812234"`, `sku="PH-811679" required`, `sku="1" endpoint="/failing" required`].map(
      (attributes) => productForm(options(attributes)),
    );
    await using page = await shop.open(main.join(""), { colorScheme, viewport: { width, height: 800 } });
    await page.getByRole("radio", { name: "EMBMON3" }).check();
    await page.getByRole("radio", { name: "ENGNAMD" }).check();
    // The radio buttons of elements with the same names are independent.
    expect(await page.getByRole("radio", { name: "EMBMON3" }).isChecked()).toBe(true);
    for (const one of await page.getByRole("button", { name: "Add to cart" }).all()) await one.click();
    await page.getByText("could not be loaded").waitFor();
    await page.evaluate("Promise.all(document.getAnimations().map(({ finished }) => finished))");
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await readOverflow(page)).toBe(0);
  });

  test("is a script of less than 8,000 bytes compressed, and a second one for its form", () => {
    const { script, form, formFile } = shop.scriptsOfWidget;
    for (const text of [script, form])
      expect(text).not.toMatch(/\bimport\s*["{]|innerHTML|insertAdjacentHTML|\beval\b/);
    expect(script.match(/\bimport\(/g)).toHaveLength(1);
    expect(script).toContain(formFile);
    expect(form).not.toContain("import(");
    // Scripts of two releases may meet: if this list changes, or the meaning of an entry, the number must.
    expect([formFile.slice(0, 7), ...new Bun.Transpiler({ loader: "js" }).scan(form).exports.sort()]).toEqual([
      "form-3-",
      "CartCheck",
      "checksum",
      "completeData",
      "completeLabels",
      "drawForm",
      "fitSelection",
      "listProblems",
      "readControls",
      "readOptions",
      "showEntries",
      "styleSheet",
      "submitOnEnter",
      "toEntries",
      "toStyles",
      "toValue",
      "warn",
    ]);
    const [first = 0, second = 0] = [script, form].map((text) => Bun.gzipSync(text, { level: 9 }).length);
    expect(first).toBeLessThan(8_000);
    expect(first + second).toBeLessThan(16_000);
  });
});
