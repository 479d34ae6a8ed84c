import { baseLabels, type Labels } from "../labels.ts";

/** In English. */
const formLabels = {
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
  missing: "The cart lacks this personalization: {text}",
};

/** All of the element's own texts in English. */
export const defaultLabels = { ...formLabels, ...baseLabels };

/** Adds the texts of the form that the page does not replace. */
export const completeLabels = (labels: Labels): Labels => ({ ...formLabels, ...labels });
