import { expect, test } from "bun:test";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { rowsOf } from "../support/console.ts";
import { Operator } from "../support/operator.ts";
import { createStore, enginesOf, root, serve, temporaryFolder } from "../support/pds.ts";

/** The sample brand, as in a new checkout. */
async function sampleFolder(): Promise<string> {
  const home = await temporaryFolder();
  for (const name of ["sample", "pds.toml"]) await cp(join(root, name), join(home, name), { recursive: true });
  return home;
}

const dayMs = 86_400_000;

test.each(enginesOf("sqlite"))(
  "a new %s store of the sample brand has a past week, and people may act",
  async (engine) => {
    const environment = { DATABASE_URL: await createStore(engine), PDS_CONFIG: "pds.toml" };
    const home = await sampleFolder();
    {
      await using service = await serve(environment, home);
      const operator = new Operator(service.adminUrl);
      const runs = rowsOf((await operator.get("/runs")).html);
      const outcomes = Object.groupBy(runs, ([, outcome = ""]) => outcome);
      expect(outcomes.succeeded).toHaveLength(20);
      expect(outcomes.failed).toHaveLength(1);
      for (const cells of [...(outcomes.succeeded ?? []), ...(outcomes.failed ?? [])]) {
        const [time = ""] = cells.join(" ").match(/20\d\d-\d\d-\d\d [\d:]+ UTC/) ?? [];
        expect(Math.abs(Date.parse(time) - Date.now() + 3.5 * dayMs)).toBeLessThan(3.6 * dayMs);
      }

      const [failed = ""] = (await operator.get("/runs?outcome=failed")).html.match(/\/runs\/\d+/) ?? [];
      expect((await operator.get(failed)).html).toMatch(
        /missing-title\.ndjson:2: title: is missing[\s\S]*Retry[\s\S]*sample data: this run took place when/,
      );
      const rollback = "/actions/rollback?brand=Larkspur+%26+Finch";
      const { html } = await operator.get(rollback);
      expect(html).toContain("Make generation 1 current");
      const field = (name: string) => html.match(new RegExp(`name="${name}" value="([^"]*)"`))?.[1] ?? "";
      const fields = { brand: "Larkspur & Finch", to: field("to") };
      expect((await operator.post("/actions/rollback", fields)).status).toBe(403);
      const given = { ...fields, form_token: field("form_token") };
      expect((await operator.post("/actions/rollback", given, { origin: "https://evil.example" })).status).toBe(403);
      expect((await operator.post("/actions/rollback", given)).status).toBe(303);
      expect((await operator.get("/audit")).html).toContain("demo");
    }
    for (const proxied of [
      { ADMIN_HOSTS: "pds.internal.example" },
      { TRUSTED_PROXIES: "127.0.0.1" },
      { PUBLIC_URL: "https://pds.example" },
    ]) {
      await using service = await serve({ ...environment, ...proxied }, home);
      const response = await new Operator(service.adminUrl).post("/actions/run", { job: "catalog-import" });
      expect({ ...proxied, status: response.status }).toEqual({ ...proxied, status: 403 });
      expect((await new Operator(service.adminUrl).get("/actions")).html).toContain("The console is read-only.");
    }
    // One that has a token needs it, and a store with runs gets no others.
    await using guarded = await serve({ ...environment, ADMIN_TOKEN: "correct-horse-battery" }, home);
    expect((await new Operator(guarded.adminUrl).post("/actions/run", { job: "catalog-import" })).status).toBe(401);
    const authorization = { headers: { Authorization: "Bearer correct-horse-battery" } };
    const runs = await (await fetch(`${guarded.adminUrl}/runs`, authorization)).text();
    expect(rowsOf(runs)).toHaveLength(21);
  },
);
