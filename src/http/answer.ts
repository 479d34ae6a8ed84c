/** What a handler answers with; `endpoint` in `server.ts` makes the response of it. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}
