/** @jsxImportSource hono/jsx */
import type { Personalization, Style } from "../../contract/personalization.ts";
import { urlWithQuery } from "../urls.ts";

interface PersonalizationTreeProps {
  /** In display order. */
  readonly personalization: Personalization;
  readonly brand: string;
}

export function PersonalizationTree({ personalization, brand }: PersonalizationTreeProps) {
  const linesByStyle = Map.groupBy(personalization.pzstyles, ({ style_code }) => style_code);
  return (
    <ol class="tree">
      {personalization.pzlines.map(({ style_code, style_display_seq, style_sku_status }) => {
        const lines = linesByStyle.get(style_code) ?? [];
        return (
          <li>
            <p>
              <a class="strong" href={urlWithQuery("/personalization", { style: style_code, brand })}>
                {style_code}
              </a>{" "}
              <Codes sequence={style_display_seq} status={style_sku_status} />
            </p>
            {lines.length === 0 ? (
              <p class="stale">The feed does not define this style.</p>
            ) : (
              <ol>
                {lines.map((line) => (
                  <Line line={line} personalization={personalization} brand={brand} />
                ))}
              </ol>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function Line({ line, personalization, brand }: PersonalizationTreeProps & { readonly line: Style }) {
  const { instruct_text, choice_type, line_display_seq, line_status } = line;
  const choices = personalization.pzchoices.filter((choice) => choice.choice_type === choice_type);
  return (
    <li>
      <p>
        {instruct_text === "" ? <span class="muted">no instructions</span> : instruct_text}{" "}
        <Codes sequence={line_display_seq} status={line_status} />
      </p>
      <p>
        <a href={urlWithQuery("/personalization", { group: choice_type, brand })}>{choice_type}</a>
        {choices.length === 0 && <span class="muted"> free text (the group has no choices)</span>}
      </p>
      {choices.length !== 0 && (
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
  <span class="muted codes">
    sequence {sequence}, status {status === "" ? "empty" : status}
  </span>
);
