import { ServiceError } from "../../base/errors.ts";
import { wasOrWere } from "../../base/format.ts";
import { collectFeed, type DeliveredFiles, type KnownFiles } from "../../feed/delivery.ts";
import { throwChanged } from "../../feed/file.ts";
import type { SourceSettings } from "../../feed/source.ts";
import type { Difference } from "../../jobs/import-report.ts";
import type { RunContext, Work } from "../../jobs/work.ts";
import { tooManyChanges } from "../import/guards.ts";
import type { ImportMode } from "../import/import.ts";
import { findCurrent, findLast, generations, presentations, unchangedNote } from "../versions.ts";
import { checkPresentation } from "./check.ts";
import { keyOf, listLocales, type PresentationEntry } from "./entry.ts";
import type { PresentationOptions } from "./options.ts";
import { type ParsedPresentation, readPresentation } from "./parse.ts";
import { toFileRequest } from "./source.ts";
import { findCurrentEntries, savePresentation } from "./store.ts";

type Files = DeliveredFiles<"presentation">;

export function presentationImport(options: PresentationOptions, settings: SourceSettings, mode: ImportMode): Work {
  return async (context) => {
    const { database, brand, reporter, signal } = context;
    const last = database && (await findLast(database, presentations, brand));
    const known =
      mode.isForced || last === undefined ? undefined : (JSON.parse(last.feed) as KnownFiles<"presentation">);
    await using delivery = await collectFeed(toFileRequest(options), settings, known, signal);
    if (delivery.status === "complete") {
      for (const note of delivery.notes) reporter.note(note);
      await importFile(delivery.files, options, mode, context);
    } else if (delivery.status === "unchanged") reporter.note(unchangedNote("file", options.source, last));
    else if (mode.isManual) throw new ServiceError("invalid_input", delivery.reason);
    else reporter.note(`the file is incomplete; the next run tries again: ${delivery.reason}`);
  };
}

async function importFile(
  files: Files,
  options: PresentationOptions,
  { isForced }: ImportMode,
  { database, run, brand, reporter }: RunContext,
): Promise<void> {
  const { path, name, sha256 } = files.presentation;
  const hasher = new Bun.CryptoHasher("sha256");
  const parsed = await readPresentation(path, name, (bytes) => hasher.update(bytes));
  if (hasher.digest("hex") !== sha256) throwChanged(name);
  const { entries } = parsed;
  const current = database && (await findCurrentEntries(database, brand));
  const difference = current === undefined ? null : compare(current, entries);
  reporter.stage(entries.length);
  for (const problems of parsed.rejected) reporter.reject(...problems);
  const generation = database && (await findCurrent(database, generations, brand));
  reporter.report.presentation = {
    file: name,
    sha256,
    locales: listLocales(entries),
    entries: difference,
    ...(database && generation !== undefined && (await checkPresentation(database, generation, entries))),
  };
  reporter.failUnlessForced(listViolations(name, parsed, difference, options), isForced);
  if (database !== undefined && run !== undefined) {
    await savePresentation(database, run, {
      brand,
      entries,
      feed: JSON.stringify(files),
      kept: options.keep_generations,
    });
  }
  reporter.acceptStaged();
}

function compare(current: readonly PresentationEntry[], entries: readonly PresentationEntry[]): Difference {
  const before = new Map(current.map((entry) => [keyOf(entry), JSON.stringify(entry)]));
  let [added, changed] = [0, 0];
  for (const entry of entries) {
    const known = before.get(keyOf(entry));
    if (known === undefined) added++;
    else if (known !== JSON.stringify(entry)) changed++;
  }
  return { total: entries.length, added, changed, removed: current.length + added - entries.length };
}

/** The reasons not to use a file, each a clause without a period. */
function listViolations(
  file: string,
  { entries, rejected }: ParsedPresentation,
  difference: Difference | null,
  options: Pick<PresentationOptions, "max_removed_share">,
): string[] {
  const violations: string[] = [];
  const read = entries.length + rejected.length;
  if (rejected.length > 0)
    violations.push(`${rejected.length} of ${read} entries ${wasOrWere(rejected.length)} rejected`);
  else if (entries.length === 0) violations.push(`${file}: the file has no entries`);
  if (difference === null) return violations;
  return [...violations, ...tooManyChanges("entries", difference, options)];
}
