// A form's fields hide its methods and properties of the same name, so these come from prototypes.

/**
 * Cancels submissions for which `isAllowed` returns false, also in forms with `novalidate`, and
 * clicks on the button that adds to the cart. It captures the events to run before the listeners of
 * themes that submit by script. Buttons with `formnovalidate` submit anything.
 */
export function guardSubmissions(
  form: HTMLFormElement,
  isAllowed: () => boolean,
  onSubmit: () => void,
  onFormData: (data: FormData) => void,
  signal: AbortSignal,
): void {
  const check = (event: Event, button: SubmitButton | null | undefined, isSubmitted: boolean) => {
    if (!button?.formNoValidate && !isAllowed()) {
      event.preventDefault();
      event.stopImmediatePropagation();
    } else if (isSubmitted) onSubmit();
  };
  const onSubmitEvent = (event: Event) => check(event, (event as SubmitEvent).submitter as SubmitButton, true);
  const onClick = (event: Event) => {
    // Outside its shadow tree, a button's event has another target. A page may dispatch one anywhere.
    const button = (event.composedPath()[0] as Element).closest?.<SubmitButton>("button,input");
    const buttons = listSubmitButtons(form);
    // Other buttons may lack `type="button"`, such as those of themes that change the quantity.
    const adds = button && buttons.includes(button) && (buttons.length === 1 || button.name === "add");
    if (!adds || button.matches(":disabled")) return;
    check(event, button, false);
    // A theme that handles the click itself prevents the submission.
    if (!event.defaultPrevented) setTimeout(() => event.defaultPrevented && onSubmit());
  };
  const options = { capture: true, signal };
  const listen = EventTarget.prototype.addEventListener;
  listen.call(form, "submit", onSubmitEvent, options);
  listen.call(form, "formdata", (event) => onFormData((event as FormDataEvent).formData), options);
  listen.call(document, "click", onClick, options);
}

type SubmitButton = HTMLButtonElement | HTMLInputElement;

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
