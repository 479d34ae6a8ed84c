import type { Labels } from "./labels.ts";
import { type LoadedOptions, loadLabels, loadOptions } from "./load.ts";
import { LoadError, type Wanted } from "./request.ts";

export interface LoadHandlers {
  /** @param labels the element's own texts in the page's language */
  onLoaded(options: LoadedOptions, labels: Partial<Labels>): void;
  onFailed(error: LoadError, labels: Partial<Labels>): void;
}

/** Runs at most one request. Starting another or stopping aborts it and drops its result. */
export class Loader {
  #request: AbortController | undefined;
  #isScheduled = false;

  get isLoading(): boolean {
    return this.#request !== undefined;
  }

  /** Runs `load` once after the current script: attributes set together cause one request. */
  schedule(load: () => void): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      load();
    });
  }

  async load(wanted: Wanted, { onLoaded, onFailed }: LoadHandlers): Promise<void> {
    this.stop();
    const request = new AbortController();
    this.#request = request;
    const [options, labels] = await Promise.all([
      loadOptions(wanted, request).catch((error: LoadError) => error),
      loadLabels(wanted),
    ]);
    if (this.#request !== request) return;
    this.#request = undefined;
    if (options instanceof LoadError) onFailed(options, labels);
    else onLoaded(options, labels);
  }

  stop(): void {
    this.#request?.abort();
    this.#request = undefined;
  }
}
