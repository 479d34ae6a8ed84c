import cors from "cors";
import express from "express";
import pg from "pg";
import { findHistories, findPersonalization } from "./queries.js";

// The service as it is usually written by hand: Express with its defaults, a connection pool, and
// queries for each request.
const shop = process.env.SHOP_DOMAIN;
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const app = express();
app.use(cors());

app.get("/api/v1/products/pz/:sku", async (request, response) => {
  response.json(await findPersonalization(pool, request.params.sku));
});

app.get("/api/v1/products/:id", async (request, response) => {
  const { id } = request.params;
  const { rows } = await pool.query("SELECT document FROM products WHERE id = $1", [id]);
  if (rows.length > 0) response.json({ product: rows[0].document, shop, error: null });
  else response.status(404).json({ product: null, shop, error: `The product with id ${id} could not be found` });
});

app.get("/api/v1/histories/:order", async (request, response) => {
  response.json(await findHistories(pool, request.params.order));
});

const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
