import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeFeed } from "../support/feed.ts";
import { findFreePort } from "../support/free-port.ts";
import { pds, temporaryFolder, writeFiles } from "../support/pds.ts";

test.each(["PORT", "ADMIN_PORT"])(
  "an occupied %s is noticed before the first runs, and creates no store",
  async (setting) => {
    const folder = await temporaryFolder();
    const source = await writeFeed(folder, "feed");
    const [config = ""] = await writeFiles(folder, {
      "pds.toml": `[jobs.personalization-import]\nsource = "${source}"\nsettle_seconds = 0\n`,
    });
    using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
    const path = join(folder, "pds.sqlite");
    const environment = { PDS_CONFIG: config, DATABASE_URL: `sqlite:${path}`, PORT: "0", ADMIN_PORT: "0" };
    const { code, stdout, stderr } = await pds(["serve"], { ...environment, [setting]: `${other.port}` });
    expect([code, stdout, stderr]).toEqual([
      1,
      "",
      expect.stringMatching(new RegExp(`^pds: cannot listen on 127.0.0.1 port ${other.port}: .*PORT or ADMIN_PORT`)),
    ]);
    expect(existsSync(path)).toBe(false);
  },
);

test("a port whose process does not share it is refused with REUSE_PORT=on, too", async () => {
  using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const DATABASE_URL = `sqlite:${join(await temporaryFolder(), "pds.sqlite")}`;
  const { code, stderr } = await pds(["serve"], {
    DATABASE_URL,
    PORT: `${other.port}`,
    ADMIN_PORT: "0",
    REUSE_PORT: "on",
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`pds: cannot listen on \\S+ port ${other.port}: .*PORT or ADMIN_PORT`));
});

test.each(["on", "off"])("the same port for both listeners is refused with REUSE_PORT=%s", async (REUSE_PORT) => {
  const path = join(await temporaryFolder(), "pds.sqlite");
  const port = `${await findFreePort()}`;
  const environment = { DATABASE_URL: `sqlite:${path}`, PORT: port, ADMIN_PORT: port, REUSE_PORT };
  const { code, stderr } = await pds(["serve"], environment);
  expect([code, stderr]).toEqual([2, `pds: PORT and ADMIN_PORT are both ${port}: the listeners need one each\n`]);
  expect(existsSync(path)).toBe(false);
});

test("an address that is not this machine's is named, with the setting to change", async () => {
  const { code, stderr } = await pds(["serve"], { DATABASE_URL: "sqlite:none", HOST: "192.0.2.1", PORT: "0" });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^pds: cannot listen on 192\.0\.2\.1 port 0: EADDRNOTAVAIL: .*\. Set HOST or ADMIN_HOST to an /,
    ),
  ]);
});
