export { toForm } from "../../../client/src/form.ts";
export { CartCheck } from "./cart.ts";
export { completeLabels } from "./default-labels.ts";
export { submitOnEnter } from "./enter.ts";
export { listProblems } from "./problems.ts";
export { fitSelection, toEntries, toValue } from "./selection.ts";
export { styleSheet } from "./style-sheet.ts";
export { toStyles } from "./styles.ts";
export { drawForm } from "./view.ts";
