import { get } from "node:http";
import { ServiceError } from "../base/errors.ts";
import { readConfig } from "../config/index.ts";
import type { Values } from "./common.ts";
import { print } from "./output.ts";

const timeoutMs = 5000;

export async function health(values: Values): Promise<boolean> {
  const { host, port } = readConfig(process.env);
  if (port === 0) throw new ServiceError("unavailable", "health: PORT is 0, so the port of the service is unknown");
  const url = `http://${reachable(host)}:${port}${values.ready === true ? "/readyz" : "/livez"}`;
  const { status, body } = await request(url).catch((cause: Error) => {
    const reason = cause.name === "TimeoutError" ? `no response within ${timeoutMs / 1000} s` : cause.message;
    throw new ServiceError("unavailable", `health: ${url}: ${reason}`, { cause });
  });
  print(`${status} ${body}`);
  return status === 200;
}

/** `fetch` would use a proxy. */
function request(url: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    signal.addEventListener("abort", () => reject(signal.reason));
    const sent = get(url, { signal, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode, body }));
      response.on("error", reject);
    });
    sent.on("error", reject);
  });
}

/** Replaces a wildcard address. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
