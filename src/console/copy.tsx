/** @jsxImportSource hono/jsx */

/** Whether a text is to be shown as a page would show it. */
export const isMarkup = (text: string) => /<\/?[a-z][^>]*>/i.test(text);

/** What the frame begins with, so that it looks like the page around it. */
const head =
  '<!doctype html><meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/console/copy.css">';

/**
 * HTML that somebody else wrote, in a frame of no origin: no script runs in it, no form is sent, no link leads anywhere. It also
 * inherits the page's policy, which lets no script of its own in.
 */
export const Copy = ({ html, title }: { readonly html: string; readonly title: string }) => (
  <iframe class="copy" sandbox="" srcdoc={`${head}${html}`} title={title} loading="lazy" />
);
