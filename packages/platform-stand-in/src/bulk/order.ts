/**
 * `nested`: each parent before its children. `childrenFirst`: the lines of a batch in reverse.
 * `shuffled`: the lines of a batch of products in random order, which exposes readers that rely on
 * the order.
 */
export const lineOrders = ["nested", "childrenFirst", "shuffled"] as const;

export type LineOrder = (typeof lineOrders)[number];

/** `random` returns a number in [0, 1). */
export function arrange(lines: string[], order: LineOrder, random: () => number): string[] {
  if (order === "nested") return lines;
  if (order === "childrenFirst") return lines.reverse();
  for (let index = lines.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    const line = lines[index] as string;
    lines[index] = lines[other] as string;
    lines[other] = line;
  }
  return lines;
}
