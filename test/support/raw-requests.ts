/** A request as bytes (each character is one), and its answer. */
export interface RawRequest {
  /** For the documentation, as Markdown. */
  readonly name: string;
  readonly sent: string;
  /**
   * The statuses in their order. `(runtime)` marks those that the service does not see, and `closed`
   * a connection on which no other request gets an answer.
   */
  readonly answer: string;
  /** RFC and section. */
  readonly section: string;
}

const host = "Host: shop.example\r\n";
const get = (fields: string, target = "/livez", version = "HTTP/1.1") => `GET ${target} ${version}\r\n${fields}\r\n`;
const withField = (field: string) => get(`${host}${field}\r\n`);
const withHost = (value: string) => get(`Host: ${value}\r\n`);
const withMethod = (method: string, target = "/livez") => `${method} ${target} HTTP/1.1\r\n${host}\r\n`;
const post = (fields: string, body = "") => `POST /livez HTTP/1.1\r\n${host}${fields}\r\n\r\n${body}`;
const chunked = (body: string) => post("Transfer-Encoding: chunked", body);

type Row = readonly [name: string, sent: string, answer: string, section: string];

const rejected = "400 (runtime), closed";
const unsupported = "505 (runtime), closed";
const tooLarge = "431 (runtime), closed";

const methods: readonly Row[] = [
  ["`GET`", withMethod("GET"), "200", "9110, 9.3.1"],
  ["`HEAD`", withMethod("HEAD"), "200", "9110, 9.3.2"],
  ["`OPTIONS`", withMethod("OPTIONS"), "204", "9110, 9.3.7"],
  ["`POST`, `PUT`, `PATCH`, or `DELETE`", withMethod("DELETE"), "405", "9110, 15.5.6"],
  ["`TRACE`", withMethod("TRACE"), "405", "9110, 9.3.8"],
  ["`CONNECT`", withMethod("CONNECT", "other.example:443"), "405, closed", "9110, 9.3.6"],
  ["a registered method, such as `PROPFIND`", withMethod("PROPFIND"), "405", "9110, 15.5.6"],
  ["an unknown method, such as `FOO`", withMethod("FOO"), "none, closed", "9110, 9.1"],
  ["a method in lower case", withMethod("get"), "none, closed", "9110, 9.1"],
  ["a method that is no token: `G@T`", withMethod("G@T"), rejected, "9110, 5.6.2"],
  ["no method", withMethod(""), rejected, "9112, 3"],
  ["two methods", withMethod("GET GET"), rejected, "9112, 3"],
];

const targets: readonly Row[] = [
  ["an absolute URL", withMethod("GET", "http://shop.example/livez"), "200", "9112, 3.2.2"],
  ["an absolute URL of another host", withMethod("GET", "http://other.example/livez"), "200", "9112, 3.2.2"],
  ["an absolute URL with another scheme", withMethod("GET", "ftp://shop.example/livez"), rejected, "9112, 3.2.2"],
  ["`OPTIONS *`", withMethod("OPTIONS", "*"), rejected, "9112, 3.2.4"],
  ["`GET *`", withMethod("GET", "*"), rejected, "9112, 3.2.4"],
  ["a path without a slash", withMethod("GET", "livez"), rejected, "9112, 3.2.1"],
  ["a path with `.` or `..`", withMethod("GET", "/docs/../livez"), "404", "3986, 6.2.2.3"],
  ["two slashes", withMethod("GET", "//livez"), "404", "3986, 3.3"],
  ["malformed percent-encoding", withMethod("GET", "/api/v1/products/pz/%zz"), "400", "3986, 2.1"],
  ["a fragment", withMethod("GET", "/livez#top"), "404", "9112, 3.2"],
  ["bytes beyond ASCII", withMethod("GET", "/livez\xff"), "404", "3986, 2"],
  ["a space", withMethod("GET", "/live z"), unsupported, "9112, 3.2"],
  ["a zero byte", withMethod("GET", "/livez\0"), unsupported, "9112, 3.2"],
  ["10 kB", withMethod("GET", `/livez?${"a".repeat(10_000)}`), "200", "9112, 3"],
  ["20 kB", withMethod("GET", `/livez?${"a".repeat(20_000)}`), tooLarge, "9110, 15.5.15"],
];

const hosts: readonly Row[] = [
  ["none", get(""), rejected, "9112, 3.2"],
  ["none, in HTTP/1.0", get("", "/livez", "HTTP/1.0"), "200, closed", "9112, 3.2"],
  ["two", get("Host: a.example\r\nHost: b.example\r\n"), "400", "9112, 3.2"],
  ["the same one twice", get(`${host}${host}`), "400", "9112, 3.2"],
  ["two, with other fields between them", get(`${host}Accept: */*\r\nhost: b.example\r\n`), "400", "9112, 3.2"],
  ["two, in HTTP/1.0", get(`${host}${host}`, "/livez", "HTTP/1.0"), "400, closed", "9112, 3.2"],
  ["two, with an absolute URL", get(`${host}${host}`, "http://shop.example/livez"), "400", "9112, 3.2"],
  ["two, with `OPTIONS`", `OPTIONS /livez HTTP/1.1\r\n${host}${host}\r\n`, "400", "9112, 3.2"],
  ["two, for a product", get(`${host}${host}`, "/api/v1/products/1"), "400", "9112, 3.2"],
  ["two, for an unknown URL", get(`${host}${host}`, "/nowhere"), "400", "9112, 3.2"],
  ["an empty one", withHost(""), "400", "9110, 4.2.1"],
  ["a name and port", withHost("shop.example:3000"), "200", "9110, 7.2"],
  ["an IPv6 address", withHost("[::1]:3000"), "200", "9110, 7.2"],
  ["an IPv6 address without brackets", withHost("::1"), "400", "3986, 3.2.2"],
  ["an open bracket", withHost("[::1"), "400", "3986, 3.2.2"],
  ["a list", withHost("a.example, b.example"), "400", "9110, 7.2"],
  ["a space", withHost("shop .example"), "400", "3986, 3.2.2"],
  ["a path", withHost("shop.example/livez"), "400", "9110, 7.2"],
  ["a user", withHost("user@shop.example"), "400", "9110, 4.2.4"],
  ["a percent sign", withHost("%73hop.example"), "400", "3986, 3.2.2"],
  ["a colon without a port", withHost("shop.example:"), "400", "3986, 3.2.3"],
  ["a port that is no number", withHost("shop.example:x"), "400", "3986, 3.2.3"],
  ["`<script>`", withHost("<script>"), "400", "3986, 3.2.2"],
  ["bytes beyond ASCII", withHost("sh\xf6p.example"), "400", "3986, 3.2.2"],
];

const versions: readonly Row[] = [
  ["HTTP/1.0", get(host, "/livez", "HTTP/1.0"), "200, closed", "9112, 9.3"],
  ["HTTP/1.2", get(host, "/livez", "HTTP/1.2"), unsupported, "9110, 2.5"],
  ["HTTP/2.0", get(host, "/livez", "HTTP/2.0"), unsupported, "9110, 15.6.6"],
  ["`http/1.1`", get(host, "/livez", "http/1.1"), unsupported, "9112, 2.3"],
  ["no version (HTTP/0.9)", "GET /livez\r\n\r\n", unsupported, "9112, 3"],
  ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", rejected, "9113, 3.4"],
  ["the start of TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", rejected, "9112, 2.2"],
  ["`BLAH`", "BLAH\r\n\r\n", rejected, "9112, 3"],
  ["two spaces", `GET  /livez HTTP/1.1\r\n${host}\r\n`, rejected, "9112, 3"],
  ["a tab instead of a space", `GET\t/livez HTTP/1.1\r\n${host}\r\n`, unsupported, "9112, 3"],
  ["an empty line first", `\r\n${get(host)}`, rejected, "9112, 2.2"],
  ["lines that end with a line feed only", get(host).replaceAll("\r\n", "\n"), unsupported, "9112, 2.2"],
];

const fields: readonly Row[] = [
  ["a line without a colon", withField("Accept"), rejected, "9112, 5"],
  ["an empty name", withField(": 1"), rejected, "9112, 5"],
  ["a space before the colon", withField("Accept : */*"), rejected, "9112, 5.1"],
  ["a folded line", withField("Accept: text/html,\r\n text/plain"), rejected, "9112, 5.2"],
  ["a space before the first field", `GET /livez HTTP/1.1\r\n ${host}\r\n`, rejected, "9112, 2.2"],
  ["a control character in a name", withField("A\x01: 1"), rejected, "9110, 5.1"],
  ["a zero byte in a value", withField("A: \0"), rejected, "9110, 5.5"],
  ["another control character in a value", withField("A: \x01"), rejected, "9110, 5.5"],
  ["a carriage return in a value", withField("A: 1\r2"), rejected, "9112, 2.2"],
  ["bytes beyond ASCII in a value", withField("A: \xff\xfe"), "200", "9110, 5.5"],
  ["an empty value", withField("Accept:"), "200", "9110, 5.5"],
  ["the same field twice", withField("Accept: */*\r\nAccept: */*"), "200", "9110, 5.3"],
  ["10 kB", withField(`A: ${"a".repeat(10_000)}`), "200", "9110, 5.4"],
  ["20 kB", withField(`A: ${"a".repeat(20_000)}`), tooLarge, "6585, 5"],
  ["200 fields", withField("A: 1\r\n".repeat(199).trimEnd()), tooLarge, "6585, 5"],
  ["`Accept-Encoding` with 7,000 members", withField(`Accept-Encoding: ${"a,".repeat(7000)}`), "200", "9110, 12.5.3"],
  [
    "`If-None-Match` with 4,000 tags",
    get(`${host}If-None-Match: ${'"",'.repeat(4000)}\r\n`, "/docs"),
    "200",
    "9110, 13.1.2",
  ],
  ["`If-None-Match: *`", get(`${host}If-None-Match: *\r\n`, "/docs"), "304", "9110, 13.1.2"],
  ["`Expect: 100-continue`", withField("Expect: 100-continue"), "100 (runtime), 200", "9110, 10.1.1"],
  ["another `Expect`", withField("Expect: 200-ok"), "200", "9110, 10.1.1"],
  ["`Upgrade` to a WebSocket", withField("Connection: Upgrade\r\nUpgrade: websocket"), "200", "9110, 7.8"],
  [
    "`Upgrade` to HTTP/2",
    withField("Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk"),
    "200",
    "9113, 3.1",
  ],
  ["`Connection: close`", withField("Connection: close"), "200, closed", "9112, 9.6"],
];

const bodies: readonly Row[] = [
  ["none, with `POST`", `POST /livez HTTP/1.1\r\n${host}\r\n`, "405", "9112, 6.3"],
  ["a body with `GET`", `${withField("Content-Length: 5")}hello`, "200", "9110, 9.3.1"],
  ["chunks with `GET`", `${withField("Transfer-Encoding: chunked")}5\r\nhello\r\n0\r\n\r\n`, "200", "9110, 9.3.1"],
  ["chunks with extensions", chunked("5;a=b\r\nhello\r\n0\r\n\r\n"), "405", "9112, 7.1.1"],
  ["chunks with trailer fields", chunked("0\r\nA: 1\r\n\r\n"), "405, 400 (runtime), closed", "9112, 7.1.2"],
  ["a chunk size that is no number", chunked("x\r\n"), "405, 400 (runtime), closed", "9112, 7.1"],
  ["a negative chunk size", chunked("-1\r\n"), "405, 400 (runtime), closed", "9112, 7.1"],
  ["a chunk size beyond 64 bits", chunked("ffffffffffffffffff\r\n"), "405, 400 (runtime), closed", "9112, 7.1"],
  ["a chunk longer than its size", chunked("1\r\nxyz\r\n0\r\n\r\n"), "405, 400 (runtime), closed", "9112, 7.1"],
  ["chunks that end with a line feed only", chunked("1\nx\n0\n\n"), "405, 400 (runtime), closed", "9112, 7.1"],
  ["the same length twice", post("Content-Length: 1\r\nContent-Length: 1", "x"), "405", "9112, 6.3"],
  ["two lengths", post("Content-Length: 1\r\nContent-Length: 2", "xy"), rejected, "9112, 6.3"],
  ["a list of lengths", post("Content-Length: 1, 1", "x"), rejected, "9112, 6.3"],
  ["a negative length", post("Content-Length: -1"), rejected, "9112, 6.3"],
  ["a length with a sign", post("Content-Length: +1", "x"), rejected, "9112, 6.3"],
  ["a hexadecimal length", post("Content-Length: 0x1", "x"), rejected, "9112, 6.3"],
  ["an empty length", post("Content-Length:"), rejected, "9112, 6.3"],
  ["a length beyond 64 bits", post("Content-Length: 99999999999999999999"), rejected, "9112, 6.3"],
  ["a length over 64 kB", post("Content-Length: 70000"), "413 (runtime), closed", "9110, 15.5.14"],
  ["a length and chunks", post("Content-Length: 3\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), rejected, "9112, 6.3"],
  ["chunks, then `identity`", post("Transfer-Encoding: chunked, identity", "0\r\n\r\n"), rejected, "9112, 6.1"],
  ["`gzip`, then chunks", post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n"), rejected, "9112, 6.1"],
  [
    "chunks twice",
    post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
    rejected,
    "9112, 6.1",
  ],
  ["`xchunked`", post("Transfer-Encoding: xchunked", "0\r\n\r\n"), rejected, "9112, 6.1"],
  ["`Transfer-Encoding : chunked`", post("Transfer-Encoding : chunked", "0\r\n\r\n"), rejected, "9112, 5.1"],
  [
    "chunks in HTTP/1.0",
    `POST /livez HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    rejected,
    "9112, 6.1",
  ],
];

const pipelined: readonly Row[] = [
  [
    "four, all answered from memory",
    `${get(host)}${get(host, "/nowhere")}${get(host, "/api/v1/products/x")}${get(host, "/docs")}`,
    "200, 404, 400, 200",
    "9112, 9.3.2",
  ],
  ["one behind a body that nobody reads", `${post("Content-Length: 5", "hello")}${get(host)}`, "405, 200", "9112, 6.3"],
  ["one behind `Connection: close`", `${withField("Connection: close")}${get(host)}`, "200, closed", "9112, 9.6"],
  ["one behind HTTP/1.0", `${get(host, "/livez", "HTTP/1.0")}${get(host)}`, "200, closed", "9112, 9.3"],
  ["a malformed one behind a right one", `${get(host)}BLAH\r\n\r\n`, "200, 400 (runtime), closed", "9112, 9.3.2"],
];

/** By topic. */
export const rawRequests: Readonly<Record<string, readonly RawRequest[]>> = Object.fromEntries(
  Object.entries({
    Method: methods,
    "Request target": targets,
    Host: hosts,
    "Version and request line": versions,
    "Header fields": fields,
    Body: bodies,
    Pipelining: pipelined,
  }).map(([topic, rows]) => [topic, rows.map(([name, sent, answer, section]) => ({ name, sent, answer, section }))]),
);
