interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor?: string | null };
}

export async function* listPages<Node>(
  read: (after: string | null) => Promise<Page<Node>>,
): AsyncGenerator<readonly Node[]> {
  for (let after: string | null = null; ; ) {
    const { nodes, pageInfo }: Page<Node> = await read(after);
    yield nodes;
    if (!pageInfo.hasNextPage) return;
    after = pageInfo.endCursor ?? null;
  }
}
