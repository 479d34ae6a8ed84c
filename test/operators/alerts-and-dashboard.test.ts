import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { YAML } from "bun";
import { root, serveUntilEnd, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

interface Target {
  readonly expr: string;
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly datasource?: unknown;
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  readonly targets?: readonly (Target & { readonly datasource: unknown })[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { name: string; type: string; query: string | { query: string } }[] };
}

interface Rule extends Target {
  readonly alert: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

interface Scraping {
  readonly scrape_configs: readonly unknown[];
}

const read = (name: string) => readFileSync(join(root, "docs", name), "utf8");
const dashboardText = read("../deploy/dashboard.json");
const alertsText = read("../deploy/alerts.yml");
const guide = read("how-to/monitor-and-alert.md");
const dashboard = JSON.parse(dashboardText) as Dashboard;
const rules = (YAML.parse(alertsText) as Rules).groups.flatMap((group) => group.rules);

// Successes and errors of both requests and jobs, so that every metric has samples.
const folder = await temporaryFolder();
const [PDS_CONFIG] = await writeFiles(folder, {
  "pds.toml": `
[purge]
url = "http://127.0.0.1:9/"

[jobs.catalog-import]
source = ["sample/products.ndjson"]
schedule = "@yearly"

[[jobs.personalization-import]]
source = "sample/personalization"
schedule = "@yearly"

[[jobs.personalization-import]]
brand = "Sourceless"
source = "${join(folder, "absent")}"
schedule = "@yearly"
`,
});
const service = await serveUntilEnd({
  PDS_CONFIG,
  DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
  STALE_DATA: "fail",
  // For the metrics of deliveries; the platform is not reachable.
  SHOPIFY_API_URL: "http://127.0.0.1:9",
  SHOPIFY_ACCESS_TOKEN: "none",
  SHOPIFY_WEBHOOK_SECRET: "none",
  // For the metrics of purges; there is no CDN.
  CDN: "varnish",
});
const calls = ["/api/v1/products/pz/TM814935W", "/api/v1/products/6781204660224", "/api/v1/products/12", "/readyz"];
for (const path of [...calls, ...calls]) await service.get(path);
const readMetrics = async (url: string) => {
  let text = "";
  await until("no metrics are missing", async () => {
    text = await (await fetch(`${url}/metrics`)).text();
    return text.includes("\npds_store_metrics_missing 0\n");
  });
  return text;
};

const metrics = await readMetrics(service.adminUrl);

type Labels = Readonly<Record<string, string>>;

/** The labels of each sample, by metric name. */
const samples = new Map<string, Labels[]>();
for (const [, name = "", labels = ""] of metrics.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
  const found = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, value]) => [label, value]);
  samples.set(name, [...(samples.get(name) ?? []), Object.fromEntries(found)]);
}

type Matcher = readonly [label: string, operator: string, value: string];

/** A metric used in an expression, with the labels that the expression needs. */
interface Use {
  readonly metric: string;
  readonly labels: readonly string[];
  readonly matchers: readonly Matcher[];
}

const tokens = /\s+|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\d[\w.]*|[A-Za-z_:][\w:]*|[=!]~|[=!<>]=|./gs;
const words = new Set(["and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring"]);

/**
 * Finds the metrics in an expression. A function is followed by a parenthesis; grouping precedes
 * its operand.
 */
function usesOf(expression: string): Use[] {
  const rest = (expression.match(tokens) ?? []).filter((token) => token.trim() !== "");
  const take = () => rest.shift() ?? expect.unreachable(`${expression} ends too soon`);
  const uses: Use[] = [];
  /** Grouping labels of each open parenthesis. */
  const open: string[][] = [];
  let grouping: string[] = [];
  const list = (end: string) => {
    const found: string[] = [];
    for (let token = take(); token !== end; token = take()) found.push(token);
    return found;
  };
  while (rest.length > 0) {
    const token = take();
    if (token === "(") {
      open.push(grouping);
      grouping = [];
    } else if (token === ")") open.pop();
    else if (token === "by" || token === "on") {
      expect(take()).toBe("(");
      const labels = list(")").filter((label) => label !== ",");
      // Both operands group by the labels of `on`, so those are checked there.
      if (token === "by") grouping = labels;
    } else if (/^[A-Za-z_]/.test(token) && !words.has(token) && rest[0] !== "(" && rest[0] !== "by") {
      const inner = rest[0] === "{" ? list("}").slice(1).join("") : "";
      const matchers = [...inner.matchAll(/(\w+)([=!]~|!?=)"((?:[^"\\]|\\.)*)"/g)].map(
        ([, label = "", operator = "", value = ""]): Matcher => [label, operator, value],
      );
      expect(matchers.map((matcher) => matcher.join("")).join("")).toBe(inner.replaceAll(/[",]/g, ""));
      uses.push({ metric: token, labels: open.flat(), matchers });
    }
  }
  expect([open, grouping], expression).toEqual([[], []]);
  return uses;
}

/** Labels that Prometheus adds when it scrapes; `shop` if it watches several. */
const added = new Set(["job", "shop", "instance", "exported_job"]);

function accepts([label, operator, value]: Matcher, labels: Labels): boolean {
  const own = labels[label] ?? "";
  if (operator === "=" || operator === "!=") return (own === value) === (operator === "=");
  return new RegExp(`^(?:${value})$`).test(own) === (operator === "=~");
}

/** Checks that the service exports the metrics and labels of an expression. */
function expectKnown(expression: string): void {
  const uses = usesOf(expression);
  expect(uses, expression).not.toBeEmpty();
  for (const { metric, labels, matchers } of uses) {
    const found = samples.get(metric) ?? [];
    expect(found.length, `samples of ${metric}`).toBeGreaterThan(0);
    for (const label of [...labels, ...matchers.map(([name]) => name)]) {
      const has = added.has(label) || found.every((sample) => label in sample);
      expect(has, `${metric} has ${label}`).toBe(true);
    }
    for (const matcher of matchers.filter(([label, , value]) => !added.has(label) && !value.startsWith("$"))) {
      const isMet = found.some((sample) => accepts(matcher, sample));
      expect(isMet, `some ${metric} has ${matcher.join("")}`).toBe(true);
    }
  }
}

const panels = dashboard.panels.filter(({ targets }) => targets !== undefined);

test.each(panels.map((panel) => [panel.title, panel] as const))(
  "the panel %s uses existing metrics and labels",
  (_, panel) => {
    const datasource = { type: "prometheus", uid: expect.stringMatching(/^\$\{datasource\}$/) };
    expect(panel.datasource).toEqual(datasource);
    for (const target of panel.targets ?? []) {
      expect(target.datasource).toEqual(datasource);
      expectKnown(target.expr);
    }
  },
);

test("the dashboard's panels do not overlap", () => {
  const { length } = dashboard.panels;
  for (const key of ["id", "title"] as const)
    expect(new Set(dashboard.panels.map((panel) => panel[key])).size).toBe(length);
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) => {
    expect(x + w).toBeLessThanOrEqual(24);
    return Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`);
  });
  expect(new Set(cells).size).toBe(cells.length);
});

test("the dashboard's variables find data sources, scrape jobs, shops, and replicas", () => {
  const { list } = dashboard.templating;
  expect(list.map(({ name }) => name)).toEqual(["datasource", "job", "shop", "instance"]);
  expect(list[0]).toMatchObject({ type: "datasource", query: "prometheus" });
  for (const { query } of list.slice(1)) {
    const [, expression = "", label] =
      JSON.stringify(query)
        .replaceAll("\\", "")
        .match(/label_values\((.*), (\w+)\)/) ?? [];
    expectKnown(`count by (${label}) (${expression})`);
  }
  const known = ["datasource", "job", "shop", "instance", "__rate_interval", "__all"];
  for (const [, name = ""] of dashboardText.matchAll(/\$\{?(\w+)/g)) expect(known).toContain(name);
});

test.each(rules.map((rule) => [rule.alert, rule] as const))(
  "%s uses existing metrics and labels, and describes what to do",
  (_, rule) => {
    expectKnown(rule.expr);
    expect(rule.for).toMatch(/^\d+m$/);
    expect(rule.labels.severity).toBeOneOf(["critical", "warning"]);
    expect(rule.annotations.summary).not.toBeEmpty();
    expect(rule.annotations.description.length).toBeGreaterThan(80);
    for (const [, name = ""] of rule.annotations.description.matchAll(/"([^"]+)"/g)) {
      expect(panels.map(({ title }) => title)).toContain(name);
    }
  },
);

test("the guide explains each alert, and scrapes as the expressions need it", () => {
  const rows = [...guide.matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, alert, severity]) => [alert, severity]);
  expect(rows).toEqual(rules.map(({ alert, labels }) => [alert, labels.severity]));
  const [, block = ""] = guide.match(/^```yaml\n(.*?)^```$/ms) ?? [];
  const { scrape_configs } = YAML.parse(block) as Scraping;
  expect(scrape_configs).toMatchObject([{ job_name: "pds", honor_labels: true }]);
});

test("each alert is about one shop, except for the one that none is seen", () => {
  const isOfOne = ({ labels }: Use) => labels.includes("shop") || labels.includes("instance");
  expect(rules.filter(({ expr }) => !usesOf(expr).every(isOfOne)).map(({ alert }) => alert)).toEqual(["PdsAbsent"]);
});

test("the files contain no host names", () => {
  for (const text of [dashboardText, alertsText])
    expect(text).not.toMatch(/localhost|\d+\.\d+\.\d+\.\d+|:\/\/|\.example/);
  expect(guide.replaceAll("0.0.0.0", "")).not.toMatch(/localhost|\d+\.\d+\.\d+\.\d+|:\/\//);
});
