import { expect, test } from "bun:test";
import { join } from "node:path";
import { bundles, describeThirdParty, listBundledPackages } from "../scripts/licenses.ts";
import { root } from "./support/pds.ts";

const text = await describeThirdParty(root);
const { dependencies } = await Bun.file(join(root, "package.json")).json();

test.each(Object.keys(bundles) as (keyof typeof bundles)[])(
  "THIRD_PARTY.md has the license of every package in the %s",
  async (bundle) => {
    const packages = await listBundledPackages(root, bundle);
    const [, section = ""] = text.split(`## In the ${bundle}\n`);
    for (const { name, version, license, text: ofLicense } of packages) {
      expect(section.split("\n## ")[0]).toContain(`| ${name} | ${version} | ${license} |`);
      const [, copyright] = ofLicense.match(/^(Copyright .*?)\s*$/im) ?? [];
      expect(text).toContain(copyright ?? ofLicense.slice(0, 50).trim());
    }
    // The packages for browsers consist of our own code only.
    const names = packages.map(({ name }) => name);
    const ownRuntime = ["bun"];
    const expected = Object.keys(dependencies).filter((name) => !ownRuntime.includes(name));
    if (bundle === "executable") expect(names).toEqual(expect.arrayContaining(expected));
    else expect(names).toEqual([]);
  },
);
