import { join } from "node:path";
import { $ } from "bun";
import { root, temporaryFolder } from "./pds.ts";

/** Copies the Compose files, and what they mount, as in a fresh clone. @returns the copy of deploy/compose */
export async function copyComposeFiles(): Promise<string> {
  const copy = await temporaryFolder();
  const created = ["replicas", "shops"].map((name) => `--exclude=deploy/compose/${name}/secrets`);
  await $`tar -cf - ${created} deploy sample | tar -xf - -C ${copy}`.cwd(root);
  return join(copy, "deploy", "compose");
}
