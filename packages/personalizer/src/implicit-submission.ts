const blockingTypes = /^(text|search|tel|url|email|password|date|month|week|time|datetime-local|number)$/;

/**
 * Does what Enter does in a text field of the form, as the HTML standard defines implicit
 * submission. The browser itself doesn't do it for fields in a shadow tree.
 */
export function submitImplicitly(form: HTMLFormElement): void {
  const page = form.getRootNode() as ParentNode;
  const controls = [...page.querySelectorAll<HTMLButtonElement | HTMLInputElement>("button,input")];
  const button = controls.find((control) => control.form === form && /^(submit|image)$/.test(control.type));
  // A click is what the browser does here: the page's click handlers run, and a disabled button does nothing.
  if (button) button.click();
  else if (countBlockingFields(form) <= 1) form.requestSubmit();
}

/** The fields of this element, and of others like it, count as if they were in the form itself. */
function countBlockingFields(form: HTMLFormElement): number {
  const fields = [...form.elements].flatMap((control) => [
    control,
    ...(control.shadowRoot?.querySelectorAll("input") ?? []),
  ]);
  return fields.filter((field) => field instanceof HTMLInputElement && blockingTypes.test(field.type)).length;
}
