export type Schema = Readonly<Record<string, unknown>>;
export type Schemas = Readonly<Record<string, Schema>>;

type Check = (argument: never, value: unknown, at: string, schemas: Schemas, schema: Schema) => string[];

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "bigint" || Number.isInteger(value) ? "integer" : typeof value;
}

const membersOf = (value: unknown) => Object.entries(typeOf(value) === "object" ? (value as Schema) : {});
const unless = (holds: boolean, problem: string) => (holds ? [] : [problem]);

/** The JSON Schema keywords that the contract uses. */
const checks: Readonly<Record<string, Check>> = {
  description: () => [],
  format: () => [],
  $ref: (ref: string, value, at, schemas) => problemsOf(value, resolve(ref, schemas), schemas, at),
  anyOf(all: Schema[], value, at, schemas) {
    const problems = all.map((one) => problemsOf(value, one, schemas, at));
    return problems.find((ofOne) => ofOne.length === 0) ?? problems.flat();
  },
  type(names: string | string[], value, at) {
    const fitting = typeOf(value) === "integer" ? ["integer", "number"] : [typeOf(value)];
    return unless(
      fitting.some((name) => [names].flat().includes(name)),
      `${at}: not ${names}`,
    );
  },
  enum: (values: unknown[], value, at) => unless(values.includes(value), `${at}: none of ${values}`),
  pattern: (text: string, value, at) => unless(new RegExp(text, "u").test(`${value}`), `${at}: not like ${text}`),
  minimum: (least: number, value, at) => unless((value as number) >= least, `${at}: under ${least}`),
  maximum: (most: number, value, at) => unless((value as number) <= most, `${at}: over ${most}`),
  items: (item: Schema, value, at, schemas) =>
    [value].flat().flatMap((member, index) => problemsOf(member, item, schemas, `${at}[${index}]`)),
  properties: (known: Schemas, value, at, schemas) =>
    membersOf(value).flatMap(([key, member]) => problemsOf(member, known[key] ?? {}, schemas, `${at}.${key}`)),
  required: (keys: string[], value, at) =>
    keys.flatMap((key) => unless(Object.hasOwn(Object(value), key), `${at}.${key}: missing`)),
  additionalProperties: (_: false, value, at, __, { properties }) =>
    membersOf(value).flatMap(([key]) => unless(key in (properties as Schemas), `${at}.${key}: unknown`)),
};

/** @throws Error if the reference cannot be resolved */
export function resolve(ref: string, schemas: Schemas): Schema {
  const schema = schemas[ref.replace("#/components/schemas/", "")];
  if (schema === undefined) throw new Error(`${ref} cannot be resolved`);
  return schema;
}

/** @returns the problems with their paths. @throws Error for an unsupported keyword */
export function problemsOf(value: unknown, schema: Schema, schemas: Schemas, at = "$"): string[] {
  return Object.entries(schema).flatMap(([keyword, argument]) => {
    const check = checks[keyword];
    if (check === undefined) throw new Error(`${at}: unknown keyword ${keyword}`);
    return check(argument as never, value, at, schemas, schema);
  });
}
