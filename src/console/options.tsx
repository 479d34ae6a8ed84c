/** @jsxImportSource hono/jsx */
import type { Personalization, Style } from "../personalization.ts";
import { addressOf } from "./page.ts";

interface OptionsProps {
  /** In display order. */
  readonly found: Personalization;
  readonly brand: string;
}

/** What a SKU offers, as a tree: style, line, choices. */
export function Options({ found, brand }: OptionsProps) {
  const linesOf = Map.groupBy(found.pzstyles, ({ style_code }) => style_code);
  return (
    <ol class="tree">
      {found.pzlines.map(({ style_code, style_display_seq, style_sku_status }) => {
        const lines = linesOf.get(style_code) ?? [];
        return (
          <li>
            <p>
              <a class="strong" href={addressOf("/personalization", { style: style_code, brand })}>
                {style_code}
              </a>{" "}
              <Codes sequence={style_display_seq} status={style_sku_status} />
            </p>
            {lines.length === 0 ? (
              <p class="too-old">The feed has no style of this code.</p>
            ) : (
              <ol>
                {lines.map((line) => (
                  <LineOfStyle line={line} found={found} brand={brand} />
                ))}
              </ol>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function LineOfStyle({ line, found, brand }: OptionsProps & { readonly line: Style }) {
  const { instruct_text, choice_type, line_display_seq, line_status } = line;
  const choices = found.pzchoices.filter((choice) => choice.choice_type === choice_type);
  return (
    <li>
      <p>
        {instruct_text === "" ? <span class="quiet">without instructions</span> : instruct_text}{" "}
        <Codes sequence={line_display_seq} status={line_status} />
      </p>
      <p>
        <a href={addressOf("/personalization", { group: choice_type, brand })}>{choice_type}</a>
        {choices.length === 0 ? <span class="quiet"> free text: the group has no choices</span> : ""}
      </p>
      {choices.length === 0 ? (
        ""
      ) : (
        <ul class="chips">
          {choices.map(({ choice_value, choice_display_seq, choice_status }) => (
            <li title={`sequence ${choice_display_seq}, status ${choice_status}`}>{choice_value}</li>
          ))}
        </ul>
      )}
    </li>
  );
}

const Codes = ({ sequence, status }: { readonly sequence: string; readonly status: string }) => (
  <span class="quiet codes">
    sequence {sequence}, status {status === "" ? "empty" : status}
  </span>
);
