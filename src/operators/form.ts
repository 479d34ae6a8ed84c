import { ServiceError } from "../base/errors.ts";
import type { Viewer } from "../http/page.ts";

/** The largest form has a brand and a token. */
const maxBytes = 16 * 1024;

/**
 * Reads the fields of a posted form.
 * @throws ServiceError `bad_request` or `too_large`
 */
export async function readForm(request: Request): Promise<URLSearchParams> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
    throw new ServiceError("bad_request", "Expected a form: application/x-www-form-urlencoded.");
  }
  const text = await request.text().catch((cause) => {
    throw new ServiceError("bad_request", "The body is incomplete.", { cause });
  });
  if (text.length > maxBytes) throw new ServiceError("too_large", `The form is larger than ${maxBytes} bytes.`);
  return new URLSearchParams(text);
}

/**
 * Refuses a form that a page of another site may have sent. Another port of the same host is
 * another site too, although browsers send it the same cookies.
 * @throws ServiceError `forbidden`
 */
export function requireSameOrigin({ headers }: Request): void {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  // Browsers send the first field only to https:// and to loopback, the second always. Programs send
  // neither.
  const isSame = site !== null ? site === "same-origin" : origin === null || isOf(headers, origin);
  if (isSame) return;
  const from = origin === null ? "another site" : `another address, ${origin}`;
  throw new ServiceError(
    "forbidden",
    `This form was sent from ${from}. A proxy in front must pass the Host of the request on.`,
  );
}

/** Proxies may write the default port, which browsers omit. */
function isOf(headers: Headers, origin: string): boolean {
  const from = URL.parse(origin);
  return from !== null && from.host !== "" && URL.parse(`${from.protocol}//${headers.get("host")}`)?.host === from.host;
}

/** The hidden field of forms. */
const tokenField = "form_token";

/**
 * Refuses a form that is not of the viewer's session: a browser sends the cookie with any form. A
 * bearer token is not sent by itself, and needs none. Removes the field of the token from the form.
 * @throws ServiceError `forbidden`
 */
export function requireFormToken({ formToken }: Viewer, form: URLSearchParams): void {
  const field = form.get(tokenField) ?? "";
  form.delete(tokenField);
  if (formToken === undefined) return;
  const [given, expected] = [Buffer.from(field), Buffer.from(formToken)];
  if (given.length === expected.length && crypto.timingSafeEqual(given, expected)) return;
  throw new ServiceError("forbidden", "This form is of another session. Load its page again, and repeat.");
}
