import { beforeEach, describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { accessibilityProblems, isFirefox, readOverflow } from "../support/browser.ts";
import { root, temporaryFolder } from "../support/pds.ts";
import { add, createOptions, productForm, show, startShop, untilEvent, widget } from "../support/product-page.ts";
import { until } from "../support/until.ts";

const shop = await startShop();

beforeEach(() => {
  shop.requests.length = 0;
});

/**
 * Pages that real frameworks render. Each has `update(properties)`, which renders again, and
 * `unmount()`.
 */
const pages = {
  react: `
    import { createElement as h } from "react";
    import { flushSync } from "react-dom";
    import { createRoot } from "react-dom/client";
    const App = ({ others, ...properties }) => h("form", { action: "/cart/add", method: "post", noValidate: true },
      others && h("p", null, "Before"),
      h("personalization-options", { id: "it", endpoint: "/custom", onchange: () => (window.changes = (window.changes ?? 0) + 1), ...properties }),
      h("button", null, "Add to cart"));
    const root = createRoot(document.querySelector("main"));
    window.update = (properties) => flushSync(() => root.render(h(App, properties)));
    window.unmount = () => flushSync(() => root.unmount());`,
  vue: `
    import { createApp, h, nextTick, shallowRef } from "vue/dist/vue.runtime.esm-bundler.js";
    const given = shallowRef({});
    const app = createApp({ render: () => { const { others, ...properties } = given.value;
      return h("form", { action: "/cart/add", method: "post", novalidate: true }, [
        others ? h("p", "Before") : null,
        h("personalization-options", { id: "it", endpoint: "/custom", onChange: () => (window.changes = (window.changes ?? 0) + 1), ...properties }),
        h("button", "Add to cart")]); } });
    window.update = async (properties) => { given.value = properties; await nextTick(); };
    app.mount("main");
    window.unmount = () => app.unmount();`,
  lit: `
    import { html, render } from "lit";
    const main = document.querySelector("main");
    window.update = ({ others, sku, required, texts, labels }) => render(html\`
      <form action="/cart/add" method="post" novalidate>\${others ? html\`<p>Before</p>\` : null}
        <personalization-options id="it" endpoint="/custom" .sku=\${sku} ?required=\${required} .texts=\${texts} .labels=\${labels}
          @change=\${() => (window.changes = (window.changes ?? 0) + 1)}></personalization-options>
        <button>Add to cart</button></form>\`, main);
    window.unmount = () => render(null, main);`,
};

async function bundle(source: string): Promise<string> {
  const folder = join(await temporaryFolder(), "page");
  await mkdir(folder);
  const entry = join(folder, "page.js");
  // The packages are found from the project's folder.
  const packages = source.replaceAll(/from "([^"]+)"/g, (_, name) => `from "${Bun.resolveSync(name, root)}"`);
  await writeFile(entry, packages);
  const built = await Bun.build({
    entrypoints: [entry],
    target: "browser",
    define: {
      "process.env.NODE_ENV": `"production"`,
      __VUE_OPTIONS_API__: "true",
      __VUE_PROD_DEVTOOLS__: "false",
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
    },
  });
  return (await built.outputs[0]?.text()) ?? "";
}

const update = (page: Page, given: object) => page.evaluate(`update(${JSON.stringify(given)})`);

describe.each(Object.entries(pages))("in a page of %s", (name, source) => {
  test.each([
    ["before", ["/theme.js", "/personalization-options.js", `/scripts/${name}.js`]],
    ["after", ["/theme.js", `/scripts/${name}.js`]],
  ])("the element defined %s its page renders is a form control", async (order, scripts) => {
    shop.scripts.set(`${name}.js`, await bundle(source));
    await using page = await shop.open("", {}, scripts);
    // Until it is defined, frameworks set objects as attributes; a page sets them again afterwards.
    const given = {
      sku: "red",
      required: order === "before",
      ...(order === "before" && { texts: { Name: "Vorname" } }),
    };
    await update(page, given);
    if (order === "after") {
      await page.evaluate(`import("/personalization-options.js")`);
      await update(page, { ...given, texts: { Name: "Vorname" } });
    }
    await untilEvent(page, "ready");
    await page.getByRole("radio", { name: "BOTH" }).check();
    const field = page.getByLabel("Vorname");
    await field.press("A");
    const node = await field.elementHandle();
    // Rendering again with equal values, as at every key of a controlled page.
    for (const letter of "nnabel") {
      await update(page, { ...given, texts: { Name: "Vorname" }, labels: { title: "Gravur" }, others: letter === "a" });
      await page.keyboard.press(letter);
    }
    expect(await node?.evaluate((one) => one.isConnected)).toBe(true);
    expect(await field.inputValue()).toBe("Annabel");
    expect(shop.requests.length).toBe(1);
    await update(page, { ...given, sku: "blue", texts: { Name: "Vorname" } });
    await until("the other variant has loaded", async () => shop.requests.length === 2);
    await until("it is ready", () => page.evaluate<boolean>(`it.matches(":state(ready)")`));
    expect(await field.inputValue()).toBe("Annabel");
    await field.blur();
    expect(await page.evaluate<number>("changes")).toBeGreaterThan(0);
    // The element of another mount finds the text again.
    await page.evaluate("unmount()");
    expect(page.faults).toEqual([]);
    if (name !== "lit") await page.reload();
    await update(page, { sku: "blue", required: true });
    if (order === "after") await page.evaluate(`import("/personalization-options.js")`);
    await page.getByLabel("Name", { exact: true }).waitFor();
    expect((await shop.order(page))?.slice(0, 2)).toEqual(["Style: BOTH", "Name: Annabel"]);
  });
});

test.skipIf(isFirefox)(
  "1,000 elements that are added and removed, some with their forms, leave nothing behind",
  async () => {
    await using page = await shop.open(productForm(""));
    const session = await page.context().newCDPSession(page);
    const counts = async () => {
      await session.send("HeapProfiler.collectGarbage");
      return await session.send("Memory.getDOMCounters");
    };
    const cycle = (count: number) =>
      page.evaluate(`(async () => {
      for (let index = 0; index < ${count}; index++) {
        const element = document.createElement("personalization-options");
        Object.assign(element, { endpoint: "/custom", sku: "red", required: true });
        element.setAttribute("cart", "/cart.js");
        const ready = new Promise((resolve) => element.addEventListener("ready", resolve));
        const hasOwnForm = index % 3 === 0;
        const form = hasOwnForm ? document.body.appendChild(document.createElement("form")) : document.forms[0];
        form.prepend(element);
        if (index % 10 === 0) await ready;
        (hasOwnForm ? form : element).remove();
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
      events.length = 0;
    })()`);
    await cycle(20);
    const before = await counts();
    await cycle(1000);
    // Aborted requests and timers end before what they refer to is collected.
    await until("the elements are collected", async () => {
      const { nodes, jsEventListeners } = await counts();
      return nodes <= before.nodes + 50 && jsEventListeners <= before.jsEventListeners + 20;
    });
  },
);

test("nothing moves while options load if their height is reserved", async () => {
  shop.scripts.set(
    "reserve.js",
    `document.querySelector("personalization-options").style.cssText = "display: block; min-block-size: 30rem; --personalization-height: 30rem"`,
  );
  const release = shop.hold("red");
  const scripts = ["/scripts/reserve.js", "/theme.js", "/personalization-options.js"];
  await using page = await shop.open(productForm(widget(`sku="red"`)), {}, scripts);
  await until("the service receives the request", () => shop.requests.length > 0);
  const top = () => page.evaluate<number>(`document.querySelector("[name=add]").getBoundingClientRect().top`);
  const before = await top();
  release();
  await untilEvent(page, "ready");
  expect(await top()).toBe(before);
});

const looks = [
  ["light", 1280, "none"],
  ["dark", 360, "active"],
  ["dark", 1280, "none"],
  ["light", 360, "none"],
  ["dark", 360, "none"],
  ["light", 1280, "active"],
] as const;

// Firefox emulates only the widths.
describe.each(process.env.TEST_SHORT_CAMPAIGN === undefined ? looks : looks.slice(0, 2))(
  "%s at %i px with forced colors %s",
  (colorScheme, width, forcedColors) => {
    test("no state of the element has accessibility problems", async () => {
      await using page = await shop.open("", { colorScheme, viewport: { width, height: 900 }, forcedColors });
      const lines = [
        { text: "Name: up to 4 characters" },
        { text: "Font", choices: ["Block", "Script"] },
        { text: "Thread", choices: [..."123456789"] },
        { text: "Back (optional)" },
      ];
      shop.responses.set("kinds", createOptions(lines));
      const check = async (state: string) => {
        await page.evaluate("Promise.all(document.getAnimations().map(({ finished }) => finished))");
        expect([state, ...(await accessibilityProblems(page))]).toEqual([state]);
        expect(await readOverflow(page)).toBe(0);
      };
      const showElement = (attributes: string) => show(page, `<h1>Napkin</h1>${productForm(widget(attributes))}`);
      await showElement(`sku="kinds"`);
      await untilEvent(page, "ready");
      await check("ready");
      await page.getByRole("radio", { name: "STYLE" }).check();
      await add(page);
      await page.getByText("Please fill this in.").waitFor();
      await check("incomplete");
      await page.getByLabel("Name").fill("Ann 🎁 Lee");
      await page.getByText("Please remove what cannot be made: 🎁").waitFor();
      await check("with characters that cannot be made");
      await page.getByLabel("Name").fill("Annabel");
      await page.getByText("Please use 4 characters at most.").waitFor();
      await check("too long");
      await page.evaluate("it.disabled = true");
      await check("disabled");
      await page.evaluate("it.disabled = false, it.sku = 'blue'");
      await page.getByRole("alert").getByText("no longer includes").waitFor();
      await check("lost");
      await showElement(`sku="gone"`);
      await untilEvent(page, "error");
      await check("failed");
      await showElement(`sku="gone" required`);
      await untilEvent(page, "error");
      await add(page);
      await check("failed and required");
      const release = shop.hold("red");
      await showElement(`sku="red" required`);
      await add(page);
      await page.getByText("still loading").waitFor();
      await check("loading");
      release();
      await untilEvent(page, "ready");
    });
  },
);
