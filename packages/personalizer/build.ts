/** The two scripts for product pages: ES modules without imports. */
export interface PersonalizerScripts {
  /** Defines the element. */
  readonly script: string;
  /** The form, which the first script imports for a SKU with options. */
  readonly form: string;
  /** File name of the form, as the first script knows it. */
  readonly formFile: string;
}

/**
 * Version of the interface between the two scripts. Raise it when that changes: during an upgrade, and in
 * browsers that have cached one of the two, scripts of different releases meet.
 */
const formContract = 3;

/**
 * Bundles the scripts. Each is bundled in its own process, because the service's build calls this
 * as a macro.
 * @throws if the source cannot be bundled
 */
export function buildPersonalizer(): PersonalizerScripts {
  const form = bundle("src/form/index.ts");
  const formFile = `form-${formContract}-${Bun.hash.xxHash3(form).toString(36)}.js`;
  const script = bundle("src/index.ts", `--define=FORM_FILE=${JSON.stringify(formFile)}`);
  return { script, form, formFile };
}

function bundle(entry: string, ...options: readonly string[]): string {
  const source = Bun.fileURLToPath(new URL(entry, import.meta.url));
  const args = ["build", source, "--target=browser", "--format=esm", "--minify", ...options];
  const { success, stdout, stderr } = Bun.spawnSync([process.execPath, ...args]);
  if (!success) throw new Error(`Cannot bundle the widget: ${stderr}`);
  // The bundler does not read the style sheet, which is a text to it.
  return `${stdout}`.replace(/(?<=replaceSync\(`)[^`]*/, (css) => css.replace(/(?<=[;{},:])\n/g, ""));
}
