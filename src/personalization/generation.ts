import type { Queryable } from "../database/database.ts";

/** Each brand's current generation. */
export async function listCurrentGenerations({
  sql,
}: Queryable): Promise<{ readonly brand: string; readonly generation: number }[]> {
  return await sql`SELECT brand, generation FROM current_generation ORDER BY brand`;
}

/** A complete generation and its size. */
export interface Generation {
  readonly id: number;
  readonly brand: string;
  readonly loadedAt: string;
  readonly isCurrent: boolean;
  /** When it became the current one; null when it isn't. */
  readonly since: string | null;
  /** Rows of the three files. */
  readonly rows: number;
  readonly skus: number;
  readonly styles: number;
  readonly choices: number;
}

/** Every brand's complete generations, the newest first. */
export async function listGenerations({ read }: Queryable): Promise<Generation[]> {
  const rows = await read<Omit<Generation, "isCurrent"> & { readonly current: number | null }>(
    `SELECT generation.id, generation.brand, loaded_at AS "loadedAt", current_generation.generation AS current, since,
      row_count AS rows, skus, styles, choices
    FROM generation LEFT JOIN current_generation ON current_generation.generation = generation.id
    WHERE state = 'complete' ORDER BY generation.brand, generation.id DESC`,
    [],
  );
  return rows.map(({ current, ...generation }) => ({ ...generation, isCurrent: current !== null }));
}

/** A generation that may be complete, or not. */
export interface GenerationState {
  readonly brand: string;
  readonly state: "loading" | "complete" | "removed";
}

/** @returns undefined when there is no such generation */
export async function findGenerationState({ sql }: Queryable, id: number): Promise<GenerationState | undefined> {
  const [generation] = await sql<GenerationState[]>`SELECT brand, state FROM generation WHERE id = ${id}`;
  return generation;
}

/** The current generations, as of one moment. */
export interface GenerationList {
  /** Changes whenever another generation becomes current. */
  readonly version: string;
  readonly generations: readonly CurrentGeneration[];
}

export interface CurrentGeneration {
  readonly id: number;
  readonly brand: string;
  readonly loadedAt: string;
  /** The brand's current presentation. */
  readonly presentation: { readonly id: number; readonly loadedAt: string } | undefined;
}

/** @param brand the one whose generation comes first; the others are ordered by brand */
export async function readGenerationList({ read }: Queryable, brand: string): Promise<GenerationList> {
  type Row = Omit<CurrentGeneration, "id" | "presentation"> & { version: string; id: number | null } & Shown;
  type Shown = { shown: number | null; shownAt: string };
  const rows = await read<Row>(
    `SELECT version, generation.id, generation.brand, generation.loaded_at AS "loadedAt",
      presentation.id AS shown, presentation.loaded_at AS "shownAt"
    FROM generation_list
    LEFT JOIN current_generation ON TRUE LEFT JOIN generation ON generation.id = current_generation.generation
    LEFT JOIN presentation ON presentation.brand = generation.brand AND presentation.since IS NOT NULL
    ORDER BY CASE generation.brand WHEN $1 THEN 0 ELSE 1 END, generation.brand`,
    [brand],
  );
  const generations = rows.flatMap(({ id, brand, loadedAt, shown, shownAt }): CurrentGeneration[] => {
    const presentation = shown === null ? undefined : { id: shown, loadedAt: shownAt };
    return id === null ? [] : [{ id, brand, loadedAt, presentation }];
  });
  return { version: rows[0]?.version ?? "", generations };
}

export interface LastGeneration {
  readonly id: number;
  /** The files it was loaded from, as JSON. */
  readonly feed: string | null;
  /** The brand's current generation, which is an older one after a rollback. */
  readonly current: number;
  /** The files that the current one was loaded from. */
  readonly currentFeed: string | null;
}

/** The generation of the brand that was loaded last. */
export async function findLastGeneration({ sql }: Queryable, brand: string): Promise<LastGeneration | undefined> {
  const [last] = await sql<LastGeneration[]>`
    SELECT last.id, last.feed, now.id AS current, now.feed AS "currentFeed"
    FROM generation last
    JOIN current_generation ON current_generation.brand = last.brand
    JOIN generation now ON now.id = current_generation.generation
    WHERE last.brand = ${brand} AND last.state = 'complete' ORDER BY last.id DESC LIMIT 1`;
  return last;
}

/** The brand's current generation and the one before it; undefined when that one was removed. */
export async function findPreviousGeneration(
  { sql }: Queryable,
  brand: string,
): Promise<{ readonly current: number; readonly previous: number } | undefined> {
  const [found] = await sql<{ current: number; previous: number }[]>`
    SELECT now.id AS current, before.id AS previous FROM current_generation
    JOIN generation now ON now.id = current_generation.generation
    JOIN generation before ON before.id = now.previous AND before.state = 'complete'
    WHERE current_generation.brand = ${brand}`;
  return found;
}
