import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { $, YAML } from "bun";
import packageJson from "../package.json" with { type: "json" };
import { sha256 } from "../src/base/hash.ts";
import { readConfig } from "../src/config/index.ts";
import { listSettingsWithoutEffect } from "../src/config/without-effect.ts";
import { copyComposeFiles } from "./support/compose.ts";
import { root, temporaryFolder, writeFiles } from "./support/pds.ts";

// The files of the folder "deploy", as far as they can be checked without containers.

interface Service {
  readonly image: string;
  readonly volumes: readonly string[];
  readonly networks?: { readonly default: { readonly ipv4_address: string } };
}

/** The parts of a manifest of Kubernetes that the test reads. */
interface Deployment {
  readonly spec: {
    readonly selector: unknown;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly { readonly image: string }[];
        readonly volumes: readonly unknown[];
      };
    };
  };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const folder = join(root, "deploy", "compose");
const read = (...path: string[]) => readFileSync(join(folder, ...path), "utf8");
function targetsOf(name: string): unknown {
  const { scrape_configs } = YAML.parse(read(name, "prometheus.yml")) as {
    scrape_configs: { static_configs: unknown }[];
  };
  return scrape_configs[0]?.static_configs;
}

const settingsFiles = [...new Bun.Glob("**/pds.toml").scanSync(folder)].sort();

test("the folder of Compose files has those that the guides name", () => {
  expect([...new Bun.Glob("*/compose.yaml").scanSync(folder)].sort()).toEqual([
    "embedded/compose.yaml",
    "replicas/compose.yaml",
    "shops/compose.yaml",
  ]);
});

/** What a service mounts, with the defaults of variables. */
const mountsOf = (service: Service) =>
  service.volumes.map((mount) => mount.replace(/\$\{\w+:-([^}]*)\}/g, "$1").split(":")[0] ?? "");

describe.each(["embedded", "replicas", "shops"])("the Compose file %s", (name) => {
  const { services, volumes } = YAML.parse(read(name, "compose.yaml")) as Compose;
  const mounts = Object.values(services).flatMap(mountsOf);

  test("mounts files that exist, and volumes that it names", () => {
    expect(mounts).not.toBeEmpty();
    for (const mount of mounts) {
      if (!mount.startsWith(".")) expect(Object.keys(volumes)).toContain(mount);
      else if (!mount.startsWith("./secrets/")) expect(existsSync(join(folder, name, mount)), mount).toBeTrue();
    }
  });

  test("mounts the folder of settings, in which an editor may replace the file", () => {
    const own = Object.values(services).filter(({ image }) => image.includes("product-data-service"));
    for (const service of own) {
      const settings = service.volumes.filter((mount) => mount.includes("/etc/pds"));
      expect(settings).toEqual([expect.stringMatching(/^\.\/[a-z]+:\/etc\/pds:ro$/)]);
      expect(existsSync(join(folder, name, settings[0]?.split(":")[0] ?? "", "pds.toml"))).toBeTrue();
    }
  });

  test("runs this version, with a read-only root", () => {
    const own = Object.values(services).filter(({ image }) => image.includes("product-data-service"));
    expect(own).not.toBeEmpty();
    for (const service of own) {
      expect(service).toMatchObject({
        image: `\${PDS_IMAGE:-${packageJson.name}:${packageJson.version}}`,
        read_only: true,
        cap_drop: ["ALL"],
        environment: { CREDENTIALS_DIRECTORY: "/run/secrets/pds" },
      });
    }
  });
});

test.each(settingsFiles)("the settings %s are valid, and each has an effect", async (file) => {
  const credentials = await temporaryFolder();
  if (file.startsWith("replicas")) await Bun.write(join(credentials, "DATABASE_URL"), "postgres://pds@postgres/pds\n");
  const token = '[admin.tokens.prometheus]\nrole = "view"\nsha256 = ';
  await Bun.write(join(credentials, "pds.toml"), `${read(file)}\n${token}"${"0".repeat(64)}"\n`);
  const config = readConfig({ PDS_CONFIG: join(credentials, "pds.toml"), CREDENTIALS_DIRECTORY: credentials });
  expect(listSettingsWithoutEffect(config)).toEqual([]);
});

test("the replicas, Varnish, and Prometheus know each other", () => {
  const { services } = YAML.parse(read("replicas", "compose.yaml")) as Compose;
  const addressOf = (name: string) => services[name]?.networks?.default.ipv4_address;
  const replicas = Object.keys(services).filter((name) => name.startsWith("pds-"));
  const addresses = replicas.map(addressOf);
  expect(new Set(addresses).size).toBe(3);

  const vcl = read("replicas", "replicas.vcl");
  expect([...vcl.matchAll(/\.host = "(.*)"/g)].map(([, host]) => host)).toEqual(addresses);
  expect([...(vcl.match(/acl [^}]*/)?.[0] ?? "").matchAll(/"(.*)"/g)].map(([, host]) => host)).toEqual(addresses);
  // Apart from where they are, the replicas are configured as in the documentation.
  const backends = (text: string) => new Set(text.match(/^ {4}\.(?!host).*$/gm));
  expect(backends(vcl)).toEqual(backends(readFileSync(join(root, "deploy/replicas.vcl"), "utf8")));

  const { admin_hosts, trusted_proxies, purge } = Bun.TOML.parse(read("replicas", "settings", "pds.toml")) as Record<
    string,
    never
  >;
  expect(`${admin_hosts}`.split(", ")).toEqual(replicas);
  expect(`${trusted_proxies}`.split(", ")).toContain(`${addressOf("varnish")}`);
  expect(purge).toEqual({ url: `http://${addressOf("varnish")}:6081/` } as never);
  expect(targetsOf("replicas")).toEqual([{ targets: replicas.map((name) => `${name}:3001`) }]);
});

test("the shops have a target with their name as label", () => {
  const { services } = YAML.parse(read("shops", "compose.yaml")) as Compose;
  const shops = Object.keys(services).filter((name) => !["prometheus", "grafana"].includes(name));
  expect(targetsOf("shops")).toEqual(shops.map((shop) => ({ targets: [`${shop}:3001`], labels: { shop } })));
  for (const shop of shops) expect(read("shops", shop, "pds.toml")).toContain(`\nadmin_hosts = "${shop}"\n`);
});

test("the objects of Kubernetes run this version, belong together, and have valid settings", async () => {
  const [settings, deployment, service] = YAML.parse(
    readFileSync(join(root, "deploy", "kubernetes.yaml"), "utf8"),
  ) as unknown as [{ metadata: { name: string }; data: Record<string, string> }, Deployment, Deployment];
  const { metadata, spec } = deployment.spec.template;
  expect(deployment.spec.selector).toEqual({ matchLabels: metadata.labels });
  expect(service.spec.selector).toEqual(metadata.labels);
  expect(spec.containers.map(({ image }) => image)).toEqual([
    `registry.example/${packageJson.name}:${packageJson.version}`,
  ]);
  expect(spec.volumes).toContainEqual({ name: "settings", configMap: { name: settings.metadata.name } });
  const [PDS_CONFIG = ""] = await writeFiles(await temporaryFolder(), settings.data);
  const secrets = {
    DATABASE_URL: "postgres://pds@postgres/pds",
    ADMIN_TOKEN: "only-for-this-test",
    SHOPIFY_ACCESS_TOKEN: "0",
  };
  expect(listSettingsWithoutEffect(readConfig({ PDS_CONFIG, ...secrets }))).toEqual([]);
});

test("prepare creates the secrets once, which only the owner reaches, and lets Prometheus read", async () => {
  const copy = await copyComposeFiles();
  const secret = (name: string) => readFileSync(join(copy, "replicas", "secrets", name), "utf8").trim();
  const prepare = () => $`./prepare replicas && ./prepare shops`.cwd(copy).quiet();
  await prepare();
  const names = ["postgres-password", "pds-password", "prometheus-token", "grafana-password", "pds/DATABASE_URL"];
  const created = names.map(secret);
  const settings = readFileSync(join(copy, "replicas", "settings", "pds.toml"), "utf8");
  await prepare();
  expect(names.map(secret)).toEqual(created);
  expect(readFileSync(join(copy, "replicas", "settings", "pds.toml"), "utf8")).toBe(settings);

  expect(new Set(created).size).toBe(names.length);
  expect(secret("pds/DATABASE_URL")).toBe(`postgres://pds:${secret("pds-password")}@postgres/pds`);
  expect(statSync(join(copy, "replicas", "secrets")).mode & 0o777).toBe(0o700);
  const { tokens } = readConfig({
    PDS_CONFIG: join(copy, "replicas", "settings", "pds.toml"),
    CREDENTIALS_DIRECTORY: join(copy, "replicas", "secrets", "pds"),
  });
  expect(tokens).toMatchObject([{ name: "prometheus", role: "view", sha256: sha256(secret("prometheus-token")) }]);
});

test("the owner can put secrets into all folders that services mount, since Docker creates none", async () => {
  const copy = await copyComposeFiles();
  await $`./prepare replicas && ./prepare shops`.cwd(copy).quiet();
  for (const name of ["embedded", "replicas", "shops"]) {
    const { services } = YAML.parse(read(name, "compose.yaml")) as Compose;
    const mounts = Object.values(services).flatMap(({ volumes }) =>
      volumes.filter((mount) => mount.includes("/secrets/")),
    );
    expect(mounts).not.toBeEmpty();
    for (const mount of mounts) expect(existsSync(join(copy, name, mount.split(":")[0] ?? "")), mount).toBeTrue();
  }
});

test.each(["embedded", "replicas", "shops"])("prepare lets containers read all that they mount: %s", async (name) => {
  // As after a clone with umask 077.
  const copy = await copyComposeFiles();
  await $`chmod -R go= ../..`.cwd(copy);
  await $`sh -c ${`umask 077 && ./prepare ${name}`}`.cwd(copy).quiet();
  const { services } = YAML.parse(read(name, "compose.yaml")) as Compose;
  const folder = join(copy, name);
  const mounts = Object.values(services).flatMap((service) => mountsOf(service).filter((path) => path.startsWith(".")));
  for (const mount of mounts) {
    const unreadable = await $`find ${mount} -not -perm -o=r -o -type d -not -perm -o=x`.cwd(folder).text();
    expect(unreadable, mount).toBe("");
  }
  // Secrets are reached through this folder.
  expect(statSync(join(folder, "secrets")).mode & 0o777).toBe(0o700);
});

test("prepare keeps an address of another database, and reports a token of another file", async () => {
  const copy = await copyComposeFiles();
  const prepare = () => $`./prepare replicas`.cwd(copy).quiet().nothrow();
  await prepare();
  const secrets = join(copy, "replicas", "secrets");
  await Bun.write(join(secrets, "pds", "DATABASE_URL"), "postgres://pds@elsewhere/pds");
  expect((await prepare()).exitCode).toBe(0);
  expect(readFileSync(join(secrets, "pds", "DATABASE_URL"), "utf8")).toBe("postgres://pds@elsewhere/pds");
  await $`rm ${join(secrets, "prometheus-token")}`;
  const { exitCode, stderr } = await prepare();
  expect({ exitCode, stderr: stderr.toString() }).toEqual({
    exitCode: 1,
    stderr:
      "prepare: replicas/settings/pds.toml has the token of another secrets/prometheus-token: remove its table [admin.tokens.prometheus], and repeat\n",
  });
});

test.each(["", "monitoring", "nowhere"])("prepare says which folders there are when it gets %p", async (name) => {
  const copy = await copyComposeFiles();
  const { exitCode, stderr } = await $`./prepare ${name}`.cwd(copy).quiet().nothrow();
  const folders = readdirSync(copy).filter((folder) => existsSync(join(copy, folder, "compose.yaml")));
  expect({ exitCode, stderr: stderr.toString() }).toEqual({
    exitCode: 2,
    stderr: `usage: ./prepare FOLDER, one of ${folders.sort().join(", ")}\n`,
  });
});
