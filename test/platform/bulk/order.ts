/**
 * `nested`: each parent, then its children. `childrenFirst`: every product's lines backwards. `shuffled`: the lines of
 * some hundred products at a time in any order, so that a reader which leans on order shows it.
 */
export const lineOrders = ["nested", "childrenFirst", "shuffled"] as const;

export type LineOrder = (typeof lineOrders)[number];

/** `chance` answers a number in [0, 1). */
export function arrange(lines: string[], order: LineOrder, chance: () => number): string[] {
  if (order === "nested") return lines;
  if (order === "childrenFirst") return lines.reverse();
  for (let index = lines.length - 1; index > 0; index -= 1) {
    const other = Math.floor(chance() * (index + 1));
    const line = lines[index] as string;
    lines[index] = lines[other] as string;
    lines[other] = line;
  }
  return lines;
}
