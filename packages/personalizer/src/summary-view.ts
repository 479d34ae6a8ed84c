import { make } from "./dom.ts";
import { type Labels, translate } from "./labels.ts";
import { findStyle, listFilledIn, type Selection } from "./selection.ts";
import type { Style } from "./styles.ts";

/** The chosen style and its values, announced to screen readers. */
export class SummaryView {
  /** Always in the page: screen readers announce only changes inside an existing live region. */
  readonly element = make("div", { "aria-live": "polite", "aria-atomic": "true" });
  #shown = "";

  show(selection: Selection, styles: readonly Style[], labels: Labels): void {
    const style = findStyle(selection, styles);
    const rows = style
      ? [
          [labels.style, style.name] as const,
          ...listFilledIn(selection, style).map(
            ([{ label, choices }, value]) => [label, choices.length > 0 ? translate(value, labels) : value] as const,
          ),
        ]
      : [];
    // Replacing equal content would announce it again.
    const content = JSON.stringify([labels.summary, rows]);
    if (content === this.#shown) return;
    this.#shown = content;
    const terms = rows.flatMap(([name, value]) => [
      make("dt", { dir: "auto" }, name),
      make("dd", { dir: "auto" }, value),
    ]);
    const title = make("div", { part: "summary-title" }, labels.summary);
    this.element.replaceChildren(...(style ? [make("div", { part: "summary" }, title, make("dl", {}, ...terms))] : []));
  }
}
