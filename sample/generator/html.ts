const entities: Readonly<Record<string, string>> = {
  é: "&eacute;",
  è: "&egrave;",
  ü: "&uuml;",
  ä: "&auml;",
  Ö: "&Ouml;",
  "“": "&ldquo;",
  "”": "&rdquo;",
  "’": "&rsquo;",
  "«": "&laquo;",
  "»": "&raquo;",
  "½": "&frac12;",
  "¼": "&frac14;",
  "×": "&times;",
  "–": "&ndash;",
  "°": "&deg;",
};

const escapeHtml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Text as HTML; the ERP's old editor wrote named entities, the new one writes the characters themselves. */
export function toHtml(text: string, named: boolean): string {
  const escaped = escapeHtml(text);
  return named ? escaped.replace(/[^\p{ASCII}]/gu, (character) => entities[character] ?? character) : escaped;
}

export function toBullets(items: readonly string[], named: boolean): string {
  return `<ul>${items.map((item) => `<li>${toHtml(item, named)}</li>`).join("")}</ul>`;
}

export function toParagraphs(paragraphs: readonly string[], named: boolean): string {
  return paragraphs.map((paragraph) => `<p>${toHtml(paragraph, named)}</p>`).join(named ? "\n" : "");
}

export const toAscii = (text: string) =>
  text
    .normalize("NFD")
    .replaceAll("×", "x")
    .replace(/[^\p{ASCII}]/gu, "");

export function toHandle(title: string): string {
  return toAscii(title.replaceAll("&", " and "))
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}
