/** Query parameters that are known to be no secret, and help when an address is wrong. */
const harmless = new Set(["sslmode"]);

/** Up to where an address goes within a text: a quote, a space and a backslash are never part of one. */
const address = /\b[a-z][a-z\d+.-]*:\/\/[^\s"<>`\\]+/gi;

/** What follows an address in a sentence. */
const punctuation = /[:;,.)\]]*$/;

/**
 * A text as people may see it: every address in it is without its credentials. Those are the user and password, the values of
 * the query, since signed addresses have their signature there, and the fragment. The user of a database stays; over HTTP it is
 * often a token.
 */
export function hideCredentials(text: string): string {
  return text.includes("://") ? text.replace(address, hideInAddress) : text;
}

function hideInAddress(url: string): string {
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
  // An address that cannot be parsed often holds a password with a slash: then everything up to the last "@" may be part of it.
  // So may one that can be: in user:12/3@host, the password begins like a port.
  const [host = ""] = rest.match(/^[^/]*/) ?? [];
  const mayBePort = /^[^@]*:\d*$/.test(host);
  const authority = URL.canParse(url) && !mayBePort ? host : rest;
  const at = authority.lastIndexOf("@");
  if (at < 0) return rest;
  const [user = "", ...password] = authority.slice(0, at).split(":");
  if (/^https?:/i.test(scheme)) return `hidden${rest.slice(at)}`;
  return password.length === 0 ? rest : `${user}:hidden${rest.slice(at)}`;
}
