/**
 * Bundles the script for product pages: one ES module without imports. It runs in its own process,
 * because the service's build calls it as a macro.
 * @throws if the source cannot be bundled
 */
export function buildPersonalizer(): string {
  const source = Bun.fileURLToPath(new URL("src/index.ts", import.meta.url));
  const args = ["build", source, "--target=browser", "--format=esm", "--minify"];
  const { success, stdout, stderr } = Bun.spawnSync([process.execPath, ...args]);
  if (!success) throw new Error(`Cannot bundle the widget: ${stderr}`);
  // The bundler does not read the style sheet, which is a text to it.
  return `${stdout}`.replace(/(?<=replaceSync\(`)[^`]*/, (css) => css.replace(/(?<=[;{},:])\n/g, ""));
}
