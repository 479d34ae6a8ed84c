const css = `
:host{display:block;line-height:1.45;text-align:start;min-block-size:var(--personalization-height,auto);
--_border:var(--personalization-border,color-mix(in srgb,currentColor 28%,transparent));
--_focus:var(--personalization-focus,light-dark(#1a56db,#8ab4f8));
--_radius:var(--personalization-radius,.5rem)}
:host([hidden]){display:none}
:host(:state(empty):not(:state(lost))){display:none}
[hidden]{display:none!important}
*,::before,::after{box-sizing:border-box}
p{margin:0}
[part~=notice]{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;justify-content:space-between;padding:.7rem 1rem;margin-block-start:.5rem;
border:1px solid var(--_border);border-radius:var(--_radius)}
[part~=notice] p{flex:1 1 12rem}
[part~=retry]{font:inherit;color:inherit;background:transparent;border:1px solid currentColor;border-radius:var(--_radius);
padding:.45rem .9rem;cursor:pointer}
@keyframes wait{to{min-block-size:3rem;background:var(--_border)}}
[part~=loading]{animation:wait 0s .5s both}
:focus-visible,[part~=notice]:focus{outline:2px solid var(--_focus);outline-offset:2px}
`;

let sheet: CSSStyleSheet | undefined;

/** Shared by all elements. A strict content security policy allows constructed style sheets. */
export function styleSheet(): CSSStyleSheet {
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
  }
  return sheet;
}
