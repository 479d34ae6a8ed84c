import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root, temporaryFolder } from "../support/pds.ts";

/** Parts of the paths of modules that no response needs before a setting, a job, or a request does. */
const onDemand = [
  ...["/src/platforms/shopify/", "/src/catalog/push/route.ts", "/src/service/push.ts"],
  ...[
    "/src/cdn/follower.ts",
    "/src/cdn/send.ts",
    "/src/service/cdn.ts",
    "/src/feed/delivery.ts",
    "/src/feed/file.ts",
    "/src/feed/csv.ts",
    "/src/personalization/import/import.ts",
  ],
  ...[
    "/src/contract/index.ts",
    "/src/contract/product.ts",
    "/src/reference/",
    "/src/sample/pages.tsx",
    "/src/service/widget.ts",
    "/packages/",
  ],
  ...[
    "/node_modules/commander/",
    "/node_modules/pino-pretty/",
    "/node_modules/toml-eslint-parser/",
    "node:net",
    "node:zlib",
  ],
];

test("the service starts without the code that its first responses do not need", async () => {
  const child = Bun.spawn(
    [process.execPath, "--preload", join(root, "test/support/list-modules.ts"), join(root, "src/main.ts"), "serve"],
    {
      env: {
        ...{ PATH: process.env.PATH, PDS_CONFIG: "/dev/null", PORT: "0", ADMIN_PORT: "0" },
        DATABASE_URL: `sqlite:${join(await temporaryFolder(), "pds.sqlite")}`,
      },
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  let printed = "";
  let isStopping = false;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += text;
    if (isStopping || !/^Admin .*\n/m.test(printed)) continue;
    isStopping = true;
    child.kill("SIGINT");
  }
  expect(await child.exited).toBe(0);
  const loaded: string[] = JSON.parse(printed.trimEnd().split("\n").at(-1) ?? "");
  // The list is complete, also with the last modules that are loaded.
  expect(loaded).toContain(join(root, "src/service/console.ts"));
  // Each part names something, also after files were moved.
  const own = onDemand.filter((part) => /^\/(?:src|packages|node_modules)\//.test(part));
  expect(own.filter((part) => !existsSync(join(root, part)))).toEqual([]);
  expect(loaded.filter((name) => onDemand.some((part) => name.includes(part)))).toEqual([]);
});
