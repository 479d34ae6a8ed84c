import type { Database } from "../database/database.ts";
import { findPersonalization } from "../database/personalization.ts";
import { maxSkuLength, orderPersonalization, type Personalization } from "../personalization.ts";
import { type Handler, parameter } from "./server.ts";

const nothing: Personalization = { pzlines: [], pzstyles: [], pzchoices: [] };

/** `GET /api/v1/products/pz/:sku`: what a SKU offers; an unknown SKU offers nothing. */
export function getPersonalization(database: Database, brand: string): Handler {
  return async (request) => {
    const sku = parameter(request, "sku");
    // No stored SKU is like this, and the database need not be asked, or could not.
    const unknown = sku.length > maxSkuLength || sku.includes("\0");
    const found = unknown ? nothing : await findPersonalization(database, brand, sku);
    return { status: 200, type: "application/json", body: JSON.stringify(orderPersonalization(found)) };
  };
}
