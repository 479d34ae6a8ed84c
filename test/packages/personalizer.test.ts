import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Locator, Page } from "playwright-core";
import { toForm } from "../../packages/client/src/form.ts";
import { parseInstruction } from "../../packages/personalizer/src/instruction.ts";
import { defaultLabels } from "../../packages/personalizer/src/labels.ts";
import { isPersonalization } from "../../packages/personalizer/src/response.ts";
import { toStyles } from "../../packages/personalizer/src/styles.ts";
import type { Personalization } from "../../src/model/personalization.ts";
import { accessibilityProblems, startBrowser } from "../support/browser.ts";
import { making, openShop, options, productForm, properties, toldBy, untilTold } from "../support/product-page.ts";

const browser = await startBrowser();
const shop = await openShop(browser);
afterAll(() => shop[Symbol.asyncDispose]());

const add = (page: Page) => page.getByRole("button", { name: "Add to cart" }).click();
const element = (page: Page) => page.locator("personalization-options");
const focused = (page: Page) =>
  page.evaluate<string>("document.activeElement.shadowRoot?.activeElement?.id || document.activeElement.localName");
const hasFocus = (control: Locator) => control.evaluate((node) => node.matches(":focus"));

describe("a shopper", () => {
  test("chooses, fills in and orders by keyboard alone", async () => {
    shop.tag = `W/"5f-1"`;
    await using opened = await shop.open(productForm(options(`sku="1812234"`)));
    const { page } = opened;
    const { keyboard } = page;
    await untilTold(page, "ready");
    await keyboard.press("Tab");
    await keyboard.press("ArrowDown");
    await keyboard.press("ArrowDown");
    await keyboard.press("Tab");
    await keyboard.type("Zoë’s");
    await keyboard.press("Tab");
    await keyboard.type("Navy");
    await keyboard.press("Tab");
    await keyboard.press("Space");
    await keyboard.press("ArrowRight");
    await keyboard.press("Tab");
    await keyboard.press("Tab");
    const value = await page.evaluate<unknown>(`document.querySelector("personalization-options").value`);
    await keyboard.press("Enter");
    await page.waitForURL("**/cart/add");
    shop.tag = undefined;
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
      ["properties[_personalization]", "5f-1"],
      ["quantity", "1"],
      ["add", ""],
    ]);
    expect(opened.faults).toEqual([]);
  });

  test("orders without personalization, and the order says nothing of any", async () => {
    await using opened = await shop.open(productForm(options(`sku="1812234"`)));
    await untilTold(opened.page, "ready");
    expect(await opened.page.getByRole("radio", { name: "No personalization" }).isChecked()).toBe(true);
    await add(opened.page);
    await opened.page.waitForURL("**/cart/add");
    expect(shop.cart.pop()?.map(([name]) => name)).toEqual(["id", "quantity", "add"]);
  });

  test("sees what will be made, and what was typed for another style is there again", async () => {
    await using opened = await shop.open(productForm(options(`sku="TM814810W" texts='{"LASFAM":"Family sign"}'`)));
    const { page } = opened;
    const summary = element(page).locator("[aria-live=polite]");
    await page.getByRole("radio", { name: "Family sign" }).check();
    await page.getByLabel("Family name").fill("  THE NÚÑEZ FAMILY ");
    await summary.getByText("THE NÚÑEZ FAMILY", { exact: true }).waitFor();
    expect(await summary.locator("dt").allInnerTexts()).toEqual(["Style", "Family name"]);
    expect(await summary.locator("dd").allInnerTexts()).toEqual(["Family sign", "THE NÚÑEZ FAMILY"]);
    await page.getByRole("radio", { name: "No personalization" }).check();
    expect(await summary.innerText()).toBe("");
    await page.getByRole("radio", { name: "Family sign" }).check();
    expect(await page.getByLabel("Family name").inputValue()).toBe("  THE NÚÑEZ FAMILY ");
    expect((await toldBy(page)).findLast(({ type }) => type === "change")?.detail).toEqual({
      value: { style: "LASFAM", lines: [{ label: "Family name", value: "THE NÚÑEZ FAMILY" }] },
      complete: true,
    });
  });

  test("gets a counter and no more room than the instruction states", async () => {
    await using opened = await shop.open(productForm(options(`sku="TM814935W"`)));
    const { page } = opened;
    await page.getByRole("radio", { name: "LASFAM" }).check();
    const name = page.getByLabel("Family name");
    await name.pressSequentially("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    expect(await name.inputValue()).toBe("ABCDEFGHIJKLMNOPQRST");
    const ids = (await name.getAttribute("aria-describedby"))?.split(" ") ?? [];
    const described = await Promise.all(ids.map((id) => page.locator(`#${id}`).textContent()));
    expect(described).toEqual(["up to 20 characters, e.g. THE NÚÑEZ FAMILY", "20 of 20", ""]);
    const established = page.getByLabel("Established");
    expect(await established.getAttribute("maxlength")).toBe("4");
    expect(await established.getAttribute("aria-required")).toBeNull();
  });

  test("chooses among up to 8 by radios, among more from a list, and may leave what is optional", async () => {
    const numbers = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    const texts = ["Eight", "Nine", "Some (optional)", "Many (optional)"];
    const choices = [numbers.slice(0, 8), numbers, ["a", "b"], numbers];
    shop.made.set("kinds", making(texts.map((text, index) => ({ text, choices: choices[index] ?? [] }))));
    await using opened = await shop.open(productForm(options(`sku="kinds" endpoint="/made" required`)));
    const { page } = opened;
    await untilTold(page, "ready");
    // The only style there is, of which one is required, is taken.
    expect(await page.getByRole("radiogroup", { name: "Eight" }).getByRole("radio").count()).toBe(8);
    expect(await page.getByLabel("Nine").locator("option").allInnerTexts()).toEqual(["Choose…", ...numbers]);
    await page.getByRole("radiogroup", { name: "Eight" }).getByLabel("8").check();
    await page.getByLabel("Nine").selectOption("9");
    const some = page.getByRole("radiogroup", { name: "Some" });
    await some.getByLabel("b").check();
    await some.getByLabel("None").check();
    await add(page);
    await page.waitForURL("**/cart/add");
    expect(properties(shop.cart.pop())?.slice(0, -1)).toEqual([
      ["properties[Style]", "STYLE"],
      ["properties[Eight]", "8"],
      ["properties[Nine]", "9"],
      ["properties[_style]", "STYLE"],
    ]);
  });

  test("orders by Enter in a field, as in any form", async () => {
    shop.made.set("one", making([{ text: "Name: up to 12 characters" }]));
    await using opened = await shop.open(productForm(options(`sku="one" endpoint="/made" required`)));
    await opened.page.getByLabel("Name").fill("Ada");
    await opened.page.getByLabel("Name").press("Enter");
    await opened.page.waitForURL("**/cart/add");
    expect(shop.cart.pop()).toContainEqual(["properties[Name]", "Ada"]);
  });

  test("starts over", async () => {
    await using opened = await shop.open(productForm(options(`sku="TM814935W"`)));
    const { page } = opened;
    await page.getByRole("radio", { name: "LASFAM" }).check();
    await page.getByLabel("Family name").fill("Ada");
    await page.getByRole("button", { name: "Start over" }).click();
    expect(await page.getByRole("radio", { name: "No personalization" }).isChecked()).toBe(true);
    expect(await page.getByLabel("Family name").count()).toBe(0);
    await page.getByRole("radio", { name: "LASFAM" }).check();
    expect(await page.getByLabel("Family name").inputValue()).toBe("");
  });

  test("comes back to the page and finds everything as it was", async () => {
    await using opened = await shop.open(productForm(options(`sku="TM814935W"`)));
    const { page } = opened;
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

  test("cannot change anything while the form is disabled, and nothing of it is sent", async () => {
    const inside = `<fieldset disabled>${options(`sku="1812234" required`)}</fieldset>`;
    await using opened = await shop.open(productForm(inside));
    await untilTold(opened.page, "ready");
    expect(await opened.page.getByRole("radio", { name: "EMBNAME" }).isDisabled()).toBe(true);
    await add(opened.page);
    await opened.page.waitForURL("**/cart/add");
    expect(properties(shop.cart.pop())).toEqual([]);
  });
});

describe("an incomplete choice", () => {
  test.each(["novalidate", "novalidate data-scripted"])("is not sent by a form that is %s", async (attributes) => {
    await using opened = await shop.open(productForm(options(`sku="1812234"`), attributes));
    const { page } = opened;
    await page.getByRole("radio", { name: "EMBMON3" }).check();
    await page.getByLabel("Max 3 initials").fill("   ");
    const before = shop.cart.length;
    await add(page);
    expect(await focused(page)).toBe("line-0");
    const messages = element(page).locator("[part~=message]:visible");
    expect(await messages.allInnerTexts()).toEqual([
      "Please fill this in.",
      "Please choose one.",
      "Please choose one.",
    ]);
    expect(await page.getByLabel("Max 3 initials").getAttribute("aria-invalid")).toBe("true");
    expect((await toldBy(page)).filter(({ type }) => type === "invalid")).toEqual([
      { type: "invalid", detail: { message: "Please fill this in.", label: "Max 3 initials" }, from: "" },
    ]);
    await page.getByLabel("Max 3 initials").fill("ABC");
    expect(await messages.count()).toBe(2);
    await add(page);
    expect(await focused(page)).toBe("line-1");
    expect(shop.cart.length).toBe(before);
    await page.getByLabel("Choose a thread color").selectOption("Navy");
    await page.getByLabel("Script").check();
    const sent = page.waitForResponse("**/cart/add");
    await add(page);
    await sent;
    expect(properties(shop.cart.pop())).toHaveLength(6);
    expect(opened.faults).toEqual([]);
  });

  test("is held by the browser in a form that validates, where it is", async () => {
    await using opened = await shop.open(productForm(options(`sku="1812234" required`), ""));
    const { page } = opened;
    await untilTold(page, "ready");
    const before = shop.cart.length;
    const report = () =>
      page.evaluate<unknown>(`(() => {
        const { validity, validationMessage } = document.querySelector("personalization-options");
        return [validity.valid, validationMessage, document.querySelector("form").checkValidity()];
      })()`);
    await add(page);
    expect(await report()).toEqual([false, "Please choose a style.", false]);
    expect(await focused(page)).not.toBe("button");
    await page.getByRole("radio", { name: "EMBMON3" }).check();
    await add(page);
    expect(await focused(page)).toBe("line-0");
    expect(await report()).toEqual([false, "Please fill this in.", false]);
    expect(shop.cart.length).toBe(before);
    expect(opened.faults).toEqual([]);
  });

  test("is one without a style where personalization is required", async () => {
    await using opened = await shop.open(productForm(options(`sku="1812234" required`)));
    const { page } = opened;
    await untilTold(page, "ready");
    expect(await page.getByRole("radio", { name: "No personalization" }).count()).toBe(0);
    const before = shop.cart.length;
    await add(page);
    await page.getByText("Please choose a style.").waitFor();
    expect(await hasFocus(page.getByRole("radio").first())).toBe(true);
    expect(shop.cart.length).toBe(before);
  });

  test("is one that is too long, however it got there", async () => {
    shop.made.set("one", making([{ text: "Name: up to 12 characters" }]));
    await using opened = await shop.open(productForm(options(`sku="one" endpoint="/made" required`)));
    const { page } = opened;
    const name = page.getByLabel("Name");
    await name.evaluate((input) => input.removeAttribute("maxlength"));
    await name.fill("A".repeat(13));
    await add(page);
    await page.getByText("Please use 12 characters at most.").waitFor();
    expect(await page.evaluate<boolean>(`document.querySelector("personalization-options").validity.tooLong`)).toBe(
      true,
    );
  });
});

describe("a service that fails", () => {
  const failures = [
    ["answers 500", "/failing", "status"],
    ["answers no JSON", "/junk", "answer"],
    ["answers another shape", "/other-shape", "answer"],
    ["cannot be reached", "/offline", "network"],
    ["hangs", "/hanging", "timeout"],
  ] as const;

  async function openFailing(endpoint: string, attributes = "") {
    const opened = await shop.open("<p></p>");
    await opened.page.clock.install();
    // From here on time passes only where a test lets it.
    await opened.page.clock.pauseAt(new Date(Date.now() + 1000));
    await opened.page.route("**/offline/**", (route) => route.abort("internetdisconnected"));
    await opened.page.evaluate(
      `document.querySelector("main").innerHTML = ${JSON.stringify(
        productForm(options(`sku="1812234" endpoint="${endpoint}" ${attributes}`, "Call us to personalize.")),
      )}`,
    );
    if (endpoint === "/hanging") {
      await opened.page.clock.fastForward(7900);
      expect((await toldBy(opened.page)).length).toBe(0);
      await opened.page.clock.fastForward(200);
    }
    await untilTold(opened.page, "error");
    return opened;
  }

  test.each(failures)("and %s does not hold up the order", async (_, endpoint, reason) => {
    await using opened = await openFailing(endpoint);
    const { page } = opened;
    const [told] = await toldBy(page);
    expect(told?.detail).toMatchObject({ reason, sku: "1812234" });
    expect(await page.evaluate<string[]>("window.atWindow")).toEqual([]);
    expect(await page.getByText("Call us to personalize.").isVisible()).toBe(true);
    expect(await page.getByRole("alert").count()).toBe(0);
    await add(page);
    await page.waitForURL("**/cart/add");
    expect(properties(shop.cart.pop())).toEqual([]);
  });

  test.each(failures)("and %s holds it up where it is required, until it is well again", async (_, endpoint) => {
    await using opened = await openFailing(endpoint, "required");
    const { page } = opened;
    const before = shop.cart.length;
    await add(page);
    const retry = page.getByRole("alert").getByRole("button", { name: "Try again" });
    expect(await hasFocus(retry)).toBe(true);
    expect(shop.cart.length).toBe(before);
    await page.route(`**${endpoint}/**`, async (route) => {
      const url = route.request().url().replace(endpoint, "/api/v1");
      await route.fulfill({ response: await route.fetch({ url }) });
    });
    await page.keyboard.press("Enter");
    await untilTold(page, "ready");
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await hasFocus(page.getByRole("radio").first())).toBe(true);
  });

  test("is waited for by what is required or filled in already, and by nothing else", async () => {
    const page = (attributes: string) => shop.open(productForm(options(`sku="1" endpoint="/hanging" ${attributes}`)));
    await using required = await page("required");
    const before = shop.cart.length;
    await add(required.page);
    await required.page.getByText("The personalization options are still loading.").waitFor();
    expect(shop.cart.length).toBe(before);
    await using free = await page("");
    await add(free.page);
    await free.page.waitForURL("**/cart/add");
    shop.cart.pop();
    await using filled = await shop.open(productForm(options(`sku="TM814935W"`)));
    await filled.page.getByRole("radio", { name: "LASFAM" }).check();
    await filled.page.getByLabel("Family name").fill("Ada");
    await filled.page.evaluate(`document.querySelector("personalization-options").endpoint = "/hanging"`);
    await add(filled.page);
    await filled.page.getByText("The personalization options are still loading.").waitFor();
    expect(shop.cart.length).toBe(before);
  });
});

describe("the element", () => {
  test("shows the answer of the last SKU it was given, and keeps what is on offer there too", async () => {
    shop.made.set("late", making([{ text: "Late" }], "LATE"));
    shop.made.set("first", making([{ text: "Name" }], "BOTH"));
    shop.made.set("last", making([{ text: "Name" }, { text: "Last" }], "BOTH"));
    await using opened = await shop.open(productForm(options(`id="it" sku="first" endpoint="/slow"`)));
    const { page } = opened;
    await page.getByRole("radio", { name: "BOTH" }).check();
    await page.getByLabel("Name").fill("Ada");
    // The service has got the question of the late one when the last is asked.
    await Promise.all([page.waitForRequest("**/late"), page.evaluate("it.sku = 'late'")]);
    await page.evaluate("it.sku = 'last'");
    await page.getByLabel("Last").waitFor();
    await Bun.sleep(300);
    expect(await page.getByLabel("Last").isVisible()).toBe(true);
    expect(await page.getByLabel("Name").inputValue()).toBe("Ada");
    expect((await toldBy(page)).filter(({ type }) => type !== "change").map(({ type }) => type)).toEqual([
      "ready",
      "ready",
    ]);
    expect(opened.faults).toEqual([expect.stringMatching(/^failed: .*\/late: net::ERR_ABORTED$/)]);
  });

  test("gives up its question when it is taken off the page, and asks again when it is put back", async () => {
    await using opened = await shop.open(productForm(options(`id="it" sku="1" endpoint="/hanging"`)));
    const { page } = opened;
    await page.evaluate("window.put = it.parentNode, window.kept = it");
    const [ended] = await Promise.all([page.waitForEvent("requestfailed"), page.evaluate("kept.remove()")]);
    expect(ended.failure()?.errorText).toBe("net::ERR_ABORTED");
    await Promise.all([page.waitForRequest("**/hanging/**"), page.evaluate("put.append(kept)")]);
    expect(await toldBy(page)).toEqual([]);
  });

  test("takes no space where nothing is on offer, also where it is required", async () => {
    await using opened = await shop.open(productForm(options(`id="it" sku="810134" required`, "Loading…")));
    const { page } = opened;
    await untilTold(page, "ready");
    expect((await toldBy(page))[0]?.detail).toEqual({ styles: 0 });
    expect(await page.evaluate<unknown>("[it.offsetHeight, getComputedStyle(it).display]")).toEqual([0, "none"]);
    await add(page);
    await page.waitForURL("**/cart/add");
    expect(properties(shop.cart.pop())).toEqual([]);
  });

  test("asks for SKUs as they are", async () => {
    await using opened = await shop.open(options(`sku="MC 813445/1"`));
    await untilTold(opened.page, "ready");
    expect(shop.asked.at(-1)).toBe("MC 813445/1");
    expect((await toldBy(opened.page))[0]?.detail.styles).toBeGreaterThan(0);
  });

  test("shows texts of any kind as they are, and runs nothing", async () => {
    const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>`;
    const lines = [
      { text: `__[a]${evil}` },
      { text: evil, choices: [evil, "__proto__"] },
      { text: `(optional) ${evil}` },
    ];
    shop.made.set("evil", making(lines, `__proto__${evil}`));
    await using opened = await shop.open(productForm(options(`sku="evil" endpoint="/made" required`)));
    const { page } = opened;
    await untilTold(page, "ready");
    expect(await element(page).locator("img, script").count()).toBe(0);
    const fields = element(page).locator("[part~=line]");
    await fields.nth(0).getByRole("textbox").fill(evil);
    expect(await fields.nth(1).getByRole("radio", { name: "__proto__" }).count()).toBe(1);
    await fields.nth(1).getByRole("radio").first().check();
    await element(page).locator("dd").nth(2).waitFor();
    expect(await element(page).locator("dd").allInnerTexts()).toEqual([`__proto__${evil}`, evil, evil]);
    expect(await element(page).locator("img, script").count()).toBe(0);
    await add(page);
    await page.waitForURL("**/cart/add");
    expect(properties(shop.cart.pop())?.slice(0, 4)).toEqual([
      ["properties[Style]", `__proto__${evil}`],
      [`properties[(a)${evil}]`, evil],
      [`properties[${evil}]`, evil],
      ["properties[_style]", `__proto__${evil}`],
    ]);
    expect(opened.faults).toEqual([]);
  });

  test("marks what was seen: the same for the same answer, another for another", async () => {
    const read = `new FormData(document.querySelector("form")).get("properties[_personalization]")`;
    const marks: (string | null)[] = [];
    shop.made.set("mark", making([]));
    await using opened = await shop.open(productForm(options(`id="it" sku="mark" endpoint="/made" required`)));
    for (const text of ["Name", "Name", "Other"]) {
      shop.made.set("mark", making([{ text: `${text} (optional)` }]));
      await opened.page.evaluate("it.reload()");
      await opened.page.getByLabel(text).waitFor();
      marks.push(await opened.page.evaluate(read));
    }
    expect(marks[0]).toMatch(/^[0-9a-f]{16}$/);
    expect(marks[1]).toBe(marks[0]);
    expect(marks[2]).not.toBe(marks[0]);
  });

  test("stands beside another of its kind, each in its own form", async () => {
    const forms = ["TM814935W", "1812234"].map((sku, index) => productForm(options(`id="w${index}" sku="${sku}"`)));
    await using opened = await shop.open(forms.join(""));
    const { page } = opened;
    await page.locator("#w0").getByRole("radio", { name: "LASFAM" }).check();
    await page.locator("#w1").getByRole("radio", { name: "EMBNAME" }).check();
    expect(await page.locator("#w0").getByRole("radio", { name: "LASFAM" }).isChecked()).toBe(true);
    await page.locator("#w0").getByLabel("Family name").fill("Ada");
    await page.locator("form").nth(0).getByRole("button", { name: "Add to cart" }).click();
    await page.waitForURL("**/cart/add");
    expect(shop.cart.pop()).toContainEqual(["properties[Style]", "LASFAM"]);
  });

  test("speaks in the words it is given, by attributes or all at once", async () => {
    const german = `label-none="Ohne Gravur" label-optional="freiwillig" label-style="Art"`;
    shop.made.set("german", making([{ text: "Name (freiwillig)" }, { text: "Ort", choices: ["Rome"] }]));
    await using opened = await shop.open(productForm(options(`id="it" sku="german" endpoint="/made" ${german}`)));
    const { page } = opened;
    await page.getByText("Ohne Gravur").waitFor();
    await page.evaluate(`it.labels = { title: "Gravur", texts: { STYLE: "Schreibschrift", Rome: "Rom" } }`);
    await page.getByRole("radiogroup", { name: "Gravur" }).getByRole("radio", { name: "Schreibschrift" }).check();
    await page.getByRole("radio", { name: "Rom", exact: true }).check();
    await add(page);
    await page.waitForURL("**/cart/add");
    expect(properties(shop.cart.pop())?.slice(0, 3)).toEqual([
      ["properties[Art]", "Schreibschrift"],
      ["properties[Ort]", "Rome"],
      ["properties[_style]", "STYLE"],
    ]);
  });

  test.each([
    ["light", 1280],
    ["dark", 360],
  ] as const)("has nothing that axe-core holds against it, %s at %i px", async (colorScheme, width) => {
    const main = [`sku="1812234"`, `sku="PH-811679" required`, `sku="1" endpoint="/failing" required`].map(
      (attributes) => productForm(options(attributes)),
    );
    await using opened = await shop.open(main.join(""), { colorScheme, viewport: { width, height: 800 } });
    const { page } = opened;
    await page.getByRole("radio", { name: "EMBMON3" }).check();
    await page.getByRole("radio", { name: "ENGNAMD" }).check();
    for (const one of await page.getByRole("button", { name: "Add to cart" }).all()) await one.click();
    await page.getByText("could not be loaded").waitFor();
    await page.evaluate("Promise.all(document.getAnimations().map(({ finished }) => finished))");
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(width);
  });

  test("comes as one small script", () => {
    expect(shop.script).not.toMatch(/\bimport\s*[("{]|innerHTML|insertAdjacentHTML|\beval\b/);
    expect(Bun.gzipSync(shop.script, { level: 9 }).length).toBeLessThan(10_000);
  });
});

describe("what is on offer by an answer", () => {
  const code = fc.constantFrom("A", "B", "C", "__proto__", "");
  const text = fc.string({ maxLength: 2 });
  const answers: fc.Arbitrary<Personalization> = fc.record({
    pzlines: fc.array(fc.record({ sku_id: text, style_code: code, style_display_seq: text, style_sku_status: text })),
    pzstyles: fc.array(
      fc.record({
        style_code: code,
        line_status: text,
        line_display_seq: text,
        choice_type: code,
        instruct_text: text,
      }),
    ),
    pzchoices: fc.array(
      fc.record({ choice_type: code, choice_status: text, choice_display_seq: text, choice_value: text }),
    ),
  });
  const unlike = <Value>(values: readonly Value[]) => values.filter((value, index) => values.indexOf(value) === index);

  test("is each style once, its lines and each of their choices once, all in the answer's order", () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const styles = toStyles(toForm(answer), { ...defaultLabels, texts: {} });
        expect(styles.map((style) => style.code)).toEqual(unlike(answer.pzlines.map((line) => line.style_code)));
        for (const { code, fields } of styles) {
          const rows = answer.pzstyles.filter(({ style_code }) => style_code === code);
          const choicesOf = (type: string) =>
            unlike(answer.pzchoices.filter((row) => row.choice_type === type).map((row) => row.choice_value));
          expect(fields.map(({ choices }) => choices)).toEqual(
            rows.map(({ choice_type }) => choicesOf(choice_type).filter((value) => value.trim() !== "")),
          );
        }
      }),
    );
  });

  test("comes from every answer of the shape, and from nothing else", () => {
    fc.assert(fc.property(answers, isPersonalization));
    fc.assert(fc.property(fc.anything(), (value) => !isPersonalization(value)));
    const row = { style_code: "A", line_status: "A", line_display_seq: "1", choice_type: "B", instruct_text: "C" };
    expect(isPersonalization({ pzlines: [], pzstyles: [row], pzchoices: [] })).toBe(true);
    expect(isPersonalization({ pzlines: [], pzstyles: [{ ...row, instruct_text: null }], pzchoices: [] })).toBe(false);
    expect(isPersonalization({ pzlines: [row], pzstyles: [row], pzchoices: [] })).toBe(false);
    expect(isPersonalization({ pzlines: [], pzstyles: [row] })).toBe(false);
  });
});

describe("an instruction", () => {
  test.each([
    ["Family name: up to 12 characters", 12],
    ["Max 3 initials: first, LAST, middle", 3],
    ["max. 3 letters", 3],
    ["Maximum of 10 characters", 10],
    ["No more than 15 letters", 15],
    ["12 characters max", 12],
    ["Block letters. Up to 20 characters, spaces included", 20],
    ["Year: 4 digits, e.g. 2026", 4],
    ["Established (optional): 4 digits", 4],
    ["Up to 20 characters, or up to 10 letters with a monogram", 20],
    ["At least 4 digits", undefined],
    ["Number: 4 digits or more", undefined],
    ["Between 3 and 12 characters", undefined],
    ["Up to 1,000 characters", undefined],
    ["Up to 3 lines", undefined],
    ["Up to 0 characters", undefined],
    ["3 characters", undefined],
    ["The last 4 digits", undefined],
  ])("%j states the limit %p", (text, limit) => {
    expect(parseInstruction(text, "optional").limit).toBe(limit);
  });

  test.each([
    ["Family name: up to 12 characters", "Family name", "up to 12 characters", false],
    ["Card (optional): up to 30 characters 🎁", "Card", "up to 30 characters 🎁", true],
    ["Ring size, US; if between two, choose the larger", "Ring size, US", "if between two, choose the larger", false],
    ["Block letters. Up to 20 characters", "Block letters", "Up to 20 characters", false],
    ["Choose a motif", "Choose a motif", "", false],
    ["Mr. Waffles (his name)", "Mr. Waffles (his name)", "", false],
    ["At 3:42", "At 3:42", "", false],
    ["x".repeat(61), "", "x".repeat(61), false],
    ["", "", "", false],
  ])("%j is read", (text, label, hint, optional) => {
    expect(parseInstruction(text, "optional")).toMatchObject({ label, hint, optional });
  });
});
