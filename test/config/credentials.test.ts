import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { hideCredentials } from "../../src/base/credentials.ts";
import { ServiceError } from "../../src/base/errors.ts";
import { readConfig } from "../../src/config/index.ts";
import { environmentName, settingNames } from "../../src/config/settings.ts";
import { connectTo, createStore, type Environment, pds, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

/** A secret that no output may contain. */
const canary = "c4nary-0123456789";

/** A platform, bucket, feed server, and monitor that responds to every request with 404. */
const nowhere = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("", { status: 404 }) });
afterAll(() => nowhere.stop(true));
const host = `127.0.0.1:${nowhere.port}`;
const secretAddress = `http://${canary}:${canary}@${host}/?token=${canary}#${canary}`;

const folder = await temporaryFolder();
const store = new URL(await createStore("postgres"));
// The server of the tests trusts everybody, with any password.
store.password = canary;

const [PDS_CONFIG = ""] = await writeFiles(folder, {
  "pds.toml": `
    [jobs.catalog-import]
    source = ["https://user:${canary}@${host}/products.json?signature=${canary}"]
    ping = { failure = "http://${host}/${canary}/fail?key=${canary}" }
    [jobs.catalog-sync]
    schedule = "@yearly"
    [jobs.catalog-reconcile]
    [[jobs.personalization-import]]
    source = "http://${host}/feed/"
    [[jobs.personalization-import]]
    source = "s3://feeds/acme/"
    brand = "second"
  `,
});

const environment: Environment = {
  PDS_CONFIG,
  DATABASE_URL: store.href,
  SHOP_DOMAIN: "shop.example",
  ADMIN_TOKEN: canary,
  SHOPIFY_ACCESS_TOKEN: canary,
  SHOPIFY_API_URL: secretAddress,
  FEED_AUTHORIZATION: `Bearer ${canary}`,
  S3_ENDPOINT: secretAddress,
  S3_ACCESS_KEY_ID: canary,
  S3_SECRET_ACCESS_KEY: canary,
};

/** The lines that hold it, for the sake of the message when one does. */
const leaks = (text: string) => text.split("\n").filter((line) => line.includes(canary));

describe("the credentials in URLs", () => {
  test.each([
    ["config"],
    ["config --json"],
    ["jobs"],
    ["jobs --json"],
    ["run catalog-import"],
    ["run catalog-import --json"],
    ["run catalog-sync"],
    ["run catalog-reconcile --json"],
    ["run personalization-import --brand default"],
    ["run personalization-import --brand second --json"],
    [`import products https://user:${canary}@${host}/p.json?signature=${canary}`],
    [`import products https://user:${canary}@${host}/p.json --json`],
    [`import products https://user:${canary}/${canary}@${host}/p.json --dry-run`],
    [`import personalization https://user:${canary}@${host}/feed/`],
    [`import personalization https://${host}/feed/?signature=${canary} --json`],
    [`import personalization http://user:${canary}/${canary}@${host}/feed/`],
    ["history"],
    ["history --json"],
  ])("are not in what pds %s prints", async (command) => {
    const { stdout, stderr } = await pds(command.split(" "), { ...environment, LOG_LEVEL: "trace" });
    expect(stdout + stderr).not.toBe("");
    expect(leaks(stdout + stderr)).toEqual([]);
  });

  test.each(["debug", "trace"])(
    "are not in the log of the service at the level %s, on its pages, or in its metrics",
    async (LOG_LEVEL) => {
      await using service = await serve({ ...environment, LOG_LEVEL });
      await until("every job has run", () => (service.log().match(/"run failed"/g) ?? []).length >= 5);
      const answers = ["/api/v1/products/1", "/api/v1/histories", "/readyz", "/docs"].map((path) => service.get(path));
      const pages = ["/", "/runs", "/runs?outcome=failed", "/metrics", "/readyz", "/products", "/nothing"].map((path) =>
        fetch(service.adminUrl + path, { headers: { Authorization: `Bearer ${canary}` } }),
      );
      const [overview = ""] = await Promise.all(pages.slice(1, 2).map(async (page) => (await page).clone().text()));
      const runs = [...overview.matchAll(/href="(\/runs\/\d+)"/g)].map(([, path = ""]) =>
        fetch(service.adminUrl + path, { headers: { Authorization: `Bearer ${canary}` } }),
      );
      expect(runs.length).toBeGreaterThan(4);
      for (const answer of await Promise.all([...answers, ...pages, ...runs])) {
        expect(answer.status).not.toBe(401);
        expect(leaks(await answer.text())).toEqual([]);
      }
      // A stop does not wait for the attempts to reach a monitor.
      await until("a monitor is given up", () => service.log().includes("cannot notify the monitor"));
      await service.stop();
      expect(leaks(service.log())).toEqual([]);
    },
  );

  test("are not in stored runs", async () => {
    const commands = [
      "run catalog-reconcile",
      "run personalization-import --brand default",
      `import products https://user:${canary}@${host}/p.json?signature=${canary}`,
      `import personalization https://user:${canary}@${host}/feed/`,
    ];
    for (const command of commands) await pds(command.split(" "), { ...environment, LOG_LEVEL: "trace" });
    await using sql = await connectTo(store.href);
    const runs = await sql`SELECT reason, report, log FROM run`;
    expect(runs.length).toBeGreaterThan(0);
    expect(leaks(JSON.stringify(runs, null, 1))).toEqual([]);
  });

  test("are not in the error about an unreachable store", async () => {
    const unreachable = [
      `postgres://user:${canary}@127.0.0.1:1/db?password=${canary}`,
      `postgres://user:${canary}@nowhere.invalid/db?sslpassword=${canary}`,
      `sqlite:${join(PDS_CONFIG, "db")}?key=https://user:${canary}@host/`,
    ];
    for (const DATABASE_URL of unreachable) {
      const { code, stdout, stderr } = await pds(["import", "products", "/dev/null"], { DATABASE_URL });
      expect(code).toBe(DATABASE_URL.startsWith("sqlite:") ? 2 : 1);
      expect(stderr).toContain("DATABASE_URL");
      expect(leaks(stdout + stderr)).toEqual([]);
    }
  });
});

describe("the error about an invalid setting", () => {
  const wrong = [
    `https://user:${canary}@host/?signature=${canary}`,
    `ftp://user:${canary}@host/`,
    `https://user:${canary}/${canary}@host/`,
    `https://user:${canary}"${canary}@host/`,
    `https:user:${canary}@host`,
  ];
  /** Settings that take any text show one that isn't an address as it is. */
  const takeAnything = ["BRAND", "S3_REGION", "SHOPIFY_CLIENT_ID"];
  const valuesFor = (name: string) => (takeAnything.includes(name) ? wrong.slice(0, 3) : wrong);

  /** The error that stops every command, which prints only its message; undefined if the settings are valid. */
  function errorFor(settings: Environment): string | undefined {
    try {
      readConfig({ PDS_CONFIG: "/dev/null", ...settings });
      return undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(ServiceError);
      return (error as Error).message;
    }
  }

  test.each(settingNames.map((name) => [environmentName(name)]))("does not repeat a URL in %s", async (name) => {
    for (const value of valuesFor(name)) {
      const error = errorFor({ [name]: value });
      // Accepted settings are printed, which needs the command.
      const printed = error === undefined ? await pds(["config"], { [name]: value }) : undefined;
      expect(printed?.code ?? 0).toBe(0);
      expect(leaks(`${error}${printed?.stdout}${printed?.stderr}`)).toEqual([]);
    }
  });

  test("is what a command prints, and nothing else", async () => {
    for (const name of ["DATABASE_URL", "PORT"]) {
      const settings = { [name]: wrong[0] };
      const { code, stdout, stderr } = await pds(["config"], settings);
      expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: `pds: ${errorFor(settings)}\n` });
    }
  });

  const bare = `user:${canary}@host`;
  test.each(["DATABASE_URL", "SHOPIFY_API_URL", "S3_ENDPOINT"])("does not repeat %s at all", async (name) => {
    const { code, stderr } = await pds(["config"], { [name]: bare });
    expect(code).toBe(2);
    expect(stderr).toContain(name);
    expect(leaks(stderr)).toEqual([]);
  });

  test.each([
    ["a feed's source", `[jobs.personalization-import]\nsource = "https://user:${canary}@host/"`],
    ["a feed's source with a query", `[jobs.personalization-import]\nsource = "https://host/?key=${canary}"`],
    ["a ping", `[jobs.catalog-sync]\nping = "ftp://user:${canary}@host/${canary}"`],
    ["a ping of a table", `[jobs.catalog-sync]\nping = { start = "${canary}" }`],
    ["a ping that is a list", `[jobs.catalog-sync]\nping = ["https://host/${canary}"]`],
    ["an address as a key", `"https://user:${canary}@host/" = 1`],
    ["an address as a job", `[jobs."https://user:${canary}@host/"]`],
    ["an address without quotes", `shopify_api_url = https://user:${canary}@host/`],
    ["an address as a schedule", `[jobs.history-retention]\nschedule = "https://user:${canary}@host/"`],
    ["an address as a time zone", `[jobs.history-retention]\ntime_zone = "https://user:${canary}@host/"`],
    ["an address as a number", `[jobs.history-retention]\nkeep_days = "https://user:${canary}@host/"`],
  ])("does not repeat %s", async (_, text) => {
    const [path = ""] = await writeFiles(folder, { "wrong.toml": text });
    const { code, stdout, stderr } = await pds(["config"], { PDS_CONFIG: path, SHOPIFY_ACCESS_TOKEN: "token" });
    expect(code).toBe(2);
    expect(leaks(stdout + stderr)).toEqual([]);
  });
});

describe("hiding credentials", () => {
  test.each([
    ["nothing to hide: https://host:8080/path/?#", "nothing to hide: https://host:8080/path/?#hidden"],
    ["https://user:password@host/path", "https://hidden@host/path"],
    ["https://token@host/path", "https://hidden@host/path"],
    ["https://host/@scope/path", "https://host/@scope/path"],
    ["https://user:pass/word@host/path", "https://hidden@host/path"],
    ["https://user:12/word@host/path", "https://hidden@host/path"],
    ["postgres://user:12/word@host/db", "postgres://user:hidden@host/db"],
    ["https://host:8080/path", "https://host:8080/path"],
    [
      "https://host/a?X-Amz-Signature=abc&X-Amz-Date=1: 403",
      "https://host/a?X-Amz-Signature=hidden&X-Amz-Date=hidden: 403",
    ],
    ["https://host/a?abc", "https://host/a?hidden"],
    ["postgres://user:password@host/db?sslmode=require", "postgres://user:hidden@host/db?sslmode=require"],
    ["postgres://user@host/db?password=x", "postgres://user@host/db?password=hidden"],
    ['{"url":"https://a:b@c/","x":"d@e"}', '{"url":"https://hidden@c/","x":"d@e"}'],
    ["two: http://a:b@c/ and (http://d:e@f/).", "two: http://hidden@c/ and (http://hidden@f/)."],
    ["s3://bucket/prefix/ and /a/folder@2", "s3://bucket/prefix/ and /a/folder@2"],
  ])("%s", (text, shown) => {
    expect(hideCredentials(text)).toBe(shown);
    expect(hideCredentials(shown)).toBe(shown);
  });
});
