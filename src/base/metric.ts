export type Samples = readonly (readonly [value: number, labels?: Readonly<Record<string, string>>])[];

export interface Metric {
  readonly type: "counter" | "gauge";
  /** Without the prefix `pds_`. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly samples: Samples;
}

const createOf =
  (type: Metric["type"]) =>
  /** @param labels label names, separated by spaces */
  (name: string, help: string, labels: string, samples: Samples): Metric => ({
    type,
    name,
    help,
    labels: labels === "" ? [] : labels.split(" "),
    samples,
  });

export const counter = createOf("counter");
export const gauge = createOf("gauge");
