import { $ } from "bun";
import { listBundledPackages } from "../licenses.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
}

interface Bill {
  serialNumber?: string;
  metadata: { timestamp: string; component: Component & { type: string } };
  components: Component[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

/**
 * Lists the packages in the executable as a CycloneDX bill of materials. npm writes it from the
 * lock file, but with the time, a random number, and the name of the folder.
 * @param time of the release, in seconds
 */
export async function listComponents(root: string, time: string): Promise<string> {
  const bundled = (await listBundledPackages(root, "executable")).map(({ name, version }) => `${name}@${version}`);
  const kept = new Set([...bundled, `bun@${Bun.version}`]);
  // With --omit=dev, npm leaves out packages that a package for development needs too.
  const bill: Bill = await $`npm sbom --sbom-format=cyclonedx --package-lock-only`.cwd(root).quiet().json();
  delete bill.serialNumber;
  bill.metadata.timestamp = new Date(Number(time) * 1000).toISOString();
  const own = bill.metadata.component;
  bill.metadata.component = { ...own, name: "product-data-service", type: "application" };
  bill.components = bill.components.filter(({ name, version }) => kept.has(`${name}@${version}`));
  const references = new Set([own, ...bill.components].map((component) => component["bom-ref"]));
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => references.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => references.has(other)) }));
  return `${JSON.stringify(bill, null, 2)}\n`;
}
