import { z } from "zod";
import { findSourceProblem } from "../../feed/address.ts";
import { planShape } from "../../jobs/options.ts";
import { personalizationShape, sourceOf } from "../options.ts";

/**
 * A presentation is one file.
 * @returns undefined if the source is valid
 */
export function findFileSourceProblem(text: string): string | undefined {
  const name = text.split("/").at(-1) ?? "";
  const isKnown = /^.*\.toml(\.gz|\.zst)?$/i.test(name);
  return (
    findSourceProblem(text) ?? (isKnown ? undefined : "expected a file that ends in .toml, with or without .gz or .zst")
  );
}

export const presentationShape = {
  source: sourceOf(findFileSourceProblem).describe(
    "Path or URL of the file, which ends in `.toml`, with or without `.gz` or `.zst`: `presentation.toml`, `https://HOST/PATH/presentation.toml` or `s3://BUCKET/presentation.toml.gz`.",
  ),
  settle_seconds: personalizationShape.settle_seconds.describe(
    "Seconds without a change after which the file counts as complete.",
  ),
  keep_generations: personalizationShape.keep_generations.describe(
    "Number of presentations to keep, including the current one.",
  ),
  max_removed_share: personalizationShape.max_removed_share.describe(
    "Maximum share of the entries that an import may remove. Fewer than 20 are not checked.",
  ),
};

export const presentationImportSchema = z.strictObject({ ...presentationShape, ...planShape });

export type PresentationOptions = z.infer<typeof presentationImportSchema>;
