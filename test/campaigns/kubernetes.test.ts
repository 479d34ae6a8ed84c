import { beforeAll, describe, expect, test } from "bun:test";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { $, YAML } from "bun";
import packageJson from "../../package.json" with { type: "json" };
import { readConfig } from "../../src/config/index.ts";
import { listSettingsWithoutEffect } from "../../src/config/without-effect.ts";
import { root, temporaryFolder, writeFiles } from "../support/pds.ts";

// The manifests of Kubernetes, as kustomize builds them, checked with the types of Kubernetes from
// npm. Nothing here talks to a cluster.

/** The parts of a manifest that the tests read. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly selector?: Labels & { readonly matchLabels?: Labels };
    readonly template?: PodTemplate;
    readonly jobTemplate?: { readonly spec: { readonly template: PodTemplate } };
    readonly replicas?: number;
  };
}

type Labels = Readonly<Record<string, unknown>>;

interface PodTemplate {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly containers: readonly {
      readonly image: string;
      readonly args?: readonly string[];
      readonly env: readonly { readonly name: string; readonly value: string }[];
    }[];
    readonly volumes: readonly { readonly configMap?: { readonly name: string } }[];
  };
}

const folder = join(root, "deploy", "kubernetes");
const version = await $`kubectl version --client`.quiet().nothrow();
const canBuild = /Kustomize Version: v5/.test(version.stdout.toString());
if (!canBuild) process.stderr.write("skipped: needs kubectl with kustomize 5\n");

const types = join(await temporaryFolder(), "types");
const hasTypes =
  canBuild &&
  (await (async () => {
    await cp(join(root, "test", "support", "kubernetes"), types, { recursive: true });
    return (await $`npm ci --ignore-scripts --no-audit --no-fund`.cwd(types).quiet().nothrow()).exitCode === 0;
  })());
if (!hasTypes) process.stderr.write("skipped: the types of Kubernetes cannot be installed\n");

async function build(path: string): Promise<Manifest[]> {
  return YAML.parse(await $`kubectl kustomize ${join(folder, path)}`.text()) as Manifest[];
}

/** @returns what the compiler finds: missing and unknown fields, and wrong types */
async function check(manifests: readonly Manifest[]): Promise<string> {
  const lines = manifests.map((manifest, index) => {
    const from = manifest.apiVersion.replace(/^(?=policy|batch|apps|autoscaling|v1)/, "kubernetes-models/");
    const type = `import("${from}").I${manifest.kind}`;
    return `export const m${index}: ${type} = ${JSON.stringify(manifest)};`;
  });
  const options = { strict: true, noEmit: true, skipLibCheck: true, module: "nodenext", target: "esnext", types: [] };
  await writeFiles(types, {
    "manifests.ts": lines.join("\n"),
    "tsconfig.json": JSON.stringify({ compilerOptions: options, files: ["manifests.ts"] }),
  });
  return await $`${join(root, "node_modules", ".bin", "tsc")} -p ${types}`.nothrow().text();
}

const podsOf = ({ spec }: Manifest) => spec?.template ?? spec?.jobTemplate?.spec.template;
const matches = (selector: Labels | undefined, labels: Labels) =>
  selector !== undefined && Object.entries(selector).every(([name, value]) => labels[name] === value);

describe.skipIf(!canBuild).each(["acme", "outlet"])("the overlay %s", (shop) => {
  let manifests: Manifest[] = [];
  const find = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
  beforeAll(async () => {
    manifests = await build(`overlays/${shop}`);
  });

  test.skipIf(!hasTypes)("has only fields that Kubernetes knows", async () => {
    expect(await check(manifests)).toBe("");
  });

  test("is in a namespace of its own, and runs this version", () => {
    for (const { kind, metadata } of manifests)
      expect([kind, metadata.namespace ?? metadata.name]).toEqual([kind, shop]);
    const pods = manifests.flatMap((manifest) => podsOf(manifest) ?? []);
    expect(pods).not.toBeEmpty();
    const [settings] = find("ConfigMap");
    for (const { spec } of pods) {
      expect(spec.containers.map(({ image }) => image)).toEqual([
        `registry.example/${packageJson.name}:${packageJson.version}`,
      ]);
      expect(spec.volumes).toContainEqual({ name: "settings", configMap: { name: settings?.metadata.name } } as never);
    }
  });

  test("sends requests to the replicas, and not to jobs", () => {
    const [deployment] = find("Deployment");
    const labels = deployment?.spec.template?.metadata.labels ?? {};
    expect(labels["app.kubernetes.io/instance"]).toBe(shop);
    const selectors = [
      deployment?.spec.selector?.matchLabels,
      find("PodDisruptionBudget")[0]?.spec.selector?.matchLabels,
      find("Service")[0]?.spec.selector,
    ];
    for (const selector of selectors) {
      expect(matches(selector, labels)).toBeTrue();
      for (const job of find("CronJob")) expect(matches(selector, podsOf(job)?.metadata.labels ?? {})).toBeFalse();
    }
  });

  test("has valid settings, and each has an effect", async () => {
    const text = find("ConfigMap")[0]?.data?.["pds.toml"] ?? "";
    const secret = await temporaryFolder();
    const [PDS_CONFIG] = await writeFiles(secret, {
      "pds.toml": text,
      DATABASE_URL: "postgres://pds@postgres.example/pds\n",
      ADMIN_TOKEN: "only-for-this-test\n",
      SHOPIFY_ACCESS_TOKEN: "shpat_0\n",
    });
    const [deployment] = find("Deployment");
    const variables = deployment?.spec.template?.spec.containers[0]?.env ?? [];
    const environment = Object.fromEntries(variables.map(({ name, value }) => [name, value]));
    const config = readConfig({ ...environment, PDS_CONFIG, CREDENTIALS_DIRECTORY: secret });
    expect(listSettingsWithoutEffect(config)).toEqual([]);
    const jobs = find("CronJob").map((job) => podsOf(job)?.spec.containers[0]?.args?.[1] ?? "");
    expect(config.scheduler).toBe(jobs.length === 0 ? "on" : "off");
    expect(Object.keys(config.jobs)).toEqual(expect.arrayContaining(jobs));
    // The autoscaler alone decides how many there are.
    expect(deployment?.spec.replicas).toBe(find("HorizontalPodAutoscaler").length === 0 ? 3 : undefined);
  });
});

test.skipIf(!hasTypes)("the types find a misspelled field and a wrong type", async () => {
  const [deployment] = (await build("base")).filter(({ kind }) => kind === "Deployment");
  const wrong = (fields: object) => ({ ...deployment, spec: { ...deployment?.spec, ...fields } }) as Manifest;
  expect(await check([wrong({ minReadySecond: 1 })])).toContain("does not exist in type 'IDeploymentSpec'");
  expect(await check([wrong({ replicas: "3" })])).toContain("Type 'string' is not assignable to type 'number'");
});
