/** The largest id of runs, versions, and audit records, which are 32-bit integers. */
export const maxId = 2 ** 31 - 1;

export function parseId(text: string): number | undefined {
  const id = Number(text);
  return /^[1-9]\d*$/.test(text) && id <= maxId ? id : undefined;
}
