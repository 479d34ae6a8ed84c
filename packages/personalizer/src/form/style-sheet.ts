const css = `
:host{--_accent:var(--personalization-accent,currentColor);
--_field:var(--personalization-field-border,color-mix(in srgb,currentColor 60%,transparent));
--_muted:var(--personalization-muted,color-mix(in srgb,currentColor 74%,transparent));
--_surface:var(--personalization-surface,color-mix(in srgb,currentColor 5%,transparent));
--_danger:var(--personalization-danger,light-dark(#b3261e,#ffb4ab));
--_gap:var(--personalization-gap,1.25rem)}
dl,dd{margin:0}
fieldset{border:0;margin:0;padding:0;min-inline-size:0;display:grid;gap:var(--_gap)}
[part~=title],[part~=label],[part~=summary-title]{font-weight:600}
[part~=title]{font-size:1.125em;margin-block-end:calc(.75rem - var(--_gap))}
[part~=styles]{display:grid;gap:.5rem}
label{cursor:pointer}
[part~=style],[part~=choice]{border:1px solid var(--_border);border-radius:var(--_radius);overflow-wrap:anywhere}
[part~=style]{display:grid;grid-template-columns:auto minmax(0,1fr);column-gap:.75rem;padding:.7rem .9rem}
[part~=style-name]{font-weight:500}
[part~=style-note]{grid-column:2}
[part~=style-note],[part~=about],[part~=optional],dt{color:var(--_muted);font-size:.875em}
[part~=optional]{font-weight:400}
[part~=image]{inline-size:3rem;block-size:3rem;object-fit:contain}
[part~=style]>[part~=image]{grid-column:3;grid-row:1/3}
[part~=choice]:has(img){align-items:center}
[part~=radio]{accent-color:var(--_accent);inline-size:1.125rem;block-size:1.125rem;margin:.16rem 0 0}
[part~=style]:has(:checked),[part~=choice]:has(:checked){border-color:var(--_accent);box-shadow:inset 0 0 0 1px var(--_accent)}
[part~=style]:hover,[part~=choice]:hover,[part~=field]:hover{border-color:var(--_accent)}
[part~=lines]{display:grid;gap:var(--_gap)}
[part~=line]{display:grid;gap:.4rem;min-inline-size:0}
[part~=label]{overflow-wrap:anywhere;cursor:default}
[part~=choices]{display:flex;flex-wrap:wrap;gap:.5rem}
[part~=choice]{display:flex;gap:.5rem;padding:.55rem .8rem;min-inline-size:0;max-inline-size:100%}
[part~=field]{inline-size:100%;min-block-size:2.85rem;padding:.5rem .8rem;font:inherit;font-size:max(1em,16px);color:inherit;
background:transparent;border:1px solid var(--_field);border-radius:var(--_radius)}
textarea{min-block-size:6em;field-sizing:content;resize:vertical}
[part~=uppercase]{text-transform:uppercase}
[part~=select]{cursor:pointer;text-overflow:ellipsis}
option{background:Canvas;color:CanvasText}
[part~=about]{display:flex;gap:1rem;justify-content:space-between;overflow-wrap:anywhere}
[part~=hint]{min-inline-size:0}
[part~=hint]::first-letter{text-transform:uppercase}
[part~=counter]{white-space:nowrap;font-variant-numeric:tabular-nums}
[part~=counter-full]{font-weight:600}
[part~=message]{color:var(--_danger);font-size:.875em;font-weight:500}
fieldset>[part~=message]{margin-block-start:calc(.4rem - var(--_gap))}
[part~=line-invalid] [part~=field],[part~=line-invalid] [part~=choice]{border-color:var(--_danger)}
[aria-live]:empty{position:absolute}
[part~=summary]{padding:.9rem 1rem;border-radius:var(--_radius);background:var(--_surface);border:1px solid transparent}
dl{display:grid;align-items:baseline;grid-template-columns:fit-content(45%) minmax(0,1fr);gap:.25rem 1rem;margin-block-start:.4rem}
dt,dd{overflow-wrap:anywhere}
dd{white-space:pre-wrap}
[dir]:not(input){text-align:-webkit-match-parent;text-align:match-parent}
:host(:disabled) [part~=form]{opacity:.55}
:host(:disabled) label,:disabled{cursor:not-allowed}
[part~=style]:has(:focus-visible),[part~=choice]:has(:focus-visible){outline:2px solid var(--_focus);outline-offset:2px}
@supports selector(:has(a)){[part~=radio]:focus-visible{outline:none}}
@media (forced-colors:active){
[part~=style]:has(:checked),[part~=choice]:has(:checked){border-color:Highlight}
}
`;

let sheet: CSSStyleSheet | undefined;

/** Complements that of the first script. */
export function styleSheet(): CSSStyleSheet {
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
  }
  return sheet;
}
