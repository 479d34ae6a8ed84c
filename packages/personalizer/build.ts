/**
 * Makes the script that product pages load: one ES module without imports. It is made by a process of its own, so that it can be
 * called, as a macro, by a build of the program that serves it.
 * @throws when the source cannot be bundled
 */
export function buildPersonalizer(): string {
  const source = Bun.fileURLToPath(new URL("src/index.ts", import.meta.url));
  const args = ["build", source, "--target=browser", "--format=esm", "--minify"];
  const { success, stdout, stderr } = Bun.spawnSync([process.execPath, ...args]);
  if (!success) throw new Error(`the personalizer cannot be built: ${stderr}`);
  return `${stdout}`;
}
