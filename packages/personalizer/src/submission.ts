// A form's fields hide its methods and properties of the same name, so these come from prototypes.

const blockingTypes = /^(text|search|tel|url|email|password|date|month|week|time|datetime-local|number)$/;

/**
 * Cancels submissions for which `isAllowed` returns false, also in forms with `novalidate`, and
 * clicks on the button that adds to the cart. It captures the events to run before the listeners of
 * themes that submit by script. Buttons with `formnovalidate` submit anything.
 */
export function guardSubmissions(
  form: HTMLFormElement,
  isAllowed: () => boolean,
  onSubmit: () => void,
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
  EventTarget.prototype.addEventListener.call(form, "submit", onSubmitEvent, { capture: true, signal });
  document.addEventListener("click", onClick, { capture: true, signal });
}

type SubmitButton = HTMLButtonElement | HTMLInputElement;

function listSubmitButtons(form: HTMLFormElement): SubmitButton[] {
  const root = Node.prototype.getRootNode.call(form) as ParentNode;
  return [...root.querySelectorAll<SubmitButton>("button,input")].filter(
    (control) => control.form === form && /^(submit|image)$/.test(control.type),
  );
}

/** The form's controls, in the order of the page. */
export const listControls = (form: HTMLFormElement): Element[] => [
  ...(Reflect.get(HTMLFormElement.prototype, "elements", form) as HTMLFormControlsCollection),
];

/** Submits the form if Enter is pressed in a text field or at a radio button. */
export function submitOnEnter(event: KeyboardEvent, findForm: () => HTMLFormElement | null): void {
  if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
  // Later listeners of the page may still prevent the event.
  setTimeout(() => {
    const form = findForm();
    if (!event.defaultPrevented && form) submitImplicitly(form);
  });
}

/**
 * Submits the form as the Enter key does in a text field of the form itself: "implicit submission"
 * in the HTML standard. Browsers do not do this for fields in a shadow tree.
 */
function submitImplicitly(form: HTMLFormElement): void {
  const [button] = listSubmitButtons(form);
  // As in a browser, click handlers of the page run, and a disabled button does nothing.
  if (button) button.click();
  else if (countBlockingFields(form) <= 1) HTMLFormElement.prototype.requestSubmit.call(form);
}

/** Counts the fields of personalization elements as if they were in the form itself. */
function countBlockingFields(form: HTMLFormElement): number {
  const fields = listControls(form).flatMap((control) => [
    control,
    ...(control.shadowRoot?.querySelectorAll("input") ?? []),
  ]);
  return fields.filter((field) => field instanceof HTMLInputElement && blockingTypes.test(field.type)).length;
}
