import { hashTag } from "../base/hash.ts";
import { prepareResponse } from "../cache/response.ts";
import type { Handler } from "../http/endpoint.ts";
import { parameter } from "../http/request.ts";

/**
 * SVG shapes by kind of product, in a view box of 200 × 200. `clay`, `metal`, `clear`, and `cloth` are
 * materials, lit from the upper left; `tint` is the product's color.
 */
const shapes: Readonly<Record<string, string>> = {
  plate: `<ellipse cx="104" cy="112" rx="80" ry="76" fill="url(#shadow)"/>
    <circle cx="100" cy="100" r="72" fill="url(#clay)"/><circle fill="none" stroke="url(#tint)" cx="100" cy="100" r="67" stroke-width="3"/>
    <circle cx="100" cy="100" r="46" fill="url(#well)"/><circle fill="none" stroke="url(#tint)" cx="100" cy="100" r="46" stroke-width="1"/>
    <path d="M52 68a58 58 0 0 1 34-24" fill="none" stroke="#fff" stroke-width="5" stroke-linecap="round" opacity=".8"/>`,
  cup: `<ellipse cx="100" cy="160" rx="76" ry="14" fill="url(#shadow)"/>
    <ellipse cx="96" cy="154" rx="62" ry="11" fill="url(#clay)"/><ellipse fill="none" stroke="url(#tint)" cx="96" cy="154" rx="59" ry="9.6" stroke-width="1.5"/>
    <path d="M134 78c34-10 38 42-6 46" fill="none" stroke="url(#clay)" stroke-width="10"/>
    <path d="M52 62h88c0 56-12 88-32 92H84C64 150 52 118 52 62z" fill="url(#side)"/>
    <path fill="none" stroke="url(#tint)" d="M53 74h86" stroke-width="4"/><ellipse cx="96" cy="62" rx="44" ry="9" fill="url(#well)"/>
    <ellipse cx="96" cy="62" rx="44" ry="9" fill="none" stroke="#fff" stroke-width="2"/>`,
  glass: `<ellipse cx="100" cy="176" rx="56" ry="9" fill="url(#shadow)"/>
    <ellipse cx="100" cy="172" rx="36" ry="6" fill="url(#clear)" stroke="#fff"/><path d="M97 118h6l2 52H95z" fill="url(#clear)"/>
    <path d="M66 34h68c8 48-4 84-34 86-30-2-42-38-34-86z" fill="url(#clear)" stroke="#fff" stroke-width="1.5"/>
    <path d="M64 70c22 6 50-6 72 0 2 30-10 46-36 47-26-1-38-17-36-47z" fill="url(#tint)" opacity=".55"/>
    <ellipse cx="100" cy="34" rx="34" ry="5" fill="none" stroke="#fff" stroke-width="1.5"/>
    <path d="M74 46c-4 24 0 44 10 58" fill="none" stroke="#fff" stroke-width="5" stroke-linecap="round" opacity=".8"/>`,
  cutlery: `<g transform="translate(7 7)" fill="#000" opacity=".12"><path d="M56 30h22v50l-6 12 3 82H59l3-82-6-12z"/><path d="M122 28c20 22 20 60 14 72l-2 74h-12z"/></g>
    <path d="M54 30h4v34h4V30h4v34h4V30h4v34h4V30h4v48c0 8-5 12-10 14l4 80a8 8 0 0 1-16 0l4-80c-5-2-10-6-10-14z" fill="url(#metal)"/>
    <path d="M122 26c22 22 22 62 14 76l-1 70a6 6 0 0 1-13 0z" fill="url(#metal)"/>
    <path fill="none" stroke="url(#tint)" d="M66 150h8M123 150h11" stroke-width="2"/>`,
  box: `<path d="M30 150l74 30 78-28-20-14z" fill="url(#shadow)" opacity=".7"/>
    <path d="M28 84l74 24v66L28 146z" fill="url(#wood)"/><path d="M102 108l72-26v60l-72 32z" fill="url(#shade)"/>
    <path d="M24 72l78 25 76-27-74-24z" fill="url(#lid)"/><path d="M24 72l78 25v14L24 86z" fill="url(#tint)"/><path d="M102 97l76-27v13l-76 28z" fill="url(#tint)" opacity=".8"/>
    <rect x="54" y="98" width="20" height="12" rx="2" fill="url(#metal)" transform="skewY(18) translate(0 -22)"/>`,
  cloth: `<g transform="rotate(-6 100 100)"><path d="M36 36h132v132H36z" fill="#000" opacity=".09" transform="translate(5 6)"/>
    <path d="M34 36q66-4 134-1 3 66 0 131-66 4-133 1-4-66-1-131z" fill="url(#cloth)"/>
    <path fill="none" stroke="url(#tint)" d="M46 47h110v108H46z" stroke-width="1.5" stroke-dasharray="2.5 2"/>
    <path d="M42 43h118v116H42z" fill="none" stroke="#cfc8ba" stroke-width=".8"/>
    <path d="M100 35v132M34 101h134" stroke="#000" opacity=".07" stroke-width="2"/><path d="M102 35v132M34 103h134" stroke="#fff" opacity=".8" stroke-width="1.5"/>
    <text fill="url(#tint)" x="130" y="144" text-anchor="middle" font-family="Georgia, serif" font-style="italic" font-size="24">L F</text></g>`,
  ornament: `<path d="M100 6v34" stroke="#999" stroke-width="1.5"/><ellipse cx="108" cy="172" rx="52" ry="8" fill="url(#shadow)"/>
    <circle cx="100" cy="104" r="56" fill="url(#tint)"/><circle cx="100" cy="104" r="56" fill="url(#ball)"/>
    <path d="M46 92c30 16 78 16 108 0M46 118c30 16 78 16 108 0" fill="none" stroke="#fff" stroke-width="2.5" opacity=".7"/>
    <rect x="88" y="38" width="24" height="14" rx="3" fill="url(#metal)"/><circle cx="100" cy="34" r="6" fill="none" stroke="#aaa" stroke-width="2.5"/>`,
  frame: `<path d="M46 36h112v136H46z" fill="#000" opacity=".14"/><path d="M40 28h112v136H40z" fill="url(#metal)"/>
    <path d="M52 40h88v112H52z" fill="#fff"/><path d="M62 50h68v92H62z" fill="url(#tint)" opacity=".35"/>
    <circle cx="96" cy="86" r="16" fill="#fff" opacity=".85"/><path d="M66 142c4-46 56-46 60 0z" fill="#fff" opacity=".85"/>
    <path d="M40 28l112 0-12 12H52z" fill="#fff" opacity=".5"/>`,
};

/** Shapes seen from above; the others stand in front of a wall. */
const lying: readonly (keyof typeof shapes)[] = ["plate", "cutlery", "cloth"];

const kinds: readonly (readonly [words: RegExp, shape: keyof typeof shapes])[] = [
  [/ornament|rattle|bell|paperweight/, "ornament"],
  [/frame|album|clock/, "frame"],
  [/mug|cup|teapot|pitcher|porringer|bucket/, "cup"],
  [/glass|goblet|flute|tumbler|decanter|vase|crystal|coupe|carafe/, "glass"],
  [/knife|knives|fork|spoon|flatware|server|spreader/, "cutlery"],
  [/box|card|case|bank|chest|gift-set/, "box"],
  [/napkin|linen|towel|cloth|runner|robe|blanket|apron|stocking/, "cloth"],
];

/** Gradients of materials; the browser uses only those that a shape references. */
const materials = (hue: number) => {
  const gradient = (id: string, ...colors: readonly string[]) =>
    `<linearGradient id="${id}" x2="1" y2=".35">${stops(colors)}</linearGradient>`;
  const radial = (id: string, ...colors: readonly string[]) =>
    `<radialGradient id="${id}" cx=".36" cy=".32" r=".8">${stops(colors)}</radialGradient>`;
  const tint = (saturation: number, lightness: number) => `hsl(${hue} ${saturation}% ${lightness}%)`;
  return [
    `<linearGradient id="tint" gradientUnits="userSpaceOnUse"><stop stop-color="${tint(45, 42)}"/></linearGradient>`,
    `<radialGradient id="table" cx=".3" cy=".2" r="1.1"><stop stop-color="${tint(28, 96)}"/><stop offset="1" stop-color="${tint(22, 82)}"/></radialGradient>`,
    `<linearGradient id="room" x2="0" y2="1"><stop stop-color="${tint(25, 95)}"/><stop offset=".72" stop-color="${tint(22, 88)}"/><stop offset=".72" stop-color="${tint(20, 82)}"/><stop offset="1" stop-color="${tint(20, 90)}"/></linearGradient>`,
    '<radialGradient id="shadow"><stop offset=".5" stop-opacity=".28"/><stop offset="1" stop-opacity="0"/></radialGradient>',
    '<radialGradient id="ball" cx=".34" cy=".28" r=".8"><stop stop-color="#fff" stop-opacity=".85"/><stop offset=".3" stop-color="#fff" stop-opacity=".1"/><stop offset="1" stop-opacity=".45"/></radialGradient>',
    radial("clay", "#fff", "#f8f6f2", "#cfcac2"),
    radial("well", "#dedad2", "#f4f1ec", "#fff"),
    gradient("side", "#e4e0d9", "#fff", "#f1eee8", "#bdb8af"),
    gradient("clear", "#ffffffd0", "#ffffff40", "#ffffff90", "#ffffff30"),
    gradient("metal", "#8d9096", "#f6f7f9", "#b3b6bc", "#eceef1", "#85888f"),
    gradient("cloth", "#fffefb", "#f4f0e8", "#e2dcd0"),
    gradient("wood", "#b98a5a", "#a97a4b", "#8c6139"),
    gradient("shade", "#7d5531", "#5f3e21"),
    gradient("lid", "#d7ab7b", "#b98a5a"),
  ].join("");
};

const stops = (colors: readonly string[]) =>
  colors.map((color, place) => `<stop offset="${place / (colors.length - 1)}" stop-color="${color}"/>`).join("");

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

/** A product's first picture is the plain view; the others show other sides. */
const viewsOf = (isLying: boolean): readonly string[] => [
  "",
  isLying ? "rotate(-9 100 100)" : "translate(200) scale(-1 1)",
  "translate(-70 -60) scale(1.7)",
  isLying ? "rotate(11 100 100)" : "translate(20 36) scale(.8)",
  isLying ? "translate(24 24) scale(.76)" : "translate(140 66) scale(-.6 .6)",
];

function draw(name: string): string {
  const product = name.replace(/-\d+$/, "");
  const shape = kinds.find(([words]) => words.test(product))?.[1] ?? "plate";
  const hue = Bun.hash.crc32(product) % 360;
  const isLying = lying.includes(shape);
  const ground = isLying ? "table" : "room";
  const views = viewsOf(isLying);
  const view = views.at((Number(name.slice(product.length + 1) || 1) - 1) % views.length);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200"><defs>${materials(hue)}</defs><rect width="200" height="200" fill="url(#${ground})"/><g transform="${view}">${shapes[shape]}</g></svg>`;
}
