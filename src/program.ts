/** How this very program was started: the runtime with its script, or the one executable that holds both. */
export function thisProgram(): string[] {
  return Bun.embeddedFiles.length > 0 || Bun.main.startsWith("/$bunfs/")
    ? [process.execPath]
    : [process.execPath, Bun.main];
}
