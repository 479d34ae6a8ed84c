/** @jsxImportSource hono/jsx */

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
}

export interface Parameter {
  readonly name: string;
  /** `path` or `query`. */
  readonly in: string;
  readonly schema: Schema;
}

interface TryFormProps {
  readonly operationId: string;
  readonly summary: string;
  /** URL template. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
}

/** Sends a request for the operation. `script.js` shows it, because it needs the script. */
export function TryForm({ operationId, summary, path, parameters }: TryFormProps) {
  return (
    <form class="try" data-path={path} aria-label={`Try: ${summary}`} hidden>
      <h3>Try it</h3>
      {parameters.map((parameter) => (
        <p>
          <label for={`${operationId}-try-${parameter.name}`}>
            {parameter.name}
            {parameter.schema.type === "array" ? " (one in each line)" : ""}
          </label>
          <Field id={`${operationId}-try-${parameter.name}`} parameter={parameter} />
        </p>
      ))}
      <button type="submit">Send request</button>
      <div class="response" role="status" />
    </form>
  );
}

function Field({ id, parameter: { name, in: place, schema } }: { id: string; parameter: Parameter }) {
  const common = { id, name, "data-in": place, required: true };
  if (schema.enum !== undefined) {
    return (
      <select {...common}>
        {schema.enum.map((value) => (
          <option>{value}</option>
        ))}
      </select>
    );
  }
  if (schema.type === "array") return <textarea {...common} rows={2} spellcheck={false} />;
  return <input {...common} autocomplete="off" autocapitalize="none" spellcheck={false} />;
}
