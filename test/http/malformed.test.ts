import { describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { matchesEntityTag } from "../../src/cache/response.ts";
import { root, serveUntilEnd, temporaryFolder } from "../support/pds.ts";
import { rawRequests } from "../support/raw-requests.ts";
import { parseResponse, Wire, type WireResponse } from "../support/wire.ts";

const folder = await temporaryFolder();
const service = await serveUntilEnd({
  DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
  SHOP_DOMAIN: "shop.example",
});

/** Sent when all answers have arrived, to see whether the connection still is in step. */
const next = "GET /docs/style.css HTTP/1.1\r\nHost: next.example\r\nConnection: close\r\n\r\n";
const isNext = ({ headers }: WireResponse) => headers.get("content-type")?.startsWith("text/css") === true;

/** The responses in the received bytes; the last one may be incomplete. */
function parseAll(bytes: Buffer, sent: string): WireResponse[] {
  const responses: WireResponse[] = [];
  const methods = [...sent.matchAll(/^([A-Z]+) \S+ HTTP/gm)].map(([, method]) => method);
  for (let at = 0, request = 0; at < bytes.length; ) {
    const response = parseResponse(bytes.subarray(at), methods[request] === "HEAD");
    if (response === undefined) break;
    responses.push(response);
    at += response.size;
    if (response.status >= 200) request++;
  }
  return responses;
}

/** Sends bytes, and another request after the expected number of responses, until the connection is closed. */
async function exchange(sent: string, count: number): Promise<WireResponse[]> {
  const wire = await Wire.open(service.url);
  wire.write(sent);
  await wire.receive((bytes) => parseAll(bytes, sent).length >= count);
  wire.write(next);
  return parseAll(await wire.untilClosed(), `${sent}${next}`);
}

/** The runtime answers without it. */
const isOurs = ({ headers }: WireResponse) => headers.has("access-control-allow-origin");

/** As in the table. */
function describeAnswer(responses: readonly WireResponse[]): string {
  const isKept = responses.some(isNext);
  const statuses = responses
    .filter((response) => !isNext(response))
    .map((response) => `${response.status}${isOurs(response) ? "" : " (runtime)"}`);
  return [...(statuses.length === 0 ? ["none"] : statuses), ...(isKept ? [] : ["closed"])].join(", ");
}

const countOf = (answer: string) => answer.match(/\d{3}/g)?.length ?? Number.POSITIVE_INFINITY;

describe.each(Object.entries(rawRequests))("%s:", (_topic, requests) => {
  test.each(requests.map(({ name, section, sent, answer }) => [name, answer, section, sent] as const))(
    "%s gets %s (RFC %s)",
    async (_name, answer, _section, sent) => {
      expect(describeAnswer(await exchange(sent, countOf(answer)))).toBe(answer);
    },
  );
});

test("a condition with thousands of tags is searched, not split", () => {
  const split = spyOn(String.prototype, "match");
  try {
    const tags = 'W/"a",'.repeat(2000);
    expect(matchesEntityTag('W/"b"', tags)).toBeFalse();
    expect(matchesEntityTag('W/"b"', `${tags}"b"`)).toBeTrue();
    expect(split).not.toHaveBeenCalled();
  } finally {
    split.mockRestore();
  }
});

test("the runtime differs from the standards as the page about malformed requests says", async () => {
  const file = join(root, "test/support/runtime-answers.ts");
  const output = await new Response(Bun.spawn([process.execPath, file], { stderr: "inherit" }).stdout).text();
  expect(output.trimEnd().split("\n")).toEqual([
    "GET /, GET / gets nothing",
    "GET /, BLAH gets HTTP/1.1 400 Bad Request",
    "FOO / gets nothing",
    "OPTIONS * gets HTTP/1.1 400 Bad Request",
    "GET /a b gets HTTP/1.1 505 HTTP Version Not Supported",
  ]);
});
