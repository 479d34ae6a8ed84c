import { expect, test } from "bun:test";
import { findFreePort } from "../support/free-port.ts";
import { createMigratedStore } from "../support/pds.ts";
import { readMetric, startService } from "../support/service-process.ts";

// Only Linux spreads the connections to a port over its listeners.
test.if(process.platform === "linux")("replicas on one port share its connections", async () => {
  const DATABASE_URL = await createMigratedStore("sqlite");
  const environment = { DATABASE_URL, PORT: `${await findFreePort()}`, REUSE_PORT: "on" };
  await using one = await startService(environment);
  await using two = await startService(environment);
  expect(two.url).toBe(one.url);
  expect(two.adminUrl).not.toBe(one.adminUrl);
  for (let count = 0; count < 40; count++) await fetch(`${one.url}/api/v1/histories`, { keepalive: false });
  const count = "pds_http_request_duration_seconds_count";
  const served = await Promise.all([one, two].map((each) => readMetric(each, count, 'route="/api/v1/histories"')));
  expect(served[0]).toBeGreaterThan(0);
  expect(served[1]).toBeGreaterThan(0);
  expect((served[0] ?? 0) + (served[1] ?? 0)).toBe(40);
  await one.end("SIGTERM");
  expect((await fetch(`${two.url}/livez`)).status).toBe(200);
});
