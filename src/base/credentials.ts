/** Query parameters that are not secret and help to debug a URL. */
const harmless = new Set(["sslmode"]);

const urlPattern = /\b[a-z][a-z\d+.-]*:\/\/[^\s"<>`\\]+/gi;

const punctuation = /[:;,.)\]]*$/;

/**
 * Removes credentials from the URLs in a text: user and password, query values (which include
 * signatures), and the fragment. A database's user name stays; over HTTP, it is often a token. Call
 * it where text leaves the process, because any library's message may contain a URL.
 */
export function hideCredentials(text: string): string {
  return text.includes("://") ? text.replace(urlPattern, hideInUrl) : text;
}

function hideInUrl(url: string): string {
  const end = url.match(punctuation)?.[0] ?? "";
  const [, scheme = "", rest = "", query = "", fragment = ""] =
    url.slice(0, url.length - end.length).match(/^([^:]+:\/\/)([^?#]*)(\?[^#]*)?(#.*)?$/) ?? [];
  const values = query.replace(/([?&])([^=&]*)=?([^&]*)/g, (part, separator, name, value) => {
    if (value === "") return name === "" ? part : `${separator}hidden`;
    return harmless.has(name) ? part : `${separator}${name}=hidden`;
  });
  return `${scheme}${hideUser(scheme, rest, url)}${values}${fragment === "" ? "" : "#hidden"}${end}`;
}

function hideUser(scheme: string, rest: string, url: string): string {
  // The password of an invalid URL often has a slash, so it may extend to the last "@". So may that
  // of a valid one: in user:12/3@host, the password starts like a port.
  const [host = ""] = rest.match(/^[^/]*/) ?? [];
  const mayBePort = /^[^@]*:\d*$/.test(host);
  const authority = URL.canParse(url) && !mayBePort ? host : rest;
  const at = authority.lastIndexOf("@");
  if (at < 0) return rest;
  const [user = "", ...password] = authority.slice(0, at).split(":");
  if (/^https?:/i.test(scheme)) return `hidden${rest.slice(at)}`;
  return password.length === 0 ? rest : `${user}:hidden${rest.slice(at)}`;
}
