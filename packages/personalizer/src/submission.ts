// A form's fields hide its methods and properties of the same name, so these come from prototypes.

const blockingTypes = /^(text|search|tel|url|email|password|date|month|week|time|datetime-local|number)$/;

/**
 * Cancels submissions for which `isAllowed` returns false, also in forms with `novalidate`. It
 * captures the event to run before the listeners of themes that submit by script.
 */
export function guardSubmissions(form: HTMLFormElement, isAllowed: () => boolean, signal: AbortSignal): void {
  const check = (event: Event) => {
    if (isAllowed()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  EventTarget.prototype.addEventListener.call(form, "submit", check, { capture: true, signal });
}

/**
 * Submits the form as the Enter key does in a text field of the form itself: "implicit submission"
 * in the HTML standard. Browsers do not do this for fields in a shadow tree.
 */
export function submitImplicitly(form: HTMLFormElement): void {
  const root = Node.prototype.getRootNode.call(form) as ParentNode;
  const controls = [...root.querySelectorAll<HTMLButtonElement | HTMLInputElement>("button,input")];
  const button = controls.find((control) => control.form === form && /^(submit|image)$/.test(control.type));
  // As in a browser, click handlers of the page run, and a disabled button does nothing.
  if (button) button.click();
  else if (countBlockingFields(form) <= 1) HTMLFormElement.prototype.requestSubmit.call(form);
}

/** Counts the fields of personalization elements as if they were in the form itself. */
function countBlockingFields(form: HTMLFormElement): number {
  const elements = Reflect.get(HTMLFormElement.prototype, "elements", form) as HTMLFormControlsCollection;
  const fields = [...elements].flatMap((control) => [
    control,
    ...(control.shadowRoot?.querySelectorAll("input") ?? []),
  ]);
  return fields.filter((field) => field instanceof HTMLInputElement && blockingTypes.test(field.type)).length;
}
