import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GraphQLError, type GraphQLSchema, type OperationDefinitionNode, parse, validate } from "graphql";
import type { Catalog } from "../catalog/catalog.ts";
import { createRandom } from "../catalog/random.ts";
import { parseSearch, SearchNotSupported } from "../catalog/search.ts";
import type { FaultEffect } from "../faults.ts";
import type { FieldRules } from "../graphql/field-rules.ts";
import { inlineFragments } from "../graphql/selection.ts";
import type { Lag } from "../lag.ts";
import { type LineOrder, writeBulkFile } from "./file.ts";
import { checkRules, InvalidBulkQuery } from "./rules.ts";
import { BulkRun, type RunTiming } from "./run.ts";
import { type BulkWriter, createBulkWriter } from "./writer.ts";

/** Per app and shop, since API version 2026-01. */
const maxActive = 5;
/** Number of runs whose files are kept; older files expire, as on the platform after a week. */
const maxFiles = 20;
const firstNumber = 6_100_000_000_001;

export interface BulkSettings extends RunTiming {
  readonly order: LineOrder;
}

export interface StartRequest {
  readonly appName: string;
  readonly scopes: ReadonlySet<string>;
  readonly query: string;
  readonly groupObjects: boolean;
  readonly fault: FaultEffect | undefined;
}

export interface BulkRunsOptions {
  readonly schema: GraphQLSchema;
  readonly fields: FieldRules;
  readonly catalog: Catalog;
  readonly seed: number;
  readonly settings: BulkSettings;
  readonly lag: Lag;
  readonly now: () => number;
  /**
   * Origin of the download URLs; a function because the port is known only once the server listens.
   */
  readonly origin: () => string;
}

export class BulkRuns {
  readonly #options: BulkRunsOptions;
  readonly #runs: BulkRun[] = [];
  readonly #writing = new Set<Promise<void>>();
  #settings: BulkSettings;
  #folder: string | undefined;

  constructor(options: BulkRunsOptions) {
    this.#options = options;
    this.#settings = options.settings;
  }

  get settings(): BulkSettings {
    return this.#settings;
  }

  change(settings: Partial<BulkSettings>): void {
    this.#settings = { ...this.#settings, ...settings };
  }

  /** Newest first. */
  list(appName?: string): readonly BulkRun[] {
    return this.#runs.filter((run) => appName === undefined || run.appName === appName).toReversed();
  }

  find(id: string): BulkRun | undefined {
    return this.#runs.find((run) => run.id === id);
  }

  /** The file of a download URL, if it exists. */
  findFile(name: string): string | undefined {
    const run = this.#runs.find(({ path }) => path.endsWith(`/${name}`));
    return run !== undefined && (run.url !== null || run.partialDataUrl !== null) ? run.path : undefined;
  }

  /** @returns the payload of the mutation that starts a run */
  start(request: StartRequest) {
    const active = this.list(request.appName).filter((run) => run.isActive);
    if (active.length >= maxActive) {
      const message = `A bulk query operation for this app and shop is already in progress: ${active[0]?.id}.`;
      return { bulkOperation: null, userErrors: [{ code: "OPERATION_IN_PROGRESS", field: null, message }] };
    }
    try {
      const writer = createBulkWriter(this.#options.schema, this.#read(request.query));
      return { bulkOperation: this.#begin(request, writer), userErrors: [] };
    } catch (error) {
      if (!(error instanceof InvalidBulkQuery || error instanceof GraphQLError || error instanceof SearchNotSupported))
        throw error;
      const userErrors = [{ code: "INVALID", field: ["query"], message: error.message }];
      return { bulkOperation: null, userErrors };
    }
  }

  async stop(): Promise<void> {
    for (const run of this.#runs) run.expire();
    await Promise.all(this.#writing);
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #read(query: string): OperationDefinitionNode {
    const document = parse(query);
    const [error] = validate(this.#options.schema, document);
    if (error) throw error;
    const operations = inlineFragments(document);
    checkRules(this.#options.schema, operations);
    return operations[0] as OperationDefinitionNode;
  }

  #begin(request: StartRequest, writer: BulkWriter): BulkRun {
    const { catalog, lag, now, origin, seed } = this.#options;
    const { fault } = request;
    const number = firstNumber + this.#runs.length;
    const denied =
      [...writer.scopes].some((scope) => !request.scopes.has(scope)) || this.#options.fields.denies(request.query);
    const errorCode = denied
      ? "ACCESS_DENIED"
      : fault?.kind === "bulkFailed"
        ? (fault.errorCode ?? "INTERNAL_SERVER_ERROR")
        : undefined;
    const name = `bulk-${number}.jsonl`;
    this.#folder ??= mkdtempSync(join(tmpdir(), "platform-"));
    const run = new BulkRun({
      number,
      appName: request.appName,
      fileUrl: `${origin()}/bulk/${name}?X-Goog-Expires=604800`,
      path: join(this.#folder, name),
      timing: this.#settings,
      errorCode,
      isStuck: fault?.kind === "bulkStuck",
      now,
    });
    const snapshot = catalog.snapshot(parseSearch(writer.search), lag.isOfLists ? () => lag.chooseTime() : undefined);
    const part = denied ? 0 : fault?.kind === "bulkFailed" ? (fault.part ?? 0) : 1;
    const products = Math.floor(snapshot.length * part);
    const order = request.groupObjects ? "nested" : this.#settings.order;
    const random = createRandom(seed + number);
    const { path, signal } = run;
    const repeats = fault?.kind === "bulkRepeated";
    const written = writeBulkFile({ path, snapshot, writer, order, random, products, repeats, signal }, run.progress);
    this.#track(written.then(() => run.finishFile()));
    this.#runs.push(run);
    this.#expireOldest();
    return run;
  }

  #track(writing: Promise<void>): void {
    this.#writing.add(writing);
    void writing.finally(() => this.#writing.delete(writing));
  }

  #expireOldest(): void {
    for (const run of this.#runs.slice(0, -maxFiles)) {
      if (run.status === "EXPIRED") continue;
      run.expire();
      rmSync(run.path, { force: true });
    }
  }
}
