/** The values of a metric, each with its labels. */
export type Samples = readonly (readonly [value: number, labels?: Readonly<Record<string, string>>])[];

/** A metric as its subject measures it. */
export interface Metric {
  readonly type: "counter" | "gauge";
  /** Without the prefix `pds_`. */
  readonly name: string;
  readonly help: string;
  /** The names of its labels. */
  readonly labels: readonly string[];
  readonly samples: Samples;
}

const createOf =
  (type: Metric["type"]) =>
  /** @param labels the names of its labels, separated by spaces */
  (name: string, help: string, labels: string, samples: Samples): Metric => ({
    type,
    name,
    help,
    labels: labels === "" ? [] : labels.split(" "),
    samples,
  });

export const counter = createOf("counter");
export const gauge = createOf("gauge");
