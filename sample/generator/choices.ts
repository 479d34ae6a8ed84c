import { toList } from "./plan.ts";

const toNumbers = (from: number, to: number, step = 1) =>
  Array.from({ length: (to - from) / step + 1 }, (_, index) => from + index * step);

/** Choice type → its values, in display order; the types that the styles name and this does not are free text. */
export const choices: Readonly<Record<string, readonly string[]>> = {
  MONFONT: toList("Classic Roman | Interlocking Script | Circle | Diamond | Art Déco | Vine | Block, stacked"),
  ENGFONT: toList("Roman | Script | Block | Old English | Typewriter | Hand"),
  EMBFONT: toList("Script | Block | Roman | Schoolhouse | Fishtail | Natural Circle | Empire | Façade"),
  LETTER: [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"],
  MONTH: toList(
    "January | February | March | April | May | June | July | August | September | October | November | December",
  ),
  DAY: toNumbers(1, 31).map(String),
  YEAR: toNumbers(2015, 2026).map(String).reverse(),
  CREST: toList("Lion | Stag | Oak | Anchor | Thistle | Fleur-de-lis | Shamrock | Eagle, displayed"),
  MOTIF:
    toList(`Anchor | Bee | Crab | Fern | Finch | Heart | Hydrangea | Lobster | Magnolia | Olive Branch | Pineapple |
    Scallop Shell | Wheat | "Mr. & Mrs."`),
  NURMOTIF: toList("Bear | Bunny 🐇 | Duck | Elephant | Fox | Giraffe | Lamb | Moon & Stars | Owl | Whale"),
  WREATH: toList("Laurel | Olive | Holly | Wildflower | Eucalyptus"),
  ZODIAC:
    toList(`Aries ♈ | Taurus ♉ | Gemini ♊ | Cancer ♋ | Leo ♌ | Virgo ♍ | Libra ♎ | Scorpio ♏ | Sagittarius ♐ |
    Capricorn ♑ | Aquarius ♒ | Pisces ♓`),
  BIRTHSTN: toList(`Garnet | Amethyst | Aquamarine | White Topaz | Emerald | Pearl | Ruby | Peridot | Sapphire |
    Opal | Citrine | Blue Topaz`),
  RINGSIZE: toNumbers(4, 13, 0.5).map((size) => `${Math.floor(size)}${size % 1 === 0 ? "" : "½"}`),
  ETCPLACE: toList("Front, centered | Front, low | On the foot"),
  GIFTBOX: toList("No, thank you | Yes, with ribbon"),
  THREAD: toList(`White | Ivory | Crème Brûlée | Champagne | Butter | Gold | Ochre | Apricot | Coral | Terracotta |
    Red | Cranberry | Bordeaux | Blush | Petal | Rose | Fuchsia | Lilac | Lavender | Plum |
    Aubergine | Ice Blue | Sky | Delft | Denim | Royal | Navy | Midnight | Seafoam | Teal |
    Mint | Sage | Celadon | Moss | Hunter | Taupe | Chocolate | Silver | Graphite | Black`),
};
