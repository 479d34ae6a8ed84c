/** The element's own texts in English that the first script needs. `{…}` is a placeholder. */
export const baseLabels = {
  loading: "The personalization options are still loading.",
  failed: "The personalization options could not be loaded.",
  retry: "Try again",
  lost: "Your order no longer includes this personalization: {text}",
};

/** The texts that only the second script needs. */
export const formLabels = {
  title: "Personalization",
  none: "No personalization",
  style: "Style",
  line: "Line",
  optional: "optional",
  select: "Choose…",
  nothing: "None",
  counter: "{count} of {limit}",
  summary: "Your personalization",
  pick: "Please choose a style.",
  fill: "Please fill this in.",
  choose: "Please choose one.",
  shorten: "Please use {limit} characters at most.",
  lengthen: "Please use exactly {limit} characters.",
  remove: "Please remove what cannot be made: {text}",
  space: "a space",
  invisible: "an invisible character",
  again: "Nothing was added yet. Add again to order without it.",
  missing: "The cart lacks this personalization: {text}",
};

/** Adds the texts of the form that the page does not replace. */
export const completeLabels = <Labels extends object>(labels: Labels) => ({ ...formLabels, ...labels });
