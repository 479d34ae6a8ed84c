/** An answer that the service may say is still right. */
export interface Remembered {
  readonly tag: string;
  readonly text: string;
}

export interface Memory {
  find(path: string): Remembered | undefined;
  save(path: string, answer: Remembered): void;
}

/** Keeps the answers that were saved last; one that is still right is saved again. @param size how many at most */
export function createMemory(size: number): Memory {
  // A map lists its keys in the order in which they were set.
  const answers = new Map<string, Remembered>();
  return {
    find: (path) => answers.get(path),
    save(path, answer) {
      answers.delete(path);
      answers.set(path, answer);
      for (const oldest of answers.keys()) {
        if (answers.size <= size) return;
        answers.delete(oldest);
      }
    },
  };
}
