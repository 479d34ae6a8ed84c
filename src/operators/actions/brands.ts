import { ServiceError } from "../../base/errors.ts";
import { formatNumber, pluralize, toSentence, utcTime } from "../../base/format.ts";
import type { Database } from "../../database/database.ts";
import { type Generation, listGenerations } from "../../personalization/generation.ts";
import { type RemovedBrand, removePersonalization } from "../../personalization/generation-removal.ts";
import { jobsOfBrands } from "../../personalization/options.ts";
import { listPresentations, type StoredPresentation } from "../../personalization/presentation/store.ts";
import { rollBack } from "../../personalization/rollback.ts";
import {
  alreadyReplaced,
  type CurrentChange,
  describeNoneStored,
  findChange,
  generations,
  presentations,
  requireCurrent,
  type VersionKind,
} from "../../personalization/versions.ts";
import { type Action, type ActionResult, type AuditedAction, requireId, requireParameter } from "./action.ts";

interface StoredVersion {
  readonly id: number;
  readonly isCurrent: boolean;
}

interface Words<Version> {
  readonly name: string;
  readonly subject: (brand: string) => string;
  /** What an import delivers, which the rollback cancels. */
  readonly imported: string;
  readonly list: (database: Database, brand: string) => Promise<readonly Version[]>;
  readonly describe: (version: Version) => string;
  readonly afterward: string;
}

const generationWords: Words<Generation> = {
  name: "Generation",
  subject: (brand) => brand,
  imported: "brand",
  list: async (database, brand) => (await listGenerations(database)).filter((generation) => generation.brand === brand),
  describe: ({ id, loadedAt, skus }) => `${id}, loaded ${utcTime(loadedAt)}, with ${formatNumber(skus)} SKUs`,
  afterward:
    "An unchanged feed is not imported again. A new feed is: pause the job if it would bring the mistake back.",
};

const presentationWords: Words<StoredPresentation> = {
  name: "Presentation",
  subject: (brand) => `the presentation of ${brand}`,
  imported: "presentation",
  list: listPresentations,
  describe: ({ id, loadedAt, entries }) => `${id}, loaded ${utcTime(loadedAt)}, with ${formatNumber(entries)} entries`,
  afterward: "An unchanged file is not imported again. A new file is.",
};

/** @throws ServiceError `conflict` without a current one */
async function requireStored<Version extends StoredVersion>(
  database: Database,
  kind: VersionKind,
  brand: string,
  stored: readonly Version[],
): Promise<Version> {
  const current = stored.find(({ isCurrent }) => isCurrent);
  if (current !== undefined) return current;
  throw new ServiceError("conflict", toSentence(await describeNoneStored(database, kind, brand)));
}

/**
 * Refuses a form that is sent twice or late, so that it changes only what its page showed.
 * @throws ServiceError `conflict` if the current version is no longer the page's
 */
function requireFrom(parameters: URLSearchParams, kind: VersionKind, brand: string, current: StoredVersion): void {
  if (parameters.has("from")) requireCurrent(kind, brand, current.id, requireId(parameters, "from"));
}

function planVersion<Version extends StoredVersion>(kind: VersionKind, words: Words<Version>): Action {
  const { noun } = kind;
  return async ({ database, writer }, parameters) => {
    const brand = requireParameter(parameters, "brand");
    const stored = await words.list(database, brand);
    const current = await requireStored(database, kind, brand, stored);
    const previous = (await findChange(database, kind, brand))?.to;
    const isChosen = parameters.has("to");
    const to = isChosen ? requireId(parameters, "to") : previous;
    const target = stored.find(({ id }) => id === to);
    if (target === undefined) {
      const problem = isChosen ? `The ${noun} ${to} of ${brand} is not stored.` : noEarlier(kind, brand);
      throw new ServiceError("conflict", problem);
    }
    requireFrom(parameters, kind, brand, current);
    if (target.id === current.id) throw alreadyReplaced(kind, brand, current.id);
    return {
      title: `Roll back ${words.subject(brand)}`,
      facts: [
        ["Brand", brand],
        [`Current ${noun}`, words.describe(current)],
        ["Becomes current", words.describe(target)],
      ],
      consequences: [
        `All replicas serve ${noun} ${target.id} within a second. ${words.name} ${current.id} stays stored.`,
        `An import of the ${words.imported} in progress is cancelled.`,
        words.afterward,
      ],
      button: `Make ${noun} ${target.id} current`,
      fields: { brand, from: `${current.id}`, to: `${target.id}` },
      ...rollbackAction(writer, kind, brand, {
        expected: { from: current.id, to: target.id },
        // Without an id, so that two rollbacks in a row go back two versions.
        to: target.id === previous ? undefined : target.id,
        onlyFrom: current.id,
      }),
    };
  };
}

interface Rollback {
  /** The change for the audit; undefined if there is no such version. */
  readonly expected: CurrentChange | undefined;
  readonly to: number | undefined;
  readonly onlyFrom: number | undefined;
}

const noEarlier = ({ noun }: VersionKind, brand: string) => `${brand} has no earlier ${noun}.`;

type RollbackResult = ActionResult & { readonly change: CurrentChange | undefined };

export function rollbackAction(
  database: Database,
  kind: VersionKind,
  brand: string,
  { expected, to, onlyFrom }: Rollback,
): AuditedAction<RollbackResult> {
  const { noun } = kind;
  return {
    subject: expected === undefined ? brand : `${brand}, from ${noun} ${expected.from} to ${expected.to}`,
    perform: async () => {
      const change = await rollBack(database, kind, brand, to, onlyFrom);
      if (change === undefined) return { result: noEarlier(kind, brand), outcome: "refused", change };
      const result =
        change.from === change.to
          ? `${noun} ${change.to} was current already`
          : `made ${noun} ${change.to} current instead of ${change.from}`;
      return { result, change };
    },
  };
}

export const planRollback = planVersion(generations, generationWords);
export const planPresentationRollback = planVersion(presentations, presentationWords);

export const planRemoval: Action = async (context, parameters) => {
  const { database, jobs } = context;
  const brand = requireParameter(parameters, "brand");
  const stored = await generationWords.list(database, brand);
  const current = await requireStored(database, generations, brand, stored);
  requireFrom(parameters, generations, brand, current);
  const named = await listPresentations(database, brand);
  const isConfigured = jobs.some((job) => job.brand === brand && jobsOfBrands.some((name) => name === job.name));
  return {
    title: `Remove ${brand}`,
    facts: [
      ["Brand", brand],
      ["Stored", [pluralize(stored.length, "generation"), pluralize(named.length, "presentation")].join(", ")],
      ["Current generation", generationWords.describe(current)],
    ],
    consequences: [
      "Its SKUs have no personalization from then on. Nothing brings it back but another import.",
      ...(isConfigured ? ["A job imports this brand: it stores the brand again. Remove its table from pds.toml."] : []),
    ],
    button: "Remove the brand",
    fields: { brand, from: `${current.id}` },
    typed: { label: "Type the name of the brand to confirm", value: brand },
    ...removeAction(context.writer, brand, current.id),
  };
};

/** @param onlyFrom refuses if another generation is now current */
export const removeAction = (
  database: Database,
  brand: string,
  onlyFrom?: number,
): AuditedAction<ActionResult & { readonly removed: RemovedBrand }> => ({
  subject: brand,
  perform: async () => {
    const removed = await removePersonalization(database, brand, onlyFrom);
    if (removed.generations + removed.presentations === 0) {
      throw new ServiceError("conflict", await describeNoneStored(database, generations, brand));
    }
    return { result: `removed ${describeRemoved(removed)}`, removed };
  },
});

export const describeRemoved = ({ generations, presentations }: RemovedBrand) =>
  [pluralize(generations, "generation"), ...(presentations > 0 ? [pluralize(presentations, "presentation")] : [])].join(
    ", ",
  );
