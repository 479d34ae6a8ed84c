import cors from "@fastify/cors";
import fastify from "fastify";
import { LRUCache } from "lru-cache";
import pg from "pg";
import { findHistories, findPersonalization } from "./queries.js";

// The service written by hand for speed: responses are cached as serialized bytes.
const shop = process.env.SHOP_DOMAIN;
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const answers = new LRUCache({
  maxSize: 128 * 1024 * 1024,
  sizeCalculation: (body) => body.length,
  fetchMethod: async (key, _, { context }) => Buffer.from(await context(key)),
});

const personalization = async (key) => JSON.stringify(await findPersonalization(pool, key.slice("pz/".length)));
const histories = async (key) => JSON.stringify(await findHistories(pool, key.slice("histories/".length)));
const product = async (key) => {
  const { rows } = await pool.query("SELECT document::text FROM products WHERE id = $1", [key]);
  if (rows.length === 0) throw Object.assign(new Error("Not Found"), { statusCode: 404 });
  return `{"product":${rows[0].document},"shop":${JSON.stringify(shop)},"error":null}`;
};

async function answer(reply, key, load) {
  const body = answers.get(key) ?? (await answers.fetch(key, { context: load }));
  return reply.type("application/json").send(body);
}

const app = fastify();
await app.register(cors);
app.get("/api/v1/products/pz/:sku", (request, reply) => answer(reply, `pz/${request.params.sku}`, personalization));
app.get("/api/v1/products/:id", (request, reply) => answer(reply, request.params.id, product));
app.get("/api/v1/histories/:order", (request, reply) => answer(reply, `histories/${request.params.order}`, histories));
process.stdout.write(`${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
