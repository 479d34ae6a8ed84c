type Value = string | boolean | undefined | ((event: Event) => void);

/** An element of the page as it should be. */
export interface Shape {
  readonly tag: string;
  readonly key: string | undefined;
  readonly values: Readonly<Record<string, Value>>;
  readonly children: readonly (Shape | false)[];
}

/**
 * Describes an element. Data reaches the page only through text and through attributes that cannot
 * run scripts.
 * @param values attributes and properties; `key` identifies the element among its siblings
 */
export function shape(
  tag: string,
  { key, ...values }: Readonly<Record<string, Value>>,
  ...children: readonly (Shape | false)[]
): Shape {
  return { tag, key: key as string | undefined, values, children };
}

const keys = new WeakMap<Element, string>();

/** The value and whether it is checked, as described. The shopper may have changed it since then. */
export const described = new WeakMap<Element, Record<string, Value>>();

/**
 * Makes the children of an element as described. Elements that stay are updated in place: one that
 * is replaced or moved in the middle of a click loses the click or the focus.
 */
export function draw(parent: Element | ShadowRoot, shapes: readonly (Shape | false)[]): void {
  const wanted = new Map(
    shapes.flatMap((one, index): [string, Shape][] => (one ? [[`${one.tag} ${one.key ?? index}`, one]] : [])),
  );
  const present = new Map<string | undefined, Element>();
  for (const child of [...parent.children]) {
    const key = keys.get(child);
    if (key !== undefined && wanted.has(key)) present.set(key, child);
    else child.remove();
  }
  let place = parent.firstElementChild;
  for (const [key, { tag, values, children }] of wanted) {
    const element = present.get(key) ?? document.createElement(tag);
    keys.set(element, key);
    if (element === place) place = element.nextElementSibling;
    else parent.insertBefore(element, place);
    if (children.length > 0 || element.firstElementChild) draw(element, children);
    // The value of a list needs its options.
    for (const [name, value] of Object.entries(values)) set(element, name, value);
  }
}

/**
 * Changes only what differs: screen readers announce texts that are set again. Input that no event
 * has reported stays.
 */
function set(element: Element, name: string, value: Value): void {
  if (/^(on.*|checked|value|textContent)$/.test(name)) {
    const values = described.get(element) ?? {};
    described.set(element, values);
    const isSame = /^(checked|value)$/.test(name) && values[name] === value;
    values[name] = value;
    if (!isSame && Reflect.get(element, name) !== value) Reflect.set(element, name, value);
  } else if (value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== `${value === true ? "" : value}`) {
    element.setAttribute(name, `${value === true ? "" : value}`);
  }
}
