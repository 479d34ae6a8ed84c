import { ServiceError } from "../base/errors.ts";
import { parseId } from "../base/id.ts";
import { rollbackAction } from "../operators/actions/brands.ts";
import type { ActionName } from "../operators/actions/index.ts";
import {
  type CurrentChange,
  findChange,
  generations,
  presentations,
  type VersionKind,
} from "../personalization/versions.ts";
import { act } from "./act.ts";
import { brandOf, type Values, withStore } from "./common.ts";
import { printJson, printMessage } from "./output.ts";

export const rollBackPersonalization = (values: Values) =>
  rollBack("rollback", generations, values, (change, brand) =>
    values.to === undefined
      ? `rolled back the personalization of ${brand}`
      : describeChange(generations, change, brand),
  );

export const rollBackPresentation = (values: Values) =>
  rollBack("rollback-presentation", presentations, values, (change, brand) =>
    describeChange(presentations, change, brand),
  );

async function rollBack(
  name: ActionName,
  kind: VersionKind,
  values: Values,
  describe: (change: CurrentChange, brand: string) => string,
): Promise<boolean> {
  const to = versionOf(values, kind);
  return await withStore(async (database, config) => {
    const brand = brandOf(config, values);
    const expected = await findChange(database, kind, brand, to);
    const { change } = await act(database, name, rollbackAction(database, kind, brand, { expected, to }));
    if (change === undefined) printMessage(`nothing to roll back to for ${brand}`);
    else if (values.json === true) printJson({ brand, [kind.noun]: change.to, before: change.from });
    else if (change.from === change.to) printMessage(`${kind.noun} ${change.to} of ${brand} is already current`);
    else printMessage(describe(change, brand));
    return change !== undefined;
  });
}

const describeChange = ({ noun }: VersionKind, { from, to }: CurrentChange, brand: string) =>
  `made ${noun} ${to} of ${brand} current instead of ${from}`;

/** @throws ServiceError `bad_request` */
function versionOf({ to }: Values, { noun }: VersionKind): number | undefined {
  if (typeof to !== "string") return undefined;
  const version = parseId(to);
  if (version !== undefined) return version;
  throw new ServiceError("bad_request", `--to: expected the number of a ${noun}, got ${JSON.stringify(to)}`);
}
