/** Characters that end a URL within a longer text. A password in a URL has them percent-encoded. */
const terminator = /[\s"<>`\\]/;

/** Whether a text as a whole is a URL. @param scheme such as `/^https:/` */
export const isUrlOf = (scheme: RegExp, text: string) =>
  scheme.test(text) && URL.canParse(text) && !terminator.test(text);

export const isHttpUrl = (text: string) => isUrlOf(/^https?:\/\//, text);

/** Whether a source is a URL and not a folder. */
export const isUrl = (text: string) => /^[a-z][a-z\d+.-]*:\/\//i.test(text);

/** Whether an address or a name is that of this machine. */
export const isLoopback = (address: string) => /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(address);
