import { expect, test } from "bun:test";
import { readConfig } from "../../src/config/index.ts";
import { toWorkerConfig } from "../../src/service/workers.ts";

test("workers share the lookups of their service, and run no jobs", () => {
  const config = readConfig({ PDS_CONFIG: "/dev/null", LOOKUPS_PER_MINUTE: "10" });
  expect(toWorkerConfig(config, 4)).toEqual({ ...config, lookupsPerMinute: 3, scheduler: "off" });
});
