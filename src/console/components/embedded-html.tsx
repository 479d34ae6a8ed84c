/** @jsxImportSource hono/jsx */

export const isHtml = (text: string) => /<\/?[a-z][^>]*>/i.test(text);

/** Matches the look of the page around the frame. */
const head =
  '<!doctype html><meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/console/embedded-html.css">';

interface EmbeddedHtmlProps {
  readonly html: string;
  readonly title: string;
}

/**
 * Untrusted HTML in a sandboxed frame: no scripts, forms, or navigation. The frame also inherits
 * the page's policy.
 */
export const EmbeddedHtml = ({ html, title }: EmbeddedHtmlProps) => (
  <iframe class="embedded-html" sandbox="" srcdoc={`${head}${html}`} title={title} loading="lazy" />
);
