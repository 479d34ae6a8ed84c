/** @returns the path of the first mismatch, such as `.shop.id`; undefined if there is none */
export type Shape = (value: unknown) => string | undefined;

const typed =
  (type: "string" | "number" | "boolean"): Shape =>
  (value) =>
    typeof value === type ? undefined : "";

export const string = typed("string");
export const number = typed("number");
export const boolean = typed("boolean");

const matching =
  (pattern: RegExp): Shape =>
  (value) =>
    typeof value === "string" && pattern.test(value) ? undefined : "";

export const digits = matching(/^\d{1,20}$/);

/** Faster than parsing it. */
export const time = matching(/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);

export const nullable =
  (shape: Shape): Shape =>
  (value) =>
    value === null ? undefined : shape(value);

/** For a field that not every document selects. */
export const optional =
  (shape: Shape): Shape =>
  (value) =>
    value === undefined ? undefined : shape(value);

export const list =
  (shape: Shape): Shape =>
  (value) => {
    if (!Array.isArray(value)) return "";
    for (let index = 0; index < value.length; index++) {
      const path = shape(value[index]);
      if (path !== undefined) return `[${index}]${path}`;
    }
    return undefined;
  };

export function object(fields: Readonly<Record<string, Shape>>): Shape {
  const entries = Object.entries(fields);
  return (value) => {
    if (typeof value !== "object" || value === null) return "";
    for (const [name, shape] of entries) {
      const path = shape((value as Readonly<Record<string, unknown>>)[name]);
      if (path !== undefined) return `.${name}${path}`;
    }
    return undefined;
  };
}

const lastPage = object({ hasNextPage: boolean, endCursor: nullable(string) });
const anyPage = object({ hasNextPage: boolean, endCursor: string });

/** A list that continues nowhere would be read from its beginning again. */
export const pageInfo: Shape = (value) =>
  lastPage(value) ?? ((value as { readonly hasNextPage: boolean }).hasNextPage ? anyPage(value) : undefined);
