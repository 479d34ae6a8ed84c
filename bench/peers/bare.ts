import { basename, dirname } from "node:path";

// The runtime alone, as the upper limit: prepared bytes by key, without anything else that a
// service must do. `bun bench/peers/bare.ts FOLDER` serves the files of the folder.
const [folder = "."] = process.argv.slice(2);

async function bodiesOf(part: string): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const bodies = new Map<string, Uint8Array<ArrayBuffer>>();
  for await (const path of new Bun.Glob(`${part}/*`).scan(folder)) {
    if (dirname(path) === part) bodies.set(basename(path), await Bun.file(`${folder}/${path}`).bytes());
  }
  return bodies;
}

const personalization = await bodiesOf("api/v1/products/pz");
const products = await bodiesOf("api/v1/products");
const histories = await bodiesOf("api/v1/histories");

const headers = { "Content-Type": "application/json" };
const answer = (body: Uint8Array<ArrayBuffer> | undefined) =>
  body === undefined ? new Response(null, { status: 404 }) : new Response(body, { headers });

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  routes: {
    "/api/v1/products/pz/:sku": ({ params }) => answer(personalization.get(params.sku)),
    "/api/v1/products/:id": ({ params }) => answer(products.get(params.id)),
    "/api/v1/histories/:order": ({ params }) => answer(histories.get(params.order)),
  },
});
process.stdout.write(`${server.url.origin}\n`);
