import { ServiceError } from "../../base/errors.ts";
import { formatNumber, pluralize, utcTime } from "../../base/format.ts";
import { findPreviousGeneration, type Generation, listGenerations } from "../../personalization/generation.ts";
import { jobsOfBrands } from "../../personalization/options.ts";
import { rollbackPresentation } from "../../personalization/presentation/rollback.ts";
import { listPresentations, type StoredPresentation } from "../../personalization/presentation/store.ts";
import { removePersonalization } from "../../personalization/remove.ts";
import { rollbackPersonalization, selectPersonalization } from "../../personalization/rollback.ts";
import { type Action, type ActionContext, requireId, requireParameter } from "./action.ts";

const describe = ({ id, loadedAt, skus }: Generation) =>
  `${id}, loaded ${utcTime(loadedAt)}, with ${formatNumber(skus)} SKUs`;

/** @throws ServiceError `conflict` without a current one */
async function listStored({ database }: ActionContext, brand: string) {
  const stored = (await listGenerations(database)).filter((generation) => generation.brand === brand);
  const current = stored.find(({ isCurrent }) => isCurrent);
  if (current !== undefined) return { stored, current };
  throw new ServiceError("conflict", `No personalization of ${brand} is stored.`);
}

interface Stored {
  readonly id: number;
}

/**
 * Finds what becomes current: what the parameters name, or else the previous one.
 * @param noun such as "generation"
 * @throws ServiceError `conflict` if it is not stored, is current, or another one is current by now
 */
function findTarget<Version extends Stored>(
  parameters: URLSearchParams,
  noun: string,
  brand: string,
  { stored, current, previous }: { stored: readonly Version[]; current: Stored; previous: number | null | undefined },
): Version {
  const isChosen = parameters.has("to");
  const to = isChosen ? requireId(parameters, "to") : previous;
  const target = stored.find(({ id }) => id === to);
  if (target === undefined) {
    const problem = isChosen ? `The ${noun} ${to} of ${brand} is not stored.` : `${brand} has no earlier ${noun}.`;
    throw new ServiceError("conflict", problem);
  }
  requireFrom(parameters, noun, brand, current);
  if (target.id !== current.id) return target;
  throw changed(noun, brand, current);
}

/**
 * Refuses a form that is sent twice, or late, so that it goes back no further, and removes nothing that
 * its page did not show.
 * @throws ServiceError `conflict` if another version than that of the page is current by now
 */
function requireFrom(parameters: URLSearchParams, noun: string, brand: string, current: Stored): void {
  if (parameters.has("from") && requireId(parameters, "from") !== current.id) throw changed(noun, brand, current);
}

const changed = (noun: string, brand: string, { id }: Stored) =>
  new ServiceError("conflict", `The ${noun} ${id} of ${brand} is current by now.`);

/** Makes another stored generation of a brand current; by default the previous one. */
export const planRollback: Action = async (context, parameters) => {
  const brand = requireParameter(parameters, "brand");
  const { stored, current } = await listStored(context, brand);
  const previous = (await findPreviousGeneration(context.database, brand))?.previous;
  const target = findTarget(parameters, "generation", brand, { stored, current, previous });
  return {
    title: `Roll back ${brand}`,
    facts: [
      ["Brand", brand],
      ["Current generation", describe(current)],
      ["Becomes current", describe(target)],
    ],
    consequences: [
      `All replicas serve generation ${target.id} within a second. Generation ${current.id} stays stored.`,
      "An import of the brand in progress is cancelled.",
      "An unchanged feed is not imported again. A new feed is: pause the job if it would bring the mistake back.",
    ],
    button: `Make generation ${target.id} current`,
    fields: { brand, from: `${current.id}`, to: `${target.id}` },
    subject: `${brand}, from generation ${current.id} to ${target.id}`,
    perform: async () => {
      // Twice in a row, it goes two generations back.
      const change =
        target.id === previous
          ? await rollbackPersonalization(context.writer, brand, current.id)
          : await selectPersonalization(context.writer, brand, target.id, current.id);
      if (change === undefined) throw new ServiceError("conflict", `${brand} has no earlier generation.`);
      return { result: `made generation ${change.to} current instead of ${change.from}` };
    },
  };
};

/** Makes another stored presentation of a brand current; by default the previous one. */
export const planPresentationRollback: Action = async (context, parameters) => {
  const brand = requireParameter(parameters, "brand");
  const stored = await listPresentations(context.database, brand);
  const current = stored.find(({ isCurrent }) => isCurrent);
  if (current === undefined) throw new ServiceError("conflict", `No presentation of ${brand} is stored.`);
  const target = findTarget(parameters, "presentation", brand, { stored, current, previous: current.previous });
  return {
    title: `Roll back the presentation of ${brand}`,
    facts: [
      ["Brand", brand],
      ["Current presentation", describePresentation(current)],
      ["Becomes current", describePresentation(target)],
    ],
    consequences: [
      `All replicas serve presentation ${target.id} within a second. Presentation ${current.id} stays stored.`,
      "An import of the presentation in progress is cancelled.",
      "An unchanged file is not imported again. A new file is.",
    ],
    button: `Make presentation ${target.id} current`,
    fields: { brand, from: `${current.id}`, to: `${target.id}` },
    subject: `${brand}, from presentation ${current.id} to ${target.id}`,
    perform: async () => {
      const to = target.id === current.previous ? undefined : target.id;
      const change = await rollbackPresentation(context.writer, brand, to, current.id);
      if (change === undefined) throw new ServiceError("conflict", `${brand} has no earlier presentation.`);
      return { result: `made presentation ${change.to} current instead of ${change.from}` };
    },
  };
};

const describePresentation = ({ id, loadedAt, entries }: StoredPresentation) =>
  `${id}, loaded ${utcTime(loadedAt)}, with ${formatNumber(entries)} entries`;

/** Removes all that is stored of a brand's personalization. */
export const planRemoval: Action = async (context, parameters) => {
  const { database, jobs } = context;
  const brand = requireParameter(parameters, "brand");
  const { stored, current } = await listStored(context, brand);
  requireFrom(parameters, "generation", brand, current);
  const presentations = await listPresentations(database, brand);
  const isConfigured = jobs.some((job) => job.brand === brand && jobsOfBrands.some((name) => name === job.name));
  return {
    title: `Remove ${brand}`,
    facts: [
      ["Brand", brand],
      ["Stored", [pluralize(stored.length, "generation"), pluralize(presentations.length, "presentation")].join(", ")],
      ["Current generation", describe(current)],
    ],
    consequences: [
      "Its SKUs have no personalization from then on. Nothing brings it back but another import.",
      ...(isConfigured ? ["A job imports this brand: it stores the brand again. Remove its table from pds.toml."] : []),
    ],
    button: "Remove the brand",
    fields: { brand, from: `${current.id}` },
    typed: { label: "Type the name of the brand to confirm", value: brand },
    subject: brand,
    perform: async () => {
      const removed = await removePersonalization(context.writer, brand, current.id);
      if (removed.generations === 0) throw new ServiceError("conflict", `${brand} was removed in the meantime.`);
      const text = `${pluralize(removed.generations, "generation")}, ${pluralize(removed.presentations, "presentation")}`;
      return { result: `removed ${text}` };
    },
  };
};
