/** The end of a message about an unknown name: the most similar valid name, or all of them. */
export function suggest(name: string, valid: readonly string[], noun: string): string {
  const similar = findSimilar(name, valid);
  return similar === undefined ? `the ${noun} are ${valid.join(", ")}` : `did you mean ${JSON.stringify(similar)}?`;
}

const maxNameLength = 100;

/** @returns the valid name that was probably meant */
export function findSimilar(name: string, valid: readonly string[]): string | undefined {
  if (name.length > maxNameLength) return undefined;
  const byDistance = valid
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [closest] = byDistance;
  return closest !== undefined && closest.distance <= Math.max(1, name.length / 3) ? closest.candidate : undefined;
}

/** Counts the characters to insert, delete, or replace, and the neighbors to swap. */
function editDistance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= to.length; column++) {
      const replaced = at(row - 1, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swapped = isSwap ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY;
      rows[row]?.push(Math.min(replaced, swapped, at(row - 1, column) + 1, at(row, column - 1) + 1));
    }
  }
  return at(from.length, to.length);
}
