// A form's fields hide its methods and properties of the same name, so these come from prototypes.

export type SubmitButton = HTMLButtonElement | HTMLInputElement;

export function listSubmitButtons(form: HTMLFormElement): SubmitButton[] {
  const root = Node.prototype.getRootNode.call(form) as ParentNode;
  return [...root.querySelectorAll<SubmitButton>("button,input")].filter(
    (control) => control.form === form && /^(submit|image)$/.test(control.type),
  );
}

/** The form's controls, in the order of the page. */
export const listControls = (form: HTMLFormElement): Element[] => [
  ...(Reflect.get(HTMLFormElement.prototype, "elements", form) as HTMLFormControlsCollection),
];
