import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { BunRequest } from "bun";
import type { ServiceError } from "../../src/base/errors.ts";
import { sha256 } from "../../src/base/hash.ts";
import { prepareResponse } from "../../src/cache/response.ts";
import type { RequestOrigin } from "../../src/http/client-network.ts";
import { type AccessOptions, anonymous, createAccess } from "../../src/operators/access.ts";
import { requireSameOrigin } from "../../src/operators/form.ts";
import { TokenCheck } from "../../src/operators/token-check.ts";
import { listTokens } from "../../src/operators/tokens.ts";
import { pds, root, serve, serveUntilEnd, temporaryFolder } from "../support/pds.ts";
import { until } from "../support/until.ts";
import { parseResponse, Wire, type WireResponse } from "../support/wire.ts";

const environment = {
  DATABASE_URL: `sqlite:${join(await temporaryFolder(), "pds.sqlite")}`,
  SHOP_DOMAIN: "test-shop.example",
};
await pds(["import", "products", join(root, "sample", "products.ndjson")], environment);
const token = "correct-horse-battery";
const [open, guarded] = await Promise.all([
  serveUntilEnd(environment),
  serveUntilEnd({
    ...environment,
    ADMIN_TOKEN: token,
    ADMIN_HOSTS: "pds.internal.example, [2001:DB8::1]",
    CDN: "generic",
    TRUSTED_PROXIES: "127.0.0.1,::1",
  }),
]);

/** Sends a request line and headers unchanged, and reads until the connection closes. */
async function send(base: string, requestLine: string, ...fields: string[]): Promise<WireResponse> {
  const wire = await Wire.open(base);
  wire.write([requestLine, ...fields, "Connection: close", "", ""].join("\r\n"));
  return parseResponse(await wire.untilClosed()) ?? expect.unreachable("no whole response came");
}

const guardedPaths = ["/", "/metrics", "/products?q=plate", "/nothing"];
const accepts = ["Accept: application/json", "Accept: text/html"];

describe("the admin listener without a token", () => {
  test.each<[about: string, status: number, hosts: string[]]>([
    ["local hosts", 200, ["localhost", "LocalHost:3001", "127.0.0.1", "127.0.0.1:65535", "127.3.2.1:80"]],
    ["local hosts in IPv6", 200, ["[::1]", "[::1]:3001"]],
    ["foreign names", 421, ["rebound.example:3001", "localhost.example", "127.0.0.1.example", "example.localhost"]],
    ["local hosts with a dot at the end", 421, ["localhost.", "127.0.0.1."]],
    ["foreign addresses", 421, ["192.0.2.1", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]"]],
    // A URL parser reads these as 127.0.0.1; browsers send the full form.
    ["short forms of addresses", 421, ["127.1", "0x7f.0.0.1", "2130706433"]],
    ["lists of hosts", 400, ["127.0.0.1, evil", "127.0.0.1,127.0.0.1", "localhost evil.example"]],
    ["other parts of a URL", 400, ["evil.example@localhost", "localhost/evil.example", "http://localhost"]],
    ["a query or a fragment", 400, ["localhost?evil.example", "localhost#evil.example"]],
    ["invalid names", 400, ["a{b.evil.example", "%6cocalhost", "lôcalhost", ""]],
    ["invalid ports", 400, ["localhost:", "localhost:80:80", "localhost:123456", "localhost:evil"]],
    ["invalid addresses", 400, ["[::1", "[::1]evil", "[:::1]", "::1", "127.0.0.256"]],
  ])("responds to %s with %i and without a stack trace", async (_, status, hosts) => {
    for (const host of hosts) {
      for (const path of guardedPaths) {
        for (const accept of accepts) {
          const answer = await send(open.adminUrl, `GET ${path} HTTP/1.1`, `Host: ${host}`, accept);
          const expected = status === 200 && path === "/nothing" ? 404 : status;
          expect([host, path, answer.status]).toEqual([host, path, expected]);
          if (status !== 200) {
            expect(answer.headers.get("cache-control")).toBe("private, no-store");
            expect(answer.body.toString()).not.toMatch(/pds_|TypeError|\.tsx?:\d|Larkspur/);
          }
        }
      }
      // Probes are open to every valid host.
      for (const probe of status === 400 ? [] : ["/livez", "/readyz"]) {
        const answer = await send(open.adminUrl, `GET ${probe} HTTP/1.1`, `Host: ${host}`);
        expect([host, probe, answer.status]).toEqual([host, probe, 200]);
      }
    }
  });

  test.each<[about: string, requestLine: string, fields: string[], status: number]>([
    ["no host", "GET / HTTP/1.0", [], 400],
    ["two hosts, its own first", "GET / HTTP/1.1", ["Host: localhost", "Host: evil.example"], 400],
    ["two hosts, its own last", "GET / HTTP/1.1", ["Host: evil.example", "Host: localhost"], 400],
    ["the same host twice", "GET / HTTP/1.1", ["Host: localhost", "Host: localhost"], 400],
    ["its own address and another host", "GET http://localhost/ HTTP/1.1", ["Host: evil.example"], 421],
    ["its own address and no host", "GET http://localhost/ HTTP/1.0", [], 400],
    ["its own address and host", "GET http://localhost/ HTTP/1.1", ["Host: localhost"], 200],
    ["its host forwarded", "GET / HTTP/1.1", ["Host: evil.example", "X-Forwarded-Host: localhost"], 421],
  ])("responds to a request with %s with the right status", async (_, requestLine, fields, status) => {
    expect((await send(open.adminUrl, requestLine, ...fields)).status).toBe(status);
  });

  test("logs an invalid host without a stack trace", async () => {
    // A separate service, because only some failures per second are logged.
    await using service = await serve(environment);
    const response = await send(service.adminUrl, "GET / HTTP/1.1", "Host: localhost:99999");
    const reference = response.headers.get("x-request-id") ?? "";
    await until("the failure is logged", () => service.log().includes(reference));
    const line = service
      .log()
      .split("\n")
      .find((each) => each.includes(reference));
    expect(JSON.parse(line ?? "")).toMatchObject({ status: 400, path: "/" });
    expect(line).not.toMatch(/"(err|stack)"/);
  });
});

test("the admin listener with a token accepts only the hosts of the settings", async () => {
  const authorization = `Authorization: Bearer ${token}`;
  for (const [status, hosts] of [
    [200, ["pds.internal.example", "PDS.Internal.Example:3001", "[2001:db8::1]:3001", "localhost"]],
    [421, ["rebound.example", "other.pds.internal.example", "pds.internal.example.", "192.0.2.1"]],
    [400, ["a{b.evil.example", "[::1", "localhost:99999"]],
  ] as const) {
    for (const [host, path] of hosts.flatMap((host) => ["/", "/metrics"].map((path) => [host, path]))) {
      const answer = await send(guarded.adminUrl, `GET ${path} HTTP/1.1`, `Host: ${host}`, authorization);
      expect([host, path, answer.status]).toEqual([host, path, status]);
      if (status === 421) expect(`${answer.body}`).toContain("add it to ADMIN_HOSTS");
    }
  }
});

describe("access", () => {
  const noteWrong = () => {};
  const noSessions = { find: () => undefined };
  const given = {
    tokens: new TokenCheck([], noteWrong),
    sessions: noSessions,
    everybody: anonymous,
    boundTo: "127.0.0.1",
    hosts: [],
    networkOf: () => "192.0.2.1",
  };
  const ok = prepareResponse({ type: "text/plain", body: "" });
  /** The code of the failure; undefined if the request reaches the handler. */
  const createAttempt = (options: Partial<AccessOptions>) => {
    const handler = createAccess({ ...given, ...options }).protect(() => ok);
    return (headers: Record<string, string>, from?: string) => {
      const request = new Request("http://localhost/", { headers: { Host: "localhost", ...headers } });
      // Where a request comes from is of the network, and `networkOf` decides it here.
      const origin = { request, server: { requestIP: () => (from === undefined ? null : { address: from }) } };
      try {
        expect(handler(request as BunRequest, 0, origin)).toBe(ok);
        return undefined;
      } catch (error) {
        return error as ServiceError;
      }
    };
  };

  test.each<[boundTo: string, accepted: string[], refused: string[]]>([
    ["127.0.0.1", ["localhost", "127.0.0.1:1", "[::1]"], ["192.0.2.1", "[2001:db8::1]", "pds.example", "0.0.0.0"]],
    ["192.0.2.1", ["192.0.2.1", "192.0.2.1:3001", "localhost"], ["192.0.2.2", "pds.example"]],
    ["2001:DB8::1", ["[2001:db8::1]:3001", "localhost"], ["[2001:db8::2]", "pds.example"]],
    ["Admin.Example", ["admin.example"], ["192.0.2.1", "rebound.example"]],
    // Behind a mapped port, only the client knows the address.
    ["0.0.0.0", ["192.0.2.1:3001", "[2001:db8::1]", "localhost"], ["pds.example", "192.0.2.1.example"]],
    ["::", ["192.0.2.1:3001", "[2001:db8::1]", "localhost"], ["pds.example", "rebound.example"]],
  ])("to a listener on %s has the hosts %p, but not %p", (boundTo, accepted, refused) => {
    const attempt = createAttempt({ boundTo });
    for (const host of accepted) expect([host, attempt({ Host: host })]).toEqual([host, undefined]);
    for (const host of refused) expect([host, attempt({ Host: host })?.code]).toEqual([host, "misdirected"]);
  });

  test("is refused to a network for a while after ten wrong tokens, also with the right one", () => {
    const networkOf = (origin: RequestOrigin) => origin.server.requestIP(origin.request)?.address ?? "";
    const tokens = new TokenCheck(listTokens({ adminToken: token, tokens: [] }), noteWrong);
    const attempt = createAttempt({ tokens, networkOf });
    const right = { Authorization: `Bearer ${token}` };
    const guess = { Authorization: "Bearer wrong" };
    // A browser first asks without a token.
    for (let count = 0; count < 50; count++) expect(attempt({}, "one")?.code).toBe("unauthorized");
    for (let count = 0; count < 10; count++) {
      expect(attempt(right, "one")).toBeUndefined();
      expect(attempt(guess, "one")?.code).toBe("unauthorized");
    }
    for (const headers of [guess, right, {}]) {
      expect(attempt(headers, "one")).toMatchObject({ code: "too_many_requests", retryAfterS: 6 });
    }
    expect(attempt(right, "another")).toBeUndefined();
  });

  test("is granted to a generated token, whatever others of its network guess", () => {
    const generated = `pds_${"A".repeat(43)}`;
    const known = listTokens({ adminToken: generated, tokens: [] });
    const attempt = createAttempt({ tokens: new TokenCheck(known, noteWrong) });
    const guess = { Authorization: `Bearer pds_${"B".repeat(43)}` };
    for (let count = 0; count < 11; count++) attempt(guess);
    expect(attempt(guess)?.code).toBe("too_many_requests");
    expect(attempt({ Authorization: `Bearer ${generated}` })).toBeUndefined();
    expect(attempt({ Authorization: `Basic ${btoa(`:${generated}`)}` })).toBeUndefined();
    expect(attempt({ Authorization: "Bearer x" })?.code).toBe("too_many_requests");
  });

  test("is closed to an empty token", () => {
    const known = { name: "ann", role: "operate", sha256: sha256("") } as const;
    const attempt = createAttempt({ tokens: new TokenCheck([known], noteWrong) });
    for (const given of ["Bearer", "Bearer ", "Basic", "Digest x", `Basic ${btoa("ann:")}`]) {
      expect([given, attempt({ Authorization: given })?.code]).toEqual([given, "unauthorized"]);
    }
  });

  test("has a limit of sign-ins for each operator, as each is stored", () => {
    const tokens = new TokenCheck(listTokens({ adminToken: token, tokens: [] }), noteWrong);
    const signIn = (count: number) => tokens.findToSignIn(token, `192.0.2.${count}`);
    for (let count = 0; count < 30; count++) expect(signIn(count)?.name).toBe("ADMIN_TOKEN");
    // The allowance grows meanwhile.
    const signInUntilRefused = () => {
      for (let count = 0; count < 1000; count++) signIn(count);
    };
    expect(signInUntilRefused).toThrow("ADMIN_TOKEN signs in too often.");
  });

  test.each([
    [{ origin: "http://pds.example", host: "pds.example" }, true],
    [{ origin: "http://pds.example", host: "PDS.example:80" }, true],
    [{ origin: "https://pds.example", host: "pds.example:443" }, true],
    [{ origin: "http://pds.example:8080", host: "pds.example" }, false],
    [{ origin: "http://pds.example", host: "pds.example:8080" }, false],
    [{ origin: "https://evil.example", host: "pds.example" }, false],
    [{ origin: "null", host: "pds.example" }, false],
    [{ origin: "null", host: "null" }, false],
    [{ origin: "file://", host: "" }, false],
    [{ origin: "http://pds.example", host: "pds.example", "sec-fetch-site": "same-site" }, false],
  ])("accepts a form with %j: %p", (headers, isAccepted) => {
    const check = () => requireSameOrigin(new Request("http://localhost/", { headers }));
    if (isAccepted) expect(check).not.toThrow();
    else expect(check).toThrow("This form was sent from another");
  });
});

test("responses of the admin listener are hidden from other sites and shared caches", async () => {
  const requests: [base: string, method: string, path: string, status: number, headers?: Record<string, string>][] = [
    [open.adminUrl, "GET", "/", 200],
    [open.adminUrl, "GET", "/metrics", 200],
    [open.adminUrl, "GET", "/console/style.css", 200],
    [open.adminUrl, "GET", "/livez", 200],
    [open.adminUrl, "GET", "/readyz", 200],
    [open.adminUrl, "GET", "/nothing", 404],
    [open.adminUrl, "GET", "/products/x", 404],
    [open.adminUrl, "GET", "/", 421, { Host: "rebound.example" }],
    [open.adminUrl, "GET", "/", 400, { Host: "a{b.evil.example" }],
    [open.adminUrl, "POST", "/", 405],
    // Without a token, the console is read-only.
    [open.adminUrl, "POST", "/actions/pause", 403],
    [open.adminUrl, "OPTIONS", "/", 204],
    [open.adminUrl, "OPTIONS", "/livez", 204],
    [open.adminUrl, "OPTIONS", "/nothing", 204],
    [guarded.adminUrl, "GET", "/", 401],
    [guarded.adminUrl, "GET", "/metrics", 401],
    [guarded.adminUrl, "OPTIONS", "/metrics", 204],
    [guarded.adminUrl, "GET", "/metrics", 200, { Authorization: `Bearer ${token}` }],
  ];
  for (const [base, method, path, status, more] of requests) {
    const headers = { Host: "localhost", Origin: "https://evil.example", ...more };
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const answer = await send(base, `${method} ${path} HTTP/1.1`, ...fields, "Access-Control-Request-Method: GET");
    const sharing = [...answer.headers.keys()].filter((name) => /^(access-control-|cdn-)/.test(name));
    expect([method, path, answer.status, sharing]).toEqual([method, path, status, []]);
    expect([path, answer.headers.get("cache-control")]).toEqual([
      path,
      path.endsWith(".css") ? "private, no-cache" : "private, no-store",
    ]);
    expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(answer.headers.get("referrer-policy")).toBe("same-origin");
    if (method === "OPTIONS") expect(answer.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
  }
  const stored = ["Host: localhost", "If-None-Match: *"];
  const unchanged = await send(open.adminUrl, "GET /console/style.css HTTP/1.1", ...stored);
  expect([unchanged.status, unchanged.headers.get("cache-control")]).toEqual([304, "private, no-cache"]);
  expect(unchanged.headers.has("cross-origin-resource-policy")).toBeFalse();
  // The public listener allows every origin.
  for (const path of ["/readyz", "/nothing"]) {
    expect((await open.get(path)).headers.get("access-control-allow-origin")).toBe("*");
  }
});

test("the public listener accepts only a valid host, and its refusal is not cached", async () => {
  for (const path of ["/example?variant=1", "/api/v1/histories", "/docs", "/readyz"]) {
    for (const [host, status] of [
      ["shop.example", 200],
      ["localhost:99999", 200],
      ["a{b.evil.example", 400],
      ["[::1", 400],
      ["a, b", 400],
      ["", 400],
    ] as const) {
      const answer = await send(open.url, `GET ${path} HTTP/1.1`, `Host: ${host}`);
      expect([path, host, answer.status]).toEqual([path, host, status]);
      if (status === 400) expect(answer.headers.get("cache-control")).toBe("no-store");
    }
  }
});

test("wrong tokens get 401, and after ten of them 429", async () => {
  const statuses: number[] = [];
  for (let count = 0; count < 15; count++) {
    const response = await fetch(`${guarded.adminUrl}/metrics`, {
      // Another network than that of other tests, because it uses up what its network may get wrong.
      headers: { Authorization: `Bearer wrong-${count}`, "X-Forwarded-For": "198.51.100.7" },
    });
    statuses.push(response.status);
    if (response.status === 429) expect(response.headers.get("retry-after")).toBe("6");
  }
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  expect(statuses.filter((status) => status === 401).length).toBeWithin(10, 15);
  expect((await fetch(`${guarded.adminUrl}/readyz`)).status).toBe(200);
});
