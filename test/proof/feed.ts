import { join } from "node:path";
import { type ListName, skuOf, writeFeed } from "../../bench/support/feed.ts";
import type { Personalization } from "../../src/contract/personalization.ts";
import { temporaryFolder } from "../support/pds.ts";
import { orderPersonalization } from "../support/personalization.ts";
import { startServer } from "../support/server.ts";
import { schedules } from "./ticks.ts";

/** The groups whose values name the version of the feed; about a tenth of the SKUs use one. */
const markedGroups = 10;
const everyMs = schedules["personalization-import"] * 1000;
const groupName = (index: number) => `GROUP${`${index}`.padStart(3, "0")}`;
const markedNames = Array.from({ length: markedGroups }, (_, index) => groupName(index));
const isMarked = (group: string) => markedNames.includes(group);
export const markedGroup = groupName(0);

/** An ERP system whose feed has another version for each import. */
export interface Erp {
  readonly origin: string;
  readonly skus: readonly string[];
  /** Stops or resumes to answer. */
  isDown: boolean;
  /** From now on, the feed stays as it is. @returns its version */
  freeze(): string;
  /** The response for a SKU, by definition, after the import of a feed of this version. */
  responseOf(sku: string, version: string): string;
}

/** The version of the feed in a response. */
export const feedVersion = /\bv\d+\b/g;

export async function startErp(count: number): Promise<Erp> {
  const folder = await writeFeed(join(await temporaryFolder(), "feed"), count, { status: "A" });
  const texts = Object.fromEntries(
    await Promise.all(
      (["pzlines", "pzstyles", "pzchoices"] as const).map(
        async (list) => [list, await Bun.file(join(folder, `${list}.csv`)).text()] as const,
      ),
    ),
  ) as Record<ListName, string>;
  let frozen: string | undefined;
  const version = () => frozen ?? `v${Math.floor(Date.now() / everyMs) % 1_000_000}`;
  const find = findRows(texts);
  const marked = new RegExp(`^(${markedNames.join("|")}),.*`, "gm");
  const erp: Erp = {
    skus: Array.from({ length: count }, (_, index) => skuOf(index)),
    isDown: false,
    get origin() {
      return origin;
    },
    freeze: () => {
      frozen = version();
      return frozen;
    },
    responseOf: (sku, of) => {
      const { pzchoices, ...others } = find(sku);
      const choices = pzchoices.map((choice) =>
        isMarked(choice.choice_type) ? { ...choice, choice_value: `${choice.choice_value} ${of}` } : choice,
      );
      return JSON.stringify(orderPersonalization({ ...others, pzchoices: choices }));
    },
  };
  const origin = startServer(({ url }) => {
    if (erp.isDown) return new Response("Maintenance", { status: 503 });
    const list = new URL(url).pathname.match(/^\/(\w+)\.csv$/)?.[1] as ListName | undefined;
    const text = list && texts[list];
    if (text === undefined) return new Response(null, { status: 404 });
    return new Response(list === "pzchoices" ? text.replace(marked, (row) => `${row} ${version()}`) : text);
  });
  return erp;
}

type Row = Readonly<Record<string, string>>;

/** Of a file that quotes values with commas. */
function parseRows(text: string): Row[] {
  const [header = "", ...rows] = text.trim().split("\n");
  const names = header.split(",");
  return rows.map((row) => {
    const cells = [...row.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ""]));
  });
}

/** @returns a function that finds the rows of a SKU: its lines, their styles, and the choices of these */
function findRows(texts: Readonly<Record<ListName, string>>): (sku: string) => Personalization {
  const group = (list: ListName, key: string) => Map.groupBy(parseRows(texts[list]), (row) => row[key] ?? "");
  const lines = group("pzlines", "sku_id");
  const styles = group("pzstyles", "style_code");
  const choices = group("pzchoices", "choice_type");
  const of = (rows: Map<string, Row[]>, keys: readonly (string | undefined)[]) =>
    [...new Set(keys)].flatMap((key) => rows.get(key ?? "") ?? []);
  return (sku) => {
    const pzlines = of(lines, [sku]);
    const pzstyles = of(
      styles,
      pzlines.map(({ style_code: code }) => code),
    );
    const pzchoices = of(
      choices,
      pzstyles.map(({ choice_type: type }) => type),
    );
    return { pzlines, pzstyles, pzchoices } as unknown as Personalization;
  };
}
