import { LoadError, type LoadedOptions, loadOptions } from "./load.ts";

export interface LoadHandlers {
  onLoaded(options: LoadedOptions): void;
  onFailed(error: LoadError): void;
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

  async load(endpoint: string, sku: string, { onLoaded, onFailed }: LoadHandlers): Promise<void> {
    this.stop();
    const request = new AbortController();
    this.#request = request;
    try {
      const options = await loadOptions(endpoint, sku, request.signal);
      if (request.signal.aborted) return;
      this.#request = undefined;
      onLoaded(options);
    } catch (error) {
      if (request.signal.aborted) return;
      this.#request = undefined;
      if (!(error instanceof LoadError)) throw error;
      onFailed(error);
    }
  }

  stop(): void {
    this.#request?.abort();
    this.#request = undefined;
  }
}
