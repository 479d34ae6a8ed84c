import { expect, test } from "bun:test";
import { createStore } from "../support/pds.ts";
import { startService } from "../support/service-process.ts";

test("an interrupt during a stop ends the process at once", async () => {
  await using service = await startService({ DATABASE_URL: await createStore("sqlite"), DRAIN_SECONDS: "300" });
  service.process.kill("SIGTERM");
  await Bun.sleep(1500);
  service.process.kill("SIGINT");
  expect(await service.exited).toBe(130);
});

test("clients that never finish their requests delay the exit by less than five seconds", async () => {
  await using service = await startService({ DATABASE_URL: await createStore("sqlite") });
  const { hostname, port } = new URL(service.url);
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data: () => {} } });
  socket.write("GET /docs HTTP/1.1\r\nHost: shop\r\n");
  await Bun.sleep(500);
  const { code, tookMs } = await service.end("SIGTERM");
  socket.terminate();
  expect(code).toBe(0);
  // The limit is four seconds; a busy machine adds some.
  expect(tookMs).toBeLessThan(9000);
});
