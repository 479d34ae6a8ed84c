import { afterAll } from "bun:test";

/** Starts a server that takes every request and never answers, so that clients hang, until the tests of the file end. */
export function startSilence() {
  const fetch = () => new Promise<Response>(() => {});
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch });
  afterAll(() => server.stop(true));
  return server;
}
