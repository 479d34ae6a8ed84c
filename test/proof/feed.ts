import { join } from "node:path";
import { type ListName, skuOf, writeFeed } from "../../bench/support/feed.ts";
import { cleanUp } from "../support/clean-up.ts";
import { temporaryFolder } from "../support/pds.ts";

/** The groups whose values name the version of the feed; about a tenth of the SKUs use one. */
const markedGroups = 10;
const groupName = (index: number) => `GROUP${`${index}`.padStart(3, "0")}`;
export const markedGroup = groupName(0);

/** An ERP system whose feed has another version each minute. */
export interface Erp {
  readonly origin: string;
  readonly skus: readonly string[];
  /** Stops or resumes to answer. */
  isDown: boolean;
}

export async function startErp(count: number): Promise<Erp> {
  const folder = await writeFeed(join(await temporaryFolder(), "feed"), count, { status: "A" });
  const texts = Object.fromEntries(
    await Promise.all(
      (["pzlines", "pzstyles", "pzchoices"] as const).map(
        async (list) => [list, await Bun.file(join(folder, `${list}.csv`)).text()] as const,
      ),
    ),
  ) as Record<ListName, string>;
  const version = () => `v${Math.floor(Date.now() / 60_000) % 1_000_000}`;
  const marked = new RegExp(
    `^(${Array.from({ length: markedGroups }, (_, index) => groupName(index)).join("|")}),.*`,
    "gm",
  );
  const erp: Erp = {
    skus: Array.from({ length: count }, (_, index) => skuOf(index)),
    isDown: false,
    get origin() {
      return server.url.origin;
    },
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      if (erp.isDown) return new Response("Maintenance", { status: 503 });
      const list = new URL(url).pathname.match(/^\/(\w+)\.csv$/)?.[1] as ListName | undefined;
      const text = list && texts[list];
      if (text === undefined) return new Response(null, { status: 404 });
      return new Response(list === "pzchoices" ? text.replace(marked, (row) => `${row} ${version()}`) : text);
    },
  });
  cleanUp(() => server.stop(true));
  return erp;
}
