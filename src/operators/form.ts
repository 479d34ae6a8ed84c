import { ServiceError } from "../base/errors.ts";
import type { Viewer } from "../http/page.ts";

/** The largest form has a brand and a token. */
const maxBytes = 16 * 1024;

/** @throws ServiceError `bad_request` or `too_large` */
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
 * Refuses a form from another site. Another port of the same host is another site, too, although
 * browsers send it the same cookies.
 * @throws ServiceError `forbidden`
 */
export function requireSameOrigin({ headers }: Request): void {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  // Browsers send `Sec-Fetch-Site` only over https:// and to loopback, and `Origin` always;
  // programs send neither.
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

const tokenField = "form_token";

/**
 * Refuses a form of another session, because browsers send the cookie with any form. Bearer tokens
 * are not sent automatically, so they need none. Removes the token's field from the form.
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
