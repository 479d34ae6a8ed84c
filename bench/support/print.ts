export const print = (line: string) => void process.stdout.write(`${line}\n`);

export const seconds = (ms: number, digits = 2) => `${(ms / 1000).toFixed(digits)} s`;

export const microseconds = (ms: number) => `${(ms * 1000).toFixed(0)} µs`;
