import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { ServiceError } from "../../src/base/errors.ts";
import { toBlockList } from "../../src/base/networks.ts";
import { settings } from "../../src/config/settings.ts";
import { clientAddress, toNetwork } from "../../src/http/client-network.ts";
import { toFailure } from "../../src/http/errors.ts";
import { FailureLog } from "../../src/http/failure-log.ts";
import { RateLimiter } from "../../src/http/rate-limiter.ts";
import { type Environment, isCampaign, pds, type RunningService, serve, temporaryFolder } from "../support/pds.ts";
import { createMemoryLog } from "../support/shopify.ts";
import { until } from "../support/until.ts";
import { Wire } from "../support/wire.ts";

const folder = await temporaryFolder();
const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, SHOP_DOMAIN: "shop.example" };
/** The runtime counts in steps of four seconds, and rounds one second down to nothing now and then. */
const idleSeconds = 5;
const perMinute = 5;

const [open, limited, behindProxy] = (await Promise.all(
  (
    [
      { IDLE_SECONDS: `${idleSeconds}`, TRUSTED_PROXIES: "127.0.0.1" },
      { RATE_LIMIT: `${perMinute}` },
      {
        RATE_LIMIT: `${perMinute}`,
        TRUSTED_PROXIES: "127.0.0.0/8, 10.0.0.0/8, 2001:db8::/32",
        SERVER_TIMING: "on",
        CACHE_HISTORIES: "no-store",
      },
    ] satisfies Environment[]
  ).map((more) => serve({ ...environment, ...more })),
)) as [RunningService, RunningService, RunningService];
afterAll(() => Promise.all([open, limited, behindProxy].map((service) => service.stop())));

const path = "/api/v1/histories";
const cacheablePath = "/openapi.json";
const uncacheablePath = "/api/v1/histories/asc";
const asking = (service: RunningService, client: string, of = path, init: RequestInit = {}) =>
  service.get(of, { ...init, headers: { "X-Forwarded-For": client } });
const statusesOf = async (service: RunningService, clients: readonly string[]) => {
  const statuses: number[] = [];
  for (const client of clients) statuses.push((await asking(service, client)).status);
  return statuses;
};
const allowed = Array.from({ length: perMinute }, () => 200);
const sixTimes = (client: string) => Array.from({ length: perMinute + 1 }, () => client);

describe("a client that exceeds the rate limit", () => {
  test("sees its remaining requests, and then gets a problem document that is not cached", async () => {
    const client = "192.0.2.1";
    for (let left = perMinute - 1; left >= 0; left--) {
      const { status, headers } = await asking(behindProxy, client, uncacheablePath);
      expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
      expect(headers.get("ratelimit-policy")).toBe(`"minute";q=${perMinute};w=60`);
      expect(headers.get("ratelimit")).toBe(`"minute";r=${left};t=12`);
    }
    for (const of of [path, "/api/v1/products/7", "/nowhere"]) {
      const response = await asking(behindProxy, client, of);
      expect(response.status).toBe(429);
      expect(response.headers.get("retry-after")).toBe("12");
      expect(response.headers.get("ratelimit-policy")).toBe(`"minute";q=${perMinute};w=60`);
      expect(response.headers.get("ratelimit")).toBe(`"minute";r=0;t=12`);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(await response.json()).toEqual({
        type: "about:blank",
        title: "Too Many Requests",
        status: 429,
        detail: "The rate limit of 5 requests per minute is exceeded.",
        request_id: response.headers.get("x-request-id"),
      });
    }
    // Other clients are not affected.
    expect((await asking(behindProxy, "192.0.2.2")).status).toBe(200);
  });

  test("does not see its remaining requests in a response that caches repeat to others", async () => {
    const unchanged = { "If-None-Match": "*", "X-Forwarded-For": "192.0.2.5" };
    const responses = [
      await asking(behindProxy, "192.0.2.5", cacheablePath),
      await asking(behindProxy, "192.0.2.5", cacheablePath, { method: "HEAD" }),
      await asking(behindProxy, "192.0.2.5", "/nowhere"),
      await behindProxy.get(cacheablePath, { headers: unchanged }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 404, 304]);
    for (const { headers } of responses) {
      expect(headers.get("cache-control")).toStartWith("public, ");
      expect(headers.has("ratelimit") || headers.has("ratelimit-policy")).toBeFalse();
    }
  });

  test("shares its allowance with its network, and with no other", async () => {
    const ofNetwork = ["2001:4860:1::1", "2001:4860:1::2", "2001:4860:1:0:ffff::", "2001:4860:1:0::"];
    expect(await statusesOf(behindProxy, [...ofNetwork, ...ofNetwork])).toEqual([...allowed, 429, 429, 429]);
    expect(await statusesOf(behindProxy, ["2001:4860:1:1::1"])).toEqual([200]);
  });

  test("may send preflights, and pages of other sites can read how long to wait", async () => {
    const client = "192.0.2.8";
    const preflight = {
      method: "OPTIONS",
      headers: { "X-Forwarded-For": client, Origin: "https://shop.example", "Access-Control-Request-Method": "GET" },
    };
    expect(await statusesOf(behindProxy, sixTimes(client))).toEqual([...allowed, 429]);
    for (let time = 0; time <= perMinute; time++) expect((await behindProxy.get(path, preflight)).status).toBe(204);
    const { headers } = await asking(behindProxy, client);
    expect(headers.get("access-control-expose-headers")).toBe("*");
    for (const name of ["retry-after", "ratelimit", "ratelimit-policy"]) expect(headers.has(name)).toBeTrue();
  });

  test("uses the same allowance with every method", async () => {
    const statuses: number[] = [];
    for (const method of ["HEAD", "GET", "HEAD", "POST", "GET", "HEAD"]) {
      statuses.push((await asking(behindProxy, "192.0.2.4", path, { method })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 405, 200, 429]);
  });

  test("is identified by its connection unless a proxy is trusted", async () => {
    const clients = ["192.0.2.1", "192.0.2.2", "127.0.0.1", "10.0.0.1", "2001:db8::1", "192.0.2.6"];
    expect(await statusesOf(limited, clients)).toEqual([...allowed, 429]);
  });

  test("may still send probes to both listeners", async () => {
    const client = "192.0.2.7";
    expect(await statusesOf(behindProxy, sixTimes(client))).toEqual([...allowed, 429]);
    for (const probe of ["/livez", "/readyz"]) {
      const headers = { "X-Forwarded-For": client };
      for (let time = 0; time <= perMinute; time++) {
        expect((await fetch(`${behindProxy.adminUrl}${probe}`, { headers })).status).toBe(200);
      }
      expect([probe, (await asking(behindProxy, client, probe)).status]).toEqual([probe, 200]);
    }
  });

  test("does not exist without a limit: no rate-limit headers are sent", async () => {
    for (let time = 0; time < 20; time++) {
      const { status, headers } = await asking(open, "192.0.2.1");
      expect(status).toBe(200);
      expect(headers.has("ratelimit") || headers.has("ratelimit-policy")).toBeFalse();
    }
  });
});

describe("an allowance", () => {
  test("may be used in one burst, and refills evenly", () => {
    const limiter = new RateLimiter(60);
    const take = (nowMs: number) => limiter.take("192.0.2.1", nowMs).isAllowed;
    const takeAll = (nowMs: number) => {
      let taken = 0;
      while (take(nowMs)) taken++;
      return taken;
    };
    expect(takeAll(0)).toBe(60);
    expect(take(400)).toBeFalse();
    expect(takeAll(1000)).toBe(1);
    expect(takeAll(6000)).toBe(5);
    expect(takeAll(10 * 60_000)).toBe(60);
    expect(limiter.take("192.0.2.2", 10 * 60_000)).toEqual({ isAllowed: true, remaining: 59, resetS: 1 });
  });

  test("is remembered for the 100,000 networks that were active last", () => {
    const limiter = new RateLimiter(1);
    for (let network = 0; network <= 100_000; network++) limiter.take(`network ${network}`, 0);
    expect(limiter.take("network 1", 0).isAllowed).toBeFalse();
    expect(limiter.take("network 0", 0).isAllowed).toBeTrue();
  });

  test("is never exceeded by more than a rounding error, and never withheld", () => {
    const steps = fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), steps, (rate, waits) => {
        const limiter = new RateLimiter(rate);
        const takenAt: number[] = [];
        let nowMs = 0;
        for (const waitMs of waits) {
          nowMs += waitMs;
          const { isAllowed, remaining, resetS } = limiter.take("192.0.2.1", nowMs);
          expect(remaining).toBeWithin(0, rate);
          expect(resetS).toBe(Math.ceil(60 / rate));
          const inLastMinute = takenAt.filter((at) => nowMs - at < 60_000).length;
          if (inLastMinute === 0) expect(isAllowed).toBeTrue();
          if (isAllowed) takenAt.push(nowMs);
        }
        for (const [index, from] of takenAt.entries()) {
          for (const [other, to] of takenAt.entries()) {
            if (other < index) continue;
            expect(other - index + 1).toBeLessThanOrEqual(rate + ((to - from) / 60_000) * rate + 1);
          }
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe("the address of a client", () => {
  const trustedProxies = toBlockList(settings.trustedProxies.parse("127.0.0.1, 10.0.0.0/8 ,::1,2001:db8::/32"));
  test.each<[about: string, connected: string, forwarded: string | null, expected: string]>([
    ["an untrusted connection", "203.0.113.1", "192.0.2.1", "203.0.113.1"],
    ["a proxy that says nothing", "127.0.0.1", null, "127.0.0.1"],
    ["a proxy that says an empty list", "127.0.0.1", "", "127.0.0.1"],
    ["a proxy", "127.0.0.1", "192.0.2.1", "192.0.2.1"],
    ["a proxy of a network", "10.255.0.1", "192.0.2.1", "192.0.2.1"],
    ["one beside the network", "11.0.0.1", "192.0.2.1", "11.0.0.1"],
    ["an IPv4 proxy dressed as IPv6", "::ffff:127.0.0.1", "192.0.2.1", "192.0.2.1"],
    ["a client dressed as IPv6", "127.0.0.1", "::FFFF:192.0.2.1", "192.0.2.1"],
    ["an IPv6 proxy", "::1", "192.0.2.1", "192.0.2.1"],
    ["an IPv6 proxy of a network", "2001:db8:ffff::1", "2001:4860::8888", "2001:4860::8888"],
    ["an untrusted IPv6 client", "2001:db9::1", "192.0.2.1", "2001:db9::1"],
    ["a chain", "::1", "192.0.2.1, 10.0.0.1, 10.0.0.2", "192.0.2.1"],
    ["a forged left part", "::1", "10.0.0.9, 127.0.0.1, 192.0.2.1, 10.0.0.2", "192.0.2.1"],
    ["a forged trusted client", "203.0.113.1", "127.0.0.1", "203.0.113.1"],
    ["proxies alone", "::1", "10.0.0.1, 10.0.0.2", "10.0.0.1"],
    ["junk on the right", "::1", "192.0.2.1, nonsense", "::1"],
    ["junk behind a proxy", "::1", "unknown, 10.0.0.1", "10.0.0.1"],
    ["junk on the left", "::1", "nonsense, 192.0.2.1", "192.0.2.1"],
    ["an address that is none", "::1", "256.1.1.1", "::1"],
    ["spaces", "::1", "  192.0.2.1   ,10.0.0.1 ,  10.0.0.2  ", "192.0.2.1"],
    ["an empty part", "::1", "192.0.2.1,, 10.0.0.1", "10.0.0.1"],
    ["an unknown connection", "", "192.0.2.1", ""],
  ])("is found: %s", (_, connected, forwarded, expected) => {
    expect(clientAddress(connected, forwarded, trustedProxies)).toBe(expected);
  });

  test.each<[address: string, ipv4: number, ipv6: number, network: string]>([
    ["192.0.2.1", 32, 64, "192.0.2.1"],
    ["192.0.2.130", 25, 64, "192.0.2.128/25"],
    ["192.0.2.130", 24, 64, "192.0.2.0/24"],
    ["203.0.113.9", 1, 64, "128.0.0.0/1"],
    ["2001:db8:1:2:3:4:5:6", 32, 64, "2001:db8:1:2::/64"],
    ["2001:0DB8:1:02::6", 32, 64, "2001:db8:1:2::/64"],
    ["2001:db8:1:2:3:4:5:6", 32, 48, "2001:db8:1::/48"],
    ["2001:db8:1:ffff::", 32, 56, "2001:db8:1:ff00::/56"],
    ["2001:db8::6", 32, 64, "2001:db8:0:0::/64"],
    ["::1", 32, 64, "0:0:0:0::/64"],
    ["fe80::1%eth0", 32, 64, "fe80:0:0:0::/64"],
    ["64:ff9b::192.0.2.1", 32, 128, "64:ff9b:0:0:0:0:c000:201::/128"],
    ["", 24, 64, ""],
  ])("belongs to a network: %s with %d and %d bits to %s", (address, clientPrefixIpv4, clientPrefixIpv6, network) => {
    expect(toNetwork(address, { clientPrefixIpv4, clientPrefixIpv6 })).toBe(network);
  });

  test("cannot be chosen by an untrusted client", () => {
    const untrusted = fc.ipV4().filter((address) => !/^(10|127)\./.test(address));
    const proxy = fc.ipV4().map((address) => address.replace(/^\d+/, "10"));
    const anything = fc.oneof(
      untrusted,
      proxy,
      fc.ipV6(),
      fc.string().map((text) => text.replaceAll(",", "")),
    );
    fc.assert(
      fc.property(fc.array(anything), untrusted, fc.array(proxy, { minLength: 1 }), (forged, client, proxies) => {
        const [last = "", ...others] = proxies.toReversed();
        const forwarded = [...forged, client, ...others.toReversed()].join(", ");
        expect(clientAddress(last, forwarded, trustedProxies)).toBe(client);
        expect(clientAddress(client, forwarded, trustedProxies)).toBe(client);
      }),
    );
  });

  test("of a proxy is validated, and an invalid setting is named", async () => {
    const junk = ["10.0.0.0/33", "::/129", "proxy.example", "10.0.0", "10.0.0.0/-1", "10.0.0.0/", "1.2.3.4 5.6.7.8"];
    for (const text of junk) expect(() => settings.trustedProxies.parse(text)).toThrow(/^expected IP addresses or/);
    const { code, stderr } = await pds(["config"], { TRUSTED_PROXIES: "10.0.0.0/33" });
    expect(code).toBe(2);
    expect(stderr).toContain("TRUSTED_PROXIES: expected IP addresses or networks such as 10.0.0.0/8");
  });
});

describe("Server-Timing", () => {
  test("gives the duration of every response if enabled", async () => {
    for (const [index, of] of [path, "/nowhere", "/docs", "/livez"].entries()) {
      const { headers } = await asking(behindProxy, `192.0.2.${100 + index}`, of);
      expect(headers.get("server-timing")).toMatch(/^total;dur=\d+\.\d\d$/);
      expect((await open.get(of)).headers.has("server-timing")).toBeFalse();
    }
  });
});

describe("the log of failed requests", () => {
  const [traceId, parentId] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
  const context = `${traceId}-${parentId}`;
  const zeros = (length: number) => "0".repeat(length);
  test.each<[about: string, header: string, isTaken: boolean]>([
    ["a right one", `00-${context}-01`, true],
    ["one that is not sampled", `00-${context}-00`, true],
    ["one of a later version", `01-${context}-01`, true],
    ["one of a later version with more", `cc-${context}-01-what-comes`, true],
    ["one of a version that cannot be", `ff-${context}-01`, false],
    ["one in upper case", `00-${context.toUpperCase()}-01`, false],
    ["a trace of zeros", `00-${zeros(32)}-${parentId}-01`, false],
    ["a parent of zeros", `00-${traceId}-${zeros(16)}-01`, false],
    ["one cut short", `00-${context}`, false],
    ["one with more digits", `00-${context}-0123`, false],
    ["one without a version", `${context}-01`, false],
    ["a shorter trace", `00-${traceId.slice(1)}-${parentId}-01`, false],
    ["junk", "nonsense", false],
  ])("reads the trace context from %s", async (about, traceparent, isTaken) => {
    const reference = about.replaceAll(" ", "-");
    const { status } = await open.get("/nowhere", { headers: { traceparent, "X-Request-Id": reference } });
    expect(status).toBe(404);
    let line: string | undefined;
    await until("it is written", () => {
      const lines = open.log().split("\n").slice(0, -1);
      line = lines.find((text) => text.includes(`"clientRequestId":"${reference}"`));
      return line !== undefined;
    });
    const { traceId: trace, parentId: parent, ...rest } = JSON.parse(line ?? "");
    expect([trace, parent]).toEqual(isTaken ? [traceId, parentId] : [undefined, undefined]);
    expect(rest).toMatchObject({ clientRequestId: reference, method: "GET", path: "/nowhere", status: 404 });
  });

  test("holds at most 100 lines per second, and counts the skipped ones", async () => {
    const { log, lines } = createMemoryLog();
    const failures = new FailureLog(log);
    const failure = new ServiceError("not_found", "This route does not exist.");
    const fail = (count: number) => {
      for (let each = 0; each < count; each++) {
        failures.write(toFailure(failure), failure, new Request("http://x/nowhere"), "reference");
      }
    };
    const taken = () => lines.splice(0).map((line) => JSON.parse(line) as { skipped?: number });
    fail(100);
    expect(taken()).toHaveLength(100);
    fail(40);
    expect(taken()).toEqual([]);
    // The count is logged without another request, which may come hours later.
    await until("the second is over", () => lines.length > 0);
    expect(taken()).toEqual([expect.objectContaining({ level: 40, skipped: 40 })]);
    // The next second counts anew.
    fail(101);
    expect(taken()).toHaveLength(100);
    await until("the next second is over", () => lines.length > 0);
    expect(taken()).toEqual([expect.objectContaining({ skipped: 1 })]);
  });

  test("shortens a long path", async () => {
    await open.get(`/long/${"x".repeat(5000)}`);
    await until("it is written", () => open.log().includes('"path":"/long/'));
    const [, logged = ""] = open.log().match(/"path":"(\/long\/x+)"/) ?? [];
    expect(logged).toHaveLength(500);
  });
});

interface Talk {
  readonly said: string;
  /**
   * When the other side closed the connection, after the last thing was sent; undefined when it did
   * not.
   */
  readonly closedAfterMs: number | undefined;
}

interface Way {
  /** How long to listen; by default until the other side closes. */
  readonly listenMs?: number;
  readonly pauseMs?: number;
}

/** Sends text as it is, piece after piece, and listens. */
async function talk(pieces: readonly string[], { listenMs, pauseMs = 0 }: Way = {}): Promise<Talk> {
  const wire = await Wire.open(open.url);
  let sentAt = performance.now();
  for (const piece of pieces) {
    if (wire.isClosed) break;
    sentAt = performance.now();
    wire.write(piece);
    if (pauseMs > 0) await Bun.sleep(pauseMs);
  }
  if (listenMs === undefined) await wire.untilClosed();
  else await wire.receive(() => false, listenMs);
  const closedAfterMs = wire.isClosed ? performance.now() - sentAt : undefined;
  wire.end();
  return { said: wire.bytes.toString(), closedAfterMs };
}

const host = "Host: shop.example\r\n";
const last = "Connection: close\r\n";
const statusLines = (said: string) => [...said.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

// Takes seconds, so it runs next to the other tests.
const idle = talk([`GET /livez HTTP/1.1\r\n${host}\r\n`]);

describe("a connection", () => {
  test("gets its responses in order, each with its own reference", async () => {
    const paths = ["/livez", "/nowhere", "/api/v1/histories", "/api/v1/products/1"];
    const requests = paths.map((of) => `GET ${of} HTTP/1.1\r\n${host}${of === paths.at(-1) ? last : ""}\r\n`);
    const { said } = await talk([requests.join("")]);
    expect(statusLines(said)).toEqual([200, 404, 200, 404]);
    const references = [...said.matchAll(/^x-request-id: (\S+)/gim)].map(([, reference]) => reference);
    // Nothing refers to the first.
    expect(new Set(references).size).toBe(3);
    const quoted = [...said.matchAll(/([\da-f-]{23})"}/g)].map(([, reference]) => reference);
    expect(quoted).toEqual([references[0], references[2]]);
  });

  test("of HTTP/1.0 is closed after the response", async () => {
    const { said, closedAfterMs } = await talk(["GET /livez HTTP/1.0\r\n\r\n"]);
    expect(said).toEndWith('{"status":"ok"}');
    expect(closedAfterMs).toBeNumber();
  });

  test("is closed on request, and otherwise kept open", async () => {
    const request = `GET /livez HTTP/1.1\r\n${host}`;
    expect((await talk([`${request}${last}\r\n`])).closedAfterMs).toBeNumber();
    expect((await talk([`${request}\r\n`], { listenMs: 200 })).closedAfterMs).toBeUndefined();
  });

  test("gets a 304 without headers of a body", async () => {
    const { said } = await talk([`GET /docs HTTP/1.1\r\n${host}If-None-Match: *\r\n${last}\r\n`]);
    expect(said).toStartWith("HTTP/1.1 304 ");
    expect(said).toEndWith("\r\n\r\n");
    expect(said).not.toMatch(/^(content|transfer)-\w+:/im);
  });

  test("may send a request in parts", async () => {
    const pieces = ["GET /li", "vez HTTP/1.1\r\nHo", `st: shop.example\r\n${last.trimEnd()}\r`, "\n\r", "\n"];
    expect(statusLines((await talk(pieces, { pauseMs: 20 })).said)).toEqual([200]);
  });

  test("is closed after the idle timeout", async () => {
    const { said, closedAfterMs } = await idle;
    expect(statusLines(said)).toEqual([200]);
    expect(closedAfterMs).toBeGreaterThan(3000);
  });

  test.skipIf(!isCampaign)("is closed if it never completes its request", async () => {
    const withBody = `POST /livez HTTP/1.1\r\n${host}Content-Length: 10\r\n\r\nab`;
    const talks = ["", "GET", `GET /livez HTTP/1.1\r\n${host}`, withBody].map((begun) => talk([begun]));
    for (const { closedAfterMs } of await Promise.all(talks)) expect(closedAfterMs).toBeWithin(0, 14_000);
    // Also if it keeps sending small parts.
    const drops = Array.from({ length: 40 }, (_, index) => `X-${index}: y\r\n`);
    const { said, closedAfterMs } = await talk([`GET /livez HTTP/1.1\r\n${host}`, ...drops], { pauseMs: 500 });
    expect([said, typeof closedAfterMs]).toEqual(["", "number"]);
  });
});
