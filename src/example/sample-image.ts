import { prepareResponse } from "../cache/response.ts";
import type { Handler } from "../http/endpoint.ts";
import { parameter } from "../http/request.ts";
import { hashTag } from "../model/entity-tag.ts";

/** SVG shapes by kind of product, in a 100 × 100 view box. */
const shapes: Readonly<Record<string, string>> = {
  plate: '<circle cx="50" cy="50" r="38"/><circle cx="50" cy="50" r="25"/>',
  cup: '<path d="M25 32h42v22a21 21 0 0 1-42 0z"/><path d="M67 38h6a9 9 0 0 1 0 18h-7"/><path d="M22 82h48"/>',
  glass: '<path d="M34 16h32l-5 36a11 11 0 0 1-22 0z"/><path d="M50 63v20M36 84h28"/>',
  knife: '<path d="M47 14c9 10 10 28 8 42h-8z"/><path d="M47 56h8v30h-8z"/>',
  box: '<path d="M18 40h64v42H18zM18 40l8-14h48l8 14M50 26v56"/>',
  cloth: '<path d="M22 22h56v56H22z"/><path d="M28 28h44v44H28z"/>',
};

const kinds: readonly (readonly [words: RegExp, shape: keyof typeof shapes])[] = [
  [/mug|cup|teapot|pitcher/, "cup"],
  [/glass|goblet|flute|tumbler|decanter|vase|crystal/, "glass"],
  [/knife|knives|fork|spoon|flatware|server/, "knife"],
  [/box|frame|card|case|bank|chest/, "box"],
  [/napkin|linen|towel|cloth|runner|robe|blanket/, "cloth"],
];

/**
 * `GET /sample/images/:name`: a placeholder SVG generated from the name, because the sample shop
 * has no real photos.
 */
export const getSampleImage: Handler = (request) => {
  const name = parameter(request, "name");
  if (!/^[\w-]{1,200}\.svg$/.test(name)) return undefined;
  const body = draw(name.slice(0, -".svg".length));
  const headers = { "Cache-Control": "public, max-age=86400" };
  return prepareResponse({ type: "image/svg+xml", body, tag: hashTag(body), headers });
};

function draw(name: string): string {
  const shape = kinds.find(([words]) => words.test(name))?.[1] ?? "plate";
  const hue = Bun.hash.crc32(name.replace(/-\d+$/, "")) % 360;
  const turn = (Bun.hash.crc32(name) % 5) * 4 - 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><rect width="100" height="100" fill="hsl(${hue} 30% 92%)"/><g fill="hsl(${hue} 35% 98%)" stroke="hsl(${hue} 45% 35%)" stroke-width="1.6" stroke-linejoin="round" transform="rotate(${turn} 50 50)">${shapes[shape]}</g></svg>`;
}
