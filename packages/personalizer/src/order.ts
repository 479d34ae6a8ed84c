import type { Problem } from "./form/problems.ts";
import type { PersonalizationValue } from "./form/selection.ts";
import type { Field, Style } from "./form/styles.ts";
import type { FormScript } from "./import-form.ts";
import type { Labels } from "./labels.ts";
import type { LoadedOptions } from "./load.ts";
import { type Entry, keyOf, listLost, nothingSelected, parseState, type Selection, toState } from "./selection.ts";
import { fillIn, translate } from "./texts.ts";

const phases = ["loading", "ready", "empty", "failed"] as const;

export type Phase = (typeof phases)[number];

const doubleClickMs = 1000;

/** The options of a SKU and the shopper's input, which together decide what is ordered. */
export class Order {
  phase: Phase = "empty";
  isDisabled = false;
  /** Undefined until a SKU has options. */
  #form: FormScript | undefined;
  #labels: Labels;
  #required = false;
  #options: LoadedOptions | undefined;
  #locale = "en";
  #styles: readonly Style[] = [];
  /** All input, including what this SKU does not offer: the next one may. */
  #entered = nothingSelected;
  /** The part of the input that this SKU offers. */
  #selection = nothingSelected;
  /** The lost input that has already blocked a submission. */
  #reportedLoss = "";
  #reportedAtMs = 0;
  /** Names of the styles and choices that were selected, as the shopper saw them. */
  readonly #names = new Map<string, string>();

  constructor(labels: Labels) {
    this.#labels = labels;
  }

  get labels(): Labels {
    return this.#labels;
  }
  get required(): boolean {
    return this.#required;
  }
  get selection(): Selection {
    return this.#selection;
  }
  /** The styles in the page; of the previous SKU while the next one loads. */
  get styles(): readonly Style[] {
    return this.#styles;
  }
  /** Whether nothing was entered, or the form was reset. */
  get isUntouched(): boolean {
    return this.#entered === nothingSelected;
  }
  /** The input, for the browser to restore. */
  get state(): string {
    return toState(this.#entered);
  }

  /** Null without personalization. */
  get value(): PersonalizationValue | null {
    return this.#form?.toValue(this.#selection, this.#offered) ?? null;
  }

  /** Whether missing options block orders. While loading, input blocks too: it would be lost. */
  get isBlocked(): boolean {
    if (this.phase === "failed") return this.#required;
    return this.phase === "loading" && (this.#required || this.#entered.style !== undefined);
  }

  get isComplete(): boolean {
    return !this.isBlocked && this.listProblems().length === 0;
  }

  /**
   * @param options undefined if there are none
   * @param locale of the page
   */
  settle(phase: Exclude<Phase, "empty">, options: LoadedOptions | undefined, locale: string): void {
    this.phase = phase;
    this.#options = options;
    this.#form ??= options?.form;
    this.#locale = locale;
    this.describe(this.#labels, this.#required);
    if (phase === "ready" && this.#styles.length === 0) this.phase = "empty";
  }

  describe(labels: Labels, required: boolean): void {
    this.#labels = this.#form?.completeLabels(labels) ?? labels;
    this.#required = required;
    this.#styles = this.#form?.toStyles(this.#options?.styles ?? [], this.#labels, this.#locale) ?? [];
    this.#select(this.#entered);
  }

  chooseStyle(code: string | undefined): void {
    this.#select({ ...this.#entered, style: code });
  }

  enter(style: Style, field: Field, value: string): void {
    const values = new Map(this.#entered.values).set(keyOf(style, field), value);
    this.#select({ style: style.code, values });
  }

  clear(): void {
    this.#select(nothingSelected);
  }

  restore(state: unknown): void {
    this.#select(parseState(state) ?? this.#entered);
  }

  listProblems(): Problem[] {
    return this.#form?.listProblems(this.#selection, this.#offered, this.#labels, this.#required) ?? [];
  }

  /**
   * The form entries; empty while disabled.
   * @param place of the element among those in its form, from 1
   */
  toEntries(place: number): Entry[] {
    if (this.isDisabled) return [];
    const tag = this.#options?.tag ?? "";
    return this.#form?.toEntries(this.#selection, this.#offered, this.#labels, tag, place) ?? [];
  }

  /** Explains why there are no options; empty if none are expected. */
  phaseMessage(): string {
    const { loading, failed } = this.#labels;
    return this.phase === "loading" ? loading : this.phase === "failed" ? failed : "";
  }

  /** Names the lost input; empty if nothing is lost. */
  lossMessage(): string {
    const text = (this.#listLost() ?? [])
      .map(([key, text]) => translate(text, this.#labels, this.#names.get(key)))
      .join(", ");
    return text && fillIn(this.#labels.lost, { text });
  }

  /**
   * Returns true once for each loss, and for a second afterwards: the second click of a double click
   * is no answer to it. It compares data, because labels may change.
   */
  reportLoss(): boolean {
    const lost = this.#listLost();
    if (lost === undefined) return false;
    const loss = lost.length > 0 ? JSON.stringify(lost) : "";
    if (loss !== this.#reportedLoss) this.#reportedAtMs = performance.now();
    this.#reportedLoss = loss;
    return loss !== "" && performance.now() - this.#reportedAtMs < doubleClickMs;
  }

  forgetReportedLoss(): void {
    this.#reportedLoss = "";
  }

  /** Custom states, for style sheets. */
  listStates(): [name: string, isOn: boolean][] {
    return [
      ...phases.map((phase): [string, boolean] => [phase, phase === this.phase]),
      ["lost", this.lossMessage() !== ""],
      ["chosen", this.value !== null],
      ["incomplete", !this.isDisabled && !this.isComplete],
    ];
  }

  get #offered(): readonly Style[] {
    return this.phase === "ready" ? this.#styles : [];
  }

  /** Lists the input that the order lacks; undefined while unknown or while orders are blocked. */
  #listLost(): [key: string, text: string][] | undefined {
    if (this.isDisabled || this.phase === "loading" || this.isBlocked) return undefined;
    return listLost(this.#entered, this.#offered.length > 0 ? this.#selection : nothingSelected);
  }

  #select(selection: Selection): void {
    this.#entered = selection;
    // Before the first options arrive, all input counts as offered.
    const form = this.#styles.length > 0 ? this.#form : undefined;
    this.#selection = form?.fitSelection(selection, this.#styles, this.#required, this.#names) ?? selection;
    if (this.#listLost()?.length === 0) this.#reportedLoss = "";
  }
}
