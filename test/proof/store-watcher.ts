import { SQL } from "bun";
import { keptChanges } from "../../src/database/change.ts";
import type { StoreHistory } from "./store-history.ts";

const pollIntervalMs = 50;
/** A title is at the beginning of its document. */
const titleVersion = `substring(left(document, 300) FROM '"title":"(v[0-9]+)"')`;
/** Longer than reading all products takes on a busy machine. */
const silenceMs = 15_000;

/** The item of all personalization: one generation is current at a time. */
export const personalization = "personalization";
export const itemOf = (id: bigint | string) => `product ${id}`;
/** The version of what was never changed. */
export const original = "v0";

/** Follows what the store holds, through failovers. */
export class StoreWatcher {
  readonly #url: string;
  readonly #history: StoreHistory;
  readonly #markedGroup: string;
  #lastChange = -1;
  #isOver = false;
  readonly #stopped: Promise<void>;

  /** @param markedGroup a choice group whose values name the version of the feed */
  constructor(url: string, history: StoreHistory, markedGroup: string) {
    this.#url = url;
    this.#history = history;
    this.#markedGroup = markedGroup;
    this.#stopped = this.#run();
  }

  /** Whether the store has been read at least once. */
  get hasBegun(): boolean {
    return this.#lastChange >= 0;
  }

  stop(): Promise<void> {
    this.#isOver = true;
    return this.#stopped;
  }

  async #run(): Promise<void> {
    let sql: SQL | undefined;
    while (!this.#isOver) {
      try {
        // A query on a connection to a lost server may never end.
        sql ??= new SQL(this.#url, { max: 1, connectionTimeout: 2, connection: { statement_timeout: `${silenceMs}` } });
        await Promise.race([this.#poll(sql), Bun.sleep(silenceMs).then(() => Promise.reject(new Error("no answer")))]);
      } catch {
        sql?.close({ timeout: 0 }).catch(() => {});
        sql = undefined;
      }
      await Bun.sleep(pollIntervalMs);
    }
    await sql?.close({ timeout: 0 }).catch(() => {});
  }

  async #poll(sql: SQL): Promise<void> {
    const [row] = await sql<{ last: number }[]>`SELECT coalesce(max(id), 0) AS last FROM change`;
    const last = Number(row?.last);
    if (last === this.#lastChange) return;
    const isContinued = this.#lastChange >= 0 && last > this.#lastChange && last - this.#lastChange < keptChanges;
    const changes = isContinued
      ? await sql<{ noun: string; scope: string | null }[]>`
          SELECT noun, scope FROM change WHERE id > ${this.#lastChange} AND id <= ${last}`
      : [];
    const ofProducts = changes.filter(({ noun, scope }) => noun === "product" && !scope?.startsWith("handle:"));
    const isAll = !isContinued || ofProducts.some(({ scope }) => scope === null);
    if (isAll || changes.some(({ noun }) => noun === "personalization")) await this.#readPersonalization(sql);
    if (isAll || ofProducts.length > 0) {
      const ids = ofProducts.map(({ scope }) => Number(scope));
      await this.#readProducts(sql, isAll ? "" : `WHERE id IN (${ids.join(", ")})`);
    }
    this.#lastChange = last;
  }

  async #readProducts(sql: SQL, condition: string): Promise<void> {
    type Row = { id: bigint; version: string | null };
    const rows = await sql.unsafe<Row[]>(`SELECT id, ${titleVersion} AS version FROM product ${condition}`);
    const seenMs = performance.now();
    for (const { id, version } of rows) this.#history.note(itemOf(id), version ?? original, seenMs);
  }

  async #readPersonalization(sql: SQL): Promise<void> {
    const [current] = await sql<{ generation: number }[]>`SELECT generation FROM current_generation LIMIT 1`;
    if (current === undefined) return;
    const [group] = await sql.unsafe<{ rows: string }[]>(
      `SELECT convert_from(rows, 'UTF8') AS rows FROM generation_${current.generation}_group WHERE name = $1`,
      [this.#markedGroup],
    );
    const version = group?.rows.match(/v\d+/)?.[0];
    if (version !== undefined) this.#history.note(personalization, version, performance.now());
  }
}
