import { listControls, listSubmitButtons } from "../submission.ts";

const blockingTypes = /^(text|search|tel|url|email|password|date|month|week|time|datetime-local|number)$/;

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
  // Fields of the form may hide its method.
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
