import { ServiceError } from "../base/errors.ts";
import { changeShop } from "../catalog/shop.ts";
import { readConfig } from "../config/index.ts";
import { findCursor } from "../database/cursor.ts";
import { createPlatform } from "../platforms/index.ts";
import { openLog, type Values, withDatabase, withStoreIfAny } from "./common.ts";
import { printJson, printMessage } from "./output.ts";

const requestTimeoutMs = 30_000;

export async function platformShop({ changeTo: wanted, json }: Values): Promise<boolean> {
  const config = readConfig(process.env);
  const platform = await createPlatform(config, await openLog(config));
  if (platform === undefined) throw new ServiceError("bad_request", "the settings connect no shop");
  const { id: answering } = await platform.check(AbortSignal.timeout(requestTimeoutMs));
  if (wanted !== undefined) {
    if (wanted !== answering) {
      throw new ServiceError(
        "bad_request",
        `--change-to: ${platform.source} answers as shop ${answering}, not as ${wanted}: nothing was changed`,
      );
    }
    await withDatabase((database) => changeShop(database, answering));
  }
  const stored = (await withStoreIfAny(async (database) => database && findCursor(database, "shop"))) ?? null;
  if (json === true) printJson({ stored, answering });
  else {
    printMessage(
      `the stored products are from ${stored === null ? "no shop yet" : `shop ${stored}`}; ` +
        `${platform.source} answers as shop ${answering}`,
    );
  }
  return stored === null || stored === answering;
}
