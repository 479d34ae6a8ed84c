/** Characters that end a URL within a text. Passwords in URLs percent-encode them. */
const terminator = /[\s"<>`\\]/;

/** @param scheme such as `/^https:/` */
export const isUrlOf = (scheme: RegExp, text: string) =>
  scheme.test(text) && URL.canParse(text) && !terminator.test(text);

export const isHttpUrl = (text: string) => isUrlOf(/^https?:\/\//, text);

export const isUrl = (text: string) => /^[a-z][a-z\d+.-]*:\/\//i.test(text);

export const isLoopback = (address: string) => /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(address);
