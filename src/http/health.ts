import type { Database } from "../database/database.ts";
import type { Handler } from "./server.ts";

/** `GET /livez`: the process answers; it asks nothing else. */
export const getLiveness: Handler = () => ({ status: 200, type: "application/json", body: '{"status":"ok"}' });

/** A named condition for taking requests. @returns why it is not met, or undefined when it is */
export type Check = () => string | undefined | Promise<string | undefined>;

/** `GET /readyz`: whether requests should be sent here, check by check. */
export function getReadiness(checks: Readonly<Record<string, Check>>): Handler {
  return async () => {
    const names = Object.keys(checks);
    const problems = await Promise.all(Object.values(checks).map((check) => check()));
    const ready = problems.every((problem) => problem === undefined);
    const body = {
      status: ready ? "ready" : "not ready",
      checks: Object.fromEntries(names.map((name, index) => [name, problems[index] ?? "ok"])),
    };
    return { status: ready ? 200 : 503, type: "application/json", body: JSON.stringify(body) };
  };
}

export function databaseCheck({ sql }: Database): Check {
  return async () => {
    try {
      await sql`SELECT 1`;
      return undefined;
    } catch {
      return "cannot be reached";
    }
  };
}
