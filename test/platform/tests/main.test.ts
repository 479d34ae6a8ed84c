import { describe, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { dig } from "./client.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));

function run(...args: string[]) {
  return Bun.spawn([process.execPath, main, ...args], { stdout: "pipe", stderr: "pipe" });
}

describe("the command line", () => {
  test("starts a platform, says where it is, and stops when told", async () => {
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

  test("explains every flag", async () => {
    const child = run("--help");
    expect(await child.exited).toBe(0);
    const text = await new Response(child.stdout).text();
    for (const flag of ["--port", "--products", "--restore-rate", "--fault", "--bulk-order"])
      expect(text).toContain(flag);
  });

  const misused: [args: string[], reason: string][] = [
    [["--port", "12abc"], "--port must be a whole number"],
    [["--variants", "9-2"], "from low to high"],
    [["--specials", "unicorn"], 'knows no "unicorn"'],
    [["--fault", "{"], "--fault {"],
    [["--colour", "blue"], "--colour"],
  ];
  for (const [args, reason] of misused) {
    test(`refuses ${args.join(" ")}`, async () => {
      const child = run(...args);
      expect(await child.exited).toBe(2);
      expect(await new Response(child.stderr).text()).toContain(reason);
    });
  }
});
