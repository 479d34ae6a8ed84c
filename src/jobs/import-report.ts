import { truncate } from "../base/format.ts";

export interface RejectedRow {
  readonly file: string;
  readonly line: number;
  /** Such as `variants[3].price`; absent if the whole row is invalid. */
  readonly field?: string;
  readonly reason: string;
  readonly text?: string;
}

export interface Rejection {
  readonly field?: string;
  readonly reason: string;
  rows: number;
  readonly examples: { readonly file: string; readonly line: number; readonly text?: string }[];
}

export interface ImportReport {
  accepted: number;
  duplicates: number;
  rejected: number;
  readonly rejections: Rejection[];
  /** Remarks about accepted input, such as unknown columns and duplicate keys. */
  readonly notes: string[];
  /** Failed checks that `--force` overrode. */
  readonly overridden: string[];
  /** Only for an import of personalization that read its feed. */
  personalization?: PersonalizationReport;
  /** Only for an import of a presentation that read its file. */
  presentation?: PresentationReport;
}

export interface Difference {
  readonly total: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

export interface Occurrences {
  count: number;
  readonly examples: string[];
}

export interface FileReport {
  readonly list: "pzlines" | "pzstyles" | "pzchoices";
  readonly file: string;
  readonly encoding: string;
  /** Null for NDJSON, which has none. */
  readonly separator: string | null;
  readonly rows: number;
  /** Whether the file is empty, without even a header or an empty list. */
  readonly isBlank: boolean;
  readonly sha256: string;
}

export interface PersonalizationReport {
  readonly files: readonly FileReport[];
  /** Null if there is no current generation to compare with. */
  readonly skus: Difference | null;
  readonly styles: Difference | null;
  readonly choices: Difference | null;
  readonly orphans: {
    readonly linesWithoutStyle: Occurrences;
    readonly stylesWithoutLine: Occurrences;
    readonly unusedChoiceGroups: Occurrences;
    /** Absent in reports of earlier versions. */
    readonly typesWithoutChoices?: Occurrences;
  };
  readonly nonNumericSequences: Occurrences;
  readonly statuses: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface PresentationCheck {
  /** Each with the locales that lack a name. */
  readonly codesWithoutNames: Occurrences;
  readonly namesWithoutCodes: Occurrences;
}

/** The comparison is absent if the brand has no feed. */
export interface PresentationReport extends Partial<PresentationCheck> {
  readonly file: string;
  readonly sha256: string;
  readonly locales: readonly string[];
  /** Null if there is no current presentation to compare with. */
  readonly entries: Difference | null;
}

/** Maximum number of reasons in a report, of examples per reason, and of notes of the same kind. */
export const reportedReasons = 20;
export const reportedExamples = 5;
export const reportedNotes = 20;

/** Begins the reason of a run that failed because of rejected rows. */
export const countRejected = ({ accepted, duplicates, rejected }: ImportReport) =>
  `${rejected} of ${accepted + duplicates + rejected}`;

export function formatRejectedRow({ file, line, field, reason, text }: RejectedRow): string {
  return `${file}:${line}: ${field === undefined ? "" : `${field}: `}${reason}${text === undefined ? "" : `: ${text}`}`;
}

export const excerpt = (text: string) => JSON.stringify(truncate(text, 80));
