import { ServiceError } from "../base/errors.ts";
import { parseId } from "../base/id.ts";
import { rollbackAction } from "../operators/actions/brands.ts";
import type { ActionName } from "../operators/actions/index.ts";
import { findChange, generations, presentations, type VersionKind } from "../personalization/versions.ts";
import { act } from "./act.ts";
import { brandOf, type Values, withStore } from "./common.ts";
import { printJson, printMessage } from "./output.ts";

export const rollBackPersonalization = (values: Values) => rollBack("rollback", generations, values);
export const rollBackPresentation = (values: Values) => rollBack("rollback-presentation", presentations, values);

async function rollBack(name: ActionName, kind: VersionKind, values: Values): Promise<boolean> {
  const to = versionOf(values, kind);
  return await withStore(async (database, config) => {
    const brand = brandOf(config, values);
    const expected = await findChange(database, kind, brand, to);
    const { change } = await act(
      database,
      name,
      rollbackAction(database, kind, brand, { expected, to, onlyFrom: expected?.from }),
    );
    if (change === undefined) printMessage(`nothing to roll back to for ${brand}`);
    else if (values.json === true) printJson({ brand, [kind.noun]: change.to, before: change.from });
    else if (change.from === change.to) printMessage(`${kind.noun} ${change.to} of ${brand} is already current`);
    else printMessage(`made ${kind.noun} ${change.to} of ${brand} current instead of ${change.from}`);
    return change !== undefined;
  });
}

/** @throws ServiceError `bad_request` */
function versionOf({ to }: Values, { noun }: VersionKind): number | undefined {
  if (typeof to !== "string") return undefined;
  const version = parseId(to);
  if (version !== undefined) return version;
  throw new ServiceError("bad_request", `--to: expected the number of a ${noun}, got ${JSON.stringify(to)}`);
}
