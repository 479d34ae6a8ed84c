/** A small piece of the good sample with one fault. */
export interface BrokenCase {
  /** Path below `broken/` → text. */
  readonly files: Readonly<Record<string, string>>;
  readonly file: string;
  readonly line: number | undefined;
  readonly field: string | undefined;
  readonly reason: string;
}
