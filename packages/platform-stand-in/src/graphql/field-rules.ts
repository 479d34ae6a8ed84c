import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLFieldMap,
  type GraphQLSchema,
  isObjectType,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { accessDenied } from "./errors.ts";

/** Fields by `Type.field`, such as `ProductVariant.taxCode`. */
export interface FieldSettings {
  /** Fields that the apps may not read: `ACCESS_DENIED`. */
  readonly denied?: readonly string[];
  /** Fields that the API version does not have: `undefinedField`. */
  readonly removed?: readonly string[];
}

type Fields = GraphQLFieldMap<unknown, unknown>;

/** Denies and removes fields of the schema while the stand-in runs. */
export class FieldRules {
  readonly #schema: GraphQLSchema;
  readonly #onChange: () => void;
  #denied: ReadonlySet<string> = new Set();
  /** Undoes the current settings. */
  #undo: (() => void)[] = [];

  constructor(schema: GraphQLSchema, onChange: () => void) {
    this.#schema = schema;
    this.#onChange = onChange;
  }

  /** Replaces the settings. @throws Error for a field that the schema does not have */
  change({ denied = [], removed = [] }: FieldSettings): void {
    for (const undo of this.#undo.splice(0)) undo();
    this.#denied = new Set(denied);
    for (const name of denied) {
      const { field } = this.#find(name);
      const { resolve } = field;
      field.resolve = () => {
        throw accessDenied(field.name, "read_everything");
      };
      this.#undo.push(() => {
        field.resolve = resolve ?? defaultFieldResolver;
      });
    }
    for (const name of removed) {
      const { fields, field } = this.#find(name);
      delete fields[field.name];
      this.#undo.push(() => {
        fields[field.name] = field;
      });
    }
    this.#onChange();
  }

  /** Whether a query selects a denied field. */
  denies(query: string): boolean {
    if (this.#denied.size === 0) return false;
    let isDenied = false;
    const types = new TypeInfo(this.#schema);
    const Field = ({ name }: { readonly name: { readonly value: string } }) => {
      isDenied ||= this.#denied.has(`${types.getParentType()?.name}.${name.value}`);
    };
    visit(parse(query), visitWithTypeInfo(types, { Field }));
    return isDenied;
  }

  #find(name: string): { fields: Fields; field: GraphQLField<unknown, unknown> } {
    const [typeName = "", fieldName = ""] = name.split(".");
    const type = this.#schema.getType(typeName);
    const fields = isObjectType(type) ? (type.getFields() as Fields) : {};
    const field = fields[fieldName];
    if (field === undefined) throw new Error(`the schema has no field "${name}"`);
    return { fields, field };
  }
}
