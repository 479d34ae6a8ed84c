import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import { createFetch, type FetchOptions } from "../../src/base/outgoing.ts";
import { certificate, certificateKey } from "../support/certificate.ts";
import { root } from "../support/pds.ts";
import { startServer } from "../support/server.ts";

interface Received {
  readonly request: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const received: Received[] = [];
const origin = startServer(async (request) => {
  const { pathname, searchParams } = new URL(request.url);
  received.push({
    request: `${request.method} ${pathname}`,
    headers: request.headers.toJSON(),
    body: await request.text(),
  });
  const location = pathname === "/loop" ? pathname : searchParams.get("to");
  if (location === null) return new Response("here");
  return new Response(null, { status: Number(searchParams.get("status") ?? 302), headers: { Location: location } });
});

const { port } = new URL(origin);
const refused = /link-local or metadata address; nothing is sent there unless ALLOWED_LINK_LOCAL lists it$/;
const takeReceived = () => received.splice(0);

/** Requests with names that lead to these addresses. */
const fetchWith = (...addresses: string[]) => createFetch({ lookup: async () => addresses });
const signal = new AbortController().signal;

test.each([
  "169.254.169.254",
  "169.254.0.1:80",
  "2852039166",
  "0xa9fea9fe",
  "0xA9.0xFE.0xA9.0xFE",
  "0251.0376.0251.0376",
  "169.254.43518",
  "169.254.169.254.",
  "１６９。２５４。１６９。２５４",
  "[::ffff:169.254.169.254]",
  "[::ffff:a9fe:a9fe]",
  "[0:0:0:0:0:ffff:a9fe:a9fe]",
  "[::169.254.169.254]",
  "[::ffff:0:169.254.169.254]",
  "[64:ff9b::169.254.169.254]",
  "[64:ff9b:1::169.254.169.254]",
  "[64:ff9b:1:a9fe:a9:fe00::]",
  "[64:ff9b:1:6464:64:c800::]",
  "[2002:a9fe:a9fe::1]",
  "[2002:6464:64c8::1]",
  "192.0.0.192",
  "[fe80::1]",
  "[febf::1]",
  "[fd00:ec2::254]",
  "[fd20:ce::254]",
  "100.100.100.200",
  "[::ffff:100.100.100.200]",
  "168.63.129.16",
])("nothing is sent to %s", async (host) => {
  await expect(createFetch()(`http://${host}/latest/meta-data/`, { signal })).rejects.toThrow(refused);
  await expect(createFetch()(`https://${host}/`, { signal })).rejects.toThrow(refused);
});

describe("a name", () => {
  test.each([
    [["169.254.169.254"]],
    [["fe80::1"]],
    [["fe80::1%2"]],
    [["::ffff:169.254.169.254"]],
    // Any other of its addresses may be used the next time.
    [["127.0.0.1", "169.254.169.254"]],
  ])("that leads to %p gets nothing", async (addresses) => {
    await expect(fetchWith(...addresses)(`http://monitor.example:${port}/`, { signal })).rejects.toThrow(
      /^monitor\.example:\d+ leads to .*link-local or metadata address/,
    );
    expect(takeReceived()).toEqual([]);
  });

  test("is resolved once, so that the connection leads to the address that was checked", async () => {
    let lookups = 0;
    // Nobody else resolves this name, and a second answer would be another one.
    const lookup = async () => (lookups++ === 0 ? ["127.0.0.1"] : ["169.254.169.254"]);
    const response = await createFetch({ lookup })(`http://rebinding.invalid:${port}/`, { signal });
    expect(await response.text()).toBe("here");
    expect(takeReceived()).toMatchObject([{ headers: { host: `rebinding.invalid:${port}` } }]);
  });

  test("that leads to several addresses reaches the first that accepts a connection", async () => {
    const response = await fetchWith("127.0.0.9", "127.0.0.1")(`http://two.invalid:${port}/`, { signal });
    expect(await response.text()).toBe("here");
    await expect(fetchWith("127.0.0.9", "127.0.0.8")(`http://none.invalid:${port}/`, { signal })).rejects.toThrow();
    expect(takeReceived()).toHaveLength(1);
  });

  test("that leads to an address with a zone is not resolved again", async () => {
    const lookup = async () => ["fe80::1%2"];
    const fetch = createFetch({ lookup, allowedLinkLocal: ["fe80::1"] });
    await expect(fetch(`http://localhost:${port}/`, { signal })).rejects.toThrow("fe80::1%2, which is unusable");
    expect(takeReceived()).toEqual([]);
  });

  test("that cannot be resolved is named", async () => {
    await expect(createFetch()("http://nothing.invalid/", { signal })).rejects.toThrow("nothing.invalid");
  });

  test("that is not resolved in time is given up", async () => {
    const lookup = () => new Promise<string[]>(() => {});
    const aborted = AbortSignal.abort(new Error("enough"));
    await expect(createFetch({ lookup })("http://slow.invalid/", { signal: aborted })).rejects.toThrow("enough");
  });
});

test("loopback and private networks may be reached, and others when a setting allows them", async () => {
  expect(await (await createFetch()(`http://localhost:${port}/`, { signal })).text()).toBe("here");
  takeReceived();
  // Nobody responds there, which is not a refusal.
  const outcomeAt = (address: string, options: FetchOptions = {}) =>
    createFetch(options)(`http://${address}/`, { signal: AbortSignal.timeout(50) }).then(
      ({ status }) => `${status}`,
      (error: Error) => error.message,
    );
  for (const address of ["10.0.0.1", "192.168.1.1", "172.16.0.1", "[fd12:3456::1]", "[::1]"]) {
    expect(await outcomeAt(address)).not.toMatch(refused);
  }
  const allowedLinkLocal = ["169.254.10.0/24", "fe80::1"];
  expect(await outcomeAt("169.254.10.7", { allowedLinkLocal })).not.toMatch(refused);
  expect(await outcomeAt("[fe80::1]", { allowedLinkLocal })).not.toMatch(refused);
  expect(await outcomeAt("169.254.11.7", { allowedLinkLocal })).toMatch(refused);
});

describe("a redirect", () => {
  const fetch = createFetch();
  const redirectTo = (location: string, status = 302) =>
    `${origin}/from?${new URLSearchParams({ to: location, status: `${status}` })}`;

  test.each(["http://169.254.169.254/latest/", "//[fe80::1]/", "http://0xa9fea9fe/"])(
    "to %s is not followed",
    async (location) => {
      await expect(fetch(redirectTo(location), { signal })).rejects.toThrow(refused);
      await expect(fetch(redirectTo(redirectTo(location)), { signal })).rejects.toThrow(refused);
      takeReceived();
    },
  );

  test.each<[method: string, status: number, then: string]>([
    ["POST", 301, "GET"],
    ["POST", 302, "GET"],
    ["POST", 303, "GET"],
    ["POST", 307, "POST"],
    ["PUT", 302, "PUT"],
    ["HEAD", 303, "HEAD"],
  ])("after %s with status %i is followed with %s", async (method, status, then) => {
    const body = method === "HEAD" ? null : "text";
    expect((await fetch(redirectTo("/to", status), { method, body, signal })).status).toBe(200);
    const [, second] = takeReceived();
    expect(second).toMatchObject({ request: `${then} /to`, body: then === method ? (body ?? "") : "" });
    if (then === "GET") expect(second?.headers).not.toHaveProperty("content-type");
  });

  test("takes the secret only within the same origin", async () => {
    const headers = { Authorization: "Bearer hush" };
    await fetch(redirectTo("/to"), { headers, signal });
    expect(takeReceived()[1]?.headers).toMatchObject({ authorization: "Bearer hush" });
    await fetch(redirectTo(`http://localhost:${port}/to`), { headers, signal });
    expect(takeReceived()[1]?.headers).not.toHaveProperty("authorization");
  });

  test("is returned to those who follow none", async () => {
    expect((await fetch(redirectTo("/to"), { redirect: "manual", signal })).status).toBe(302);
    expect(takeReceived()).toHaveLength(1);
  });

  test("to itself, or to something else than HTTP, ends with an error", async () => {
    await expect(fetch(redirectTo("file:///etc/passwd"), { signal })).rejects.toThrow("it redirects to file:");
    await expect(fetch(`${origin}/loop`, { signal })).rejects.toThrow("it redirects more than 5 times");
    takeReceived();
  });
});

test("behind a proxy, names are its own, and what they lead to here is still refused", async () => {
  const proxy = startServer(({ url }) => new Response(`proxied ${url}`));
  const script = `
    import { createFetch } from ${JSON.stringify(join(root, "src/base/outgoing.ts"))};
    const print = (text) => console.log(text);
    await createFetch()("http://inside.invalid/").then((response) => response.text()).then(print, print);
    const lookup = async () => ["169.254.169.254"];
    await createFetch({ lookup })("http://inside.invalid/").catch((error) => print(error.message));
    await createFetch()("http://169.254.169.254/").catch((error) => print(error.message));
  `;
  const env = { HTTP_PROXY: proxy };
  const child = Bun.spawn([process.execPath, "-e", script], { env, stdio: ["ignore", "pipe", "inherit"] });
  const [proxied, ...errors] = (await child.stdout.text()).trim().split("\n");
  expect(proxied).toBe("proxied http://inside.invalid/");
  expect(errors).toEqual([expect.stringMatching(refused), expect.stringMatching(refused)]);
});

test("a certificate must be of the name, not of the address", async () => {
  const tls = { key: certificateKey, cert: certificate };
  const { port } = new URL(startServer(() => new Response("safe"), { tls }));
  const fetch = fetchWith("127.0.0.1");
  const get = (name: string) => fetch(`https://${name}:${port}/`, { tls: { ca: certificate }, signal });
  expect(await (await get("name.invalid")).text()).toBe("safe");
  // On the same address, and while a connection to it is open.
  await expect(get("other.invalid")).rejects.toThrow();
});

test("no other file sends requests by itself", async () => {
  const found: string[] = [];
  for await (const file of new Glob("**/*.{ts,tsx}").scan(join(root, "src"))) {
    const text = await Bun.file(join(root, "src", file)).text();
    // As an argument, or made from the settings.
    const isGiven = /\bfetch: Fetch\b|\bfetch = createFetch\(|[{,]\s*fetch\s*[,}]/.test(text);
    if (/\b(?:await|return|\?|:) fetch\(/.test(text) && !isGiven) found.push(file);
    if (/\b(globalThis\.fetch|node:https?|node:http2|Bun\.connect|XMLHttpRequest|WebSocket\()/.test(text))
      found.push(file);
    // It signs, and uploads after a check.
    if (text.includes("S3Client") && file !== "feed/bucket.ts") found.push(file);
  }
  // The last asks the service on this machine.
  expect(found.toSorted()).toEqual(["base/outgoing.ts", "commands/health.ts"]);
});
