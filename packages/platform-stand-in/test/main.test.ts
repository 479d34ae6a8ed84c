import { describe, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { dig } from "./client.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

function run(...args: string[]) {
  return Bun.spawn([process.execPath, main, ...args], { stdout: "pipe", stderr: "pipe" });
}

describe("the command line", () => {
  test("starts a stand-in, prints its addresses, and stops on a signal", async () => {
    const child = run("--port", "0", "--products", "3", "--token", "mine", "--specials", "bare", "--restore-rate", "7");
    const reader = child.stdout.getReader();
    let text = "";
    while (!text.includes("products ")) text += new TextDecoder().decode((await reader.read()).value);
    const url = /^graphql +(\S+)$/m.exec(text)?.[1] ?? "";
    const body = JSON.stringify({ query: "{ productsCount { count } }" });
    const response = await fetch(url, { method: "POST", body, headers: { "X-Shopify-Access-Token": "mine" } });
    const answer: unknown = await response.json();
    expect(dig(answer, "data.productsCount.count")).toBe(4);
    expect(dig(answer, "extensions.cost.throttleStatus.restoreRate")).toBe(7);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  });

  test("prints the options that the README shows", async () => {
    const child = run("--help");
    expect(await child.exited).toBe(0);
    const help = await new Response(child.stdout).text();
    for (const option of ["--port", "--restore-rate", "--fault", "--bulk-order"]) expect(help).toContain(option);
    expect(await Bun.file(new URL("../README.md", import.meta.url)).text()).toContain(`\`\`\`text\n${help}\`\`\``);
  });
});
