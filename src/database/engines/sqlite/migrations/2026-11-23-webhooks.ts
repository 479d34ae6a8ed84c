import type { Migration } from "../../engine.ts";
import { createPushQueue } from "../../migrations/2026-11-23-webhooks.ts";
import { columnTypes } from "../column-types.ts";

export const webhooks: Migration = { name: "2026-11-23-webhooks", statements: createPushQueue(columnTypes) };
