import { expect, test } from "bun:test";
import { DirectReader } from "../../proof/direct-reader.ts";
import { StoreHistory } from "../../proof/store-history.ts";
import { itemOf, original } from "../../proof/store-watcher.ts";
import { startServer } from "../../support/server.ts";

const id = "7";

/** How many old responses a reader finds at a replica that shows an edit, or the state of before it. */
async function findOld({ showsEdit, age }: { showsEdit: boolean; age?: string }): Promise<number> {
  const history = new StoreHistory();
  history.note(itemOf(id), original, performance.now());
  let title = "Plate";
  const origin = startServer(
    () => new Response(`{"product":{"title":"${title}"}}`, { headers: age === undefined ? {} : { Age: age } }),
  );
  const touch = (_: string, { product }: { readonly product?: { readonly title?: unknown } }) => {
    const version = `${product?.title}`;
    if (showsEdit) title = version;
    history.note(itemOf(id), version, performance.now());
  };
  const reader = new DirectReader({
    ...{ replicas: [{ url: origin }], catalog: { touch } as never, history },
    ids: [id],
  });
  await reader.edit();
  await reader.readLater();
  history.settleDoubts();
  expect(reader.checked).toBeGreaterThan(1);
  return reader.old.length;
}

test.concurrent.each([
  ["nothing at a replica that shows the edit", { showsEdit: true }, 0],
  ["a response of before the edit", { showsEdit: false }, 1],
  ["such a response with an age that is too low", { showsEdit: false, age: "0" }, 1],
  ["nothing when such a response has its age", { showsEdit: false, age: "60" }, 0],
])("a reader finds %s", async (_, replica, expected) => {
  expect(await findOld(replica)).toBe(expected);
});
