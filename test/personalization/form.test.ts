import { expect, test } from "bun:test";
import { FormRenderer } from "../../src/personalization/form.ts";
import { toGroup, toStyle } from "../../src/personalization/render.ts";

const encode = (text: string) => new TextEncoder().encode(text);

test("a form of more than 16 MB is refused before the rest of it is written", () => {
  const choice = { choice_type: "G", choice_status: "A", choice_display_seq: "1", choice_value: "x".repeat(2 ** 20) };
  const line = { style_code: "S", line_status: "A", line_display_seq: "1", choice_type: "G", instruct_text: "Pick" };
  const group = toGroup({ number: 1, name: "G", rows: encode(JSON.stringify(choice)) });
  const rows = encode(Array(5).fill(JSON.stringify(line)).join(","));
  let written = 0;
  // Each writes the value ten times: as the name of the choice, too.
  const styles = Array.from({ length: 100 }, (_, number) => {
    const style = toStyle({ number, code: `S${number}`, rows, groups: [1] });
    return Object.defineProperty(style, "rows", {
      get: () => {
        written++;
        return rows;
      },
    });
  });
  const forms = new FormRenderer("acme", undefined, "en", 2 ** 25);
  const find = () => forms.find({} as never, "SKU", "en", new Uint8Array(), () => [styles, [group]]);
  expect(find).toThrow("The form is larger than 16 MB");
  expect(written).toBe(2);
});
