import { expect, test } from "bun:test";
import { fingerprintOf, presentationFingerprint } from "../../src/personalization/fingerprint.ts";
import { FormRenderer } from "../../src/personalization/form.ts";
import { writeLine } from "../../src/personalization/packed-lines.ts";
import { render, renderBatch, type SkuParts, toGroup, toStyle } from "../../src/personalization/render.ts";

const encode = (rows: object[]) => new TextEncoder().encode(rows.map((row) => JSON.stringify(row)).join(","));

/** A SKU with one style, and a group whose only choice has some characters. */
function toParts(sku: string, characters: number): SkuParts {
  const bytes = new Uint8Array(100);
  const lines = bytes.slice(0, writeLine(bytes, 0, 1, "1", "A"));
  const style = toStyle({ number: 1, code: "S", rows: encode([{ style_code: "S" }]), groups: [1] });
  const group = toGroup({ number: 1, name: "G", rows: encode([{ choice_value: "x".repeat(characters) }]) });
  return { sku, lines, styles: [style], groups: [group] };
}

const lengthsOf = (parts: readonly (SkuParts | undefined)[]) => {
  const { body } = renderBatch(
    parts.map((one) => one?.sku ?? '"?'),
    parts,
  );
  type Batch = { personalizations: { sku: string; pzlines: object[]; pzchoices: { choice_value: string }[] }[] };
  const { personalizations } = JSON.parse(new TextDecoder().decode(body)) as Batch;
  return personalizations.map(({ sku, pzlines, pzchoices }) => [
    sku,
    pzlines.length,
    pzchoices[0]?.choice_value.length,
  ]);
};

test("a batch may have any size, and keeps its bytes while another is made", () => {
  const large = Array.from({ length: 50 }, (_, index) => toParts(`SKU ${index}`, 20_000));
  expect(lengthsOf(large)).toEqual(large.map(({ sku }) => [sku, 1, 20_000]));
  const small = [toParts('"', 3), undefined, toParts("é", 0)];
  const { body } = renderBatch(["a", "b", "c"], small);
  const before = new TextDecoder().decode(body);
  expect(lengthsOf(small)).toEqual([
    ['"', 1, 3],
    ['"?', 0, undefined],
    ["é", 1, 0],
  ]);
  expect(new TextDecoder().decode(body)).toBe(before);
});

test("a response changes with its SKU, styles, and groups, and a form with the presentation, too", async () => {
  const parts = toParts("SKU", 3);
  const names = ["SKU", "S", "G"].map(fingerprintOf).toSorted();
  expect(render(parts).fingerprints.toSorted()).toEqual(names);
  const batch = renderBatch(["SKU", "unknown"], [parts, undefined]);
  expect(batch.fingerprints.toSorted()).toEqual([...names, fingerprintOf("unknown")].toSorted());
  const form = await new FormRenderer("acme", undefined, "en", 0).find({} as never, "SKU", "en", () => parts);
  const ofForm = [...names, presentationFingerprint("acme")].toSorted();
  expect(form).toMatchObject({ isEmpty: false });
  expect(form === "outdated" ? [] : form.fingerprints.toSorted()).toEqual(ofForm);
});
