import type { Queryable } from "../database/database.ts";

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

/** As of one moment. */
export interface GenerationList {
  /** Changes whenever another generation becomes current. */
  readonly version: string;
  readonly generations: readonly CurrentGeneration[];
}

export interface CurrentGeneration {
  readonly id: number;
  readonly brand: string;
  readonly loadedAt: string;
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
