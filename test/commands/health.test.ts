import { describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { findFreePort } from "../support/free-port.ts";
import { createStore, pds, serveUntilEnd, temporaryFolder, writeFiles } from "../support/pds.ts";

const DATABASE_URL = await createStore("sqlite");

describe("pds health", async () => {
  // Its only feed does not exist, so it is alive but not ready.
  const [PDS_CONFIG = ""] = await writeFiles(await temporaryFolder(), {
    "pds.toml": '[jobs.personalization-import]\nsource = "absent"\nschedule = "@yearly"\n',
  });
  const service = await serveUntilEnd({ DATABASE_URL, STALE_DATA: "fail", PDS_CONFIG });
  const PORT = new URL(service.url).port;

  test("succeeds while the service responds, whatever proxy is set", async () => {
    const HTTP_PROXY = "http://127.0.0.1:9";
    const asked = await pds(["health"], { PORT, HTTP_PROXY, http_proxy: HTTP_PROXY });
    expect(asked).toEqual({ code: 0, stdout: '200 {"status":"ok"}\n', stderr: "" });
  });

  test.each(["0.0.0.0", "localhost"])("finds a listener bound to %s", async (HOST) => {
    expect(await pds(["health"], { PORT, HOST })).toMatchObject({ code: 0 });
  });

  test("fails with --ready while the service is not ready, and says why", async () => {
    const { code, stdout } = await pds(["health", "--ready"], { PORT });
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/^503 .*"not ready"/) });
  });

  test("fails when nothing listens", async () => {
    const unused = await findFreePort();
    const { code, stdout, stderr } = await pds(["health"], { PORT: `${unused}` });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toStartWith(`pds: health: http://127.0.0.1:${unused}/livez: `);
  });

  test("fails when there is no response", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    try {
      const { port } = silent.address() as { port: number };
      const { code, stderr } = await pds(["health"], { PORT: `${port}` });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `pds: health: http://127.0.0.1:${port}/livez: no response within 5 s\n`,
      });
    } finally {
      silent.close();
    }
  });

  test("cannot know a port that the service picks", async () => {
    expect(await pds(["health"], { PORT: "0" })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("PORT is 0"),
    });
  });
});
