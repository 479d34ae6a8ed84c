/** Characters that end a URL within a text. Passwords in URLs percent-encode them. */
const terminator = /[\s"<>`\\]/;

/**
 * Whether a whole text is a URL.
 * @param scheme such as `/^https:/`
 */
export const isUrlOf = (scheme: RegExp, text: string) =>
  scheme.test(text) && URL.canParse(text) && !terminator.test(text);

export const isHttpUrl = (text: string) => isUrlOf(/^https?:\/\//, text);

/** Whether a source is a URL rather than a folder. */
export const isUrl = (text: string) => /^[a-z][a-z\d+.-]*:\/\//i.test(text);

export const isLoopback = (address: string) => /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(address);
