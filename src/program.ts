/**
 * Returns the command that started this program: the runtime with its script, or the executable
 * that holds both.
 */
export function thisProgram(): string[] {
  return Bun.embeddedFiles.length > 0 || Bun.main.startsWith("/$bunfs/")
    ? [process.execPath]
    : [process.execPath, Bun.main];
}
