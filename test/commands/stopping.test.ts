import { expect, test } from "bun:test";
import { createStore } from "../support/pds.ts";
import { startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

test("an interrupt a second after the stop began ends the process at once", async () => {
  await using service = await startService({ DATABASE_URL: await createStore("sqlite"), DRAIN_SECONDS: "300" });
  service.process.kill("SIGTERM");
  await until("it stops", () => service.log().includes('"stopping"'));
  await until("it has ended", () => {
    service.process.kill("SIGINT");
    return service.process.exitCode !== null;
  });
  expect(await service.exited).toBe(130);
});

test("clients that never finish their requests do not keep the process from exiting", async () => {
  // Longer than a test may take.
  const environment = { DATABASE_URL: await createStore("sqlite"), IDLE_SECONDS: "200" };
  await using service = await startService(environment);
  const { hostname, port } = new URL(service.url);
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data: () => {} } });
  socket.write("GET /docs HTTP/1.1\r\nHost: shop\r\n");
  await Bun.sleep(500);
  expect((await service.end("SIGTERM")).code).toBe(0);
  socket.terminate();
});
