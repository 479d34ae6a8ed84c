import type { Choice, Line, Personalization, Style } from "../../src/personalization.ts";
import type { Product } from "../../src/product.ts";
import { choices } from "./choices.ts";
import { type Family, styleCodesOf } from "./offers.ts";
import { createRandom, jumble, type Random } from "./random.ts";
import { styles } from "./styles.ts";

export interface Offer {
  readonly product: Product;
  readonly family: Family;
}

/** Every list a little out of its display order, as the ERP delivers it. */
export function toPersonalization(offers: readonly Offer[]): Personalization {
  const random = createRandom("personalization");
  return {
    pzlines: jumble(offers.flatMap(toLines), 5, random),
    pzstyles: jumble(toStyles(random), 4, random),
    pzchoices: jumble(toChoices(random), 6, random),
  };
}

/** A product offers some styles of its family; now and then one of its SKUs lacks a style, or all of them. */
function toLines({ product, family }: Offer): Line[] {
  const random = createRandom(`personalization of ${product.handle}`);
  const [first, ...others] = styleCodesOf[family].split(" ");
  const some = jumble(others, others.length, random).slice(0, random.int(0, 5));
  const styleCodes = jumble([first as string, ...some], 3, random);
  const toSequence = pickSequence(random);
  return product.variants
    .filter((_, index) => index === 0 || !random.chance(0.05))
    .flatMap(({ sku }) =>
      styleCodes
        .map((style_code, index) => ({
          sku_id: sku,
          style_code,
          style_display_seq: toSequence(index),
          style_sku_status: toStatus(random),
        }))
        .filter(({ style_code }) => style_code === first || !random.chance(0.08)),
    );
}

function toStyles(random: Random): Style[] {
  return Object.entries(styles).flatMap(([style_code, lines]) => {
    const toSequence = pickSequence(random);
    return lines.map(({ choiceType, instruction }, index) => ({
      style_code,
      line_status: toStatus(random),
      line_display_seq: toSequence(index),
      choice_type: choiceType,
      instruct_text: instruction,
    }));
  });
}

function toChoices(random: Random): Choice[] {
  return Object.entries(choices).flatMap(([choice_type, values]) => {
    const toSequence = pickSequence(random);
    return values.map((choice_value, index) => ({
      choice_type,
      choice_status: toStatus(random),
      choice_display_seq: toSequence(index),
      choice_value,
    }));
  });
}

/** Four hands have numbered these lists; only the padded ones sort as text. */
function pickSequence(random: Random): (index: number) => string {
  return random.pick([
    (index: number) => `${(index + 1) * 10}`.padStart(3, "0"),
    (index: number) => `${index + 1}`.padStart(2, "0"),
    (index: number) => `${(index + 1) * 10}`,
    (index: number) => `${index + 1}`,
  ]);
}

const toStatus = (random: Random) => (random.chance(0.95) ? "A" : random.pick(["I", "H"]));
