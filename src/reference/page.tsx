/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import type { Handler } from "../http/endpoint.ts";
import { contentSecurityPolicy } from "../http/page.ts";
import { fileHandler } from "../http/static-file.ts";
import { openApiDocument } from "./openapi.ts";
import script from "./script.js" with { type: "text" };
import style from "./style.css" with { type: "text" };

export const pageHeaders = { "Content-Security-Policy": contentSecurityPolicy() };

/**
 * `GET /openapi.json`.
 * @param root how the service's URLs begin; empty for its own origin
 */
export const createOpenApi = (root: string): Handler =>
  fileHandler(() => ({ type: "application/json", body: JSON.stringify(openApiDocument(root)) }));

/**
 * `GET /docs`: the OpenAPI document as an HTML page. Without scripts, it has no forms. Common
 * documentation pages load megabytes of script, and most need an installer or contact their vendor.
 */
export const createReference = (root: string): Handler =>
  fileHandler(() => ({
    type: "text/html; charset=utf-8",
    body: `<!doctype html>${<Reference document={openApiDocument(root)} />}`,
    headers: pageHeaders,
  }));

export const getReferenceStyle: Handler = fileHandler(() => ({ type: "text/css; charset=utf-8", body: style }));

export const getReferenceScript: Handler = fileHandler(() => ({
  type: "text/javascript; charset=utf-8",
  body: script,
}));

type Document = ReturnType<typeof openApiDocument>;

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, Response>>;
}

export function Layout({ title, children }: { title: string; children?: Child }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        {/* Prevents a request for /favicon.ico. */}
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/docs/style.css" />
      </head>
      <body>{children}</body>
    </html>
  );
}

function Reference({ document: { info, openapi, servers, tags, paths, components } }: { document: Document }) {
  const groups = tags.map((tag) => {
    const operations: [string, Operation][] = Object.entries(paths).map(([path, { get }]) => [path, get]);
    return { ...tag, operations: operations.filter(([, operation]) => operation.tags.includes(tag.name)) };
  });
  return (
    <Layout title={`${info.title}: reference`}>
      <nav aria-label="Contents">
        {groups.map(({ name, operations }) => (
          <>
            <h2>{name}</h2>
            <ul>
              {operations.map(([, { operationId, summary }]) => (
                <li>
                  <a href={`#${operationId}`}>{summary}</a>
                </li>
              ))}
            </ul>
          </>
        ))}
        <a href="#objects">Objects</a>
      </nav>
      <main>
        <h1>
          {info.title} <small>{info.version}</small>
        </h1>
        <p>
          For programs: <a href="/openapi.json">OpenAPI {openapi}</a>.
        </p>
        {groups.map(({ name, description, operations }) => (
          <>
            <h2>{name}</h2>
            <p>{description}</p>
            {operations.map(([path, operation]) => (
              <OperationSection
                root={servers[0]?.url ?? ""}
                path={path}
                operation={operation}
                components={components}
              />
            ))}
          </>
        ))}
        <h2 id="objects">Objects</h2>
        {(Object.entries(components.schemas) as [string, Schema][]).map(([name, { description, properties = {} }]) => (
          <section id={name} aria-labelledby={`${name}-title`}>
            <h3 id={`${name}-title`}>{name}</h3>
            {description && <Text text={description} />}
            <Table head={["Field", "Type", "Notes"]} label={`Fields of ${name}`}>
              {Object.entries(properties).map(([field, schema]) => (
                <Row name={<code>{field}</code>} type={<Type schema={schema} />} notes={schema.description ?? ""} />
              ))}
            </Table>
          </section>
        ))}
      </main>
      <script type="module" src="/docs/script.js" />
    </Layout>
  );
}

/** Responses that nobody needs to read about before the first request. */
const routine = ["304", "412", "429"];

interface OperationProps {
  readonly root: string;
  readonly path: string;
  readonly operation: Operation;
  readonly components: Document["components"];
}

function OperationSection({ root, path, operation, components }: OperationProps) {
  const { operationId, summary, description, parameters = [], responses } = operation;
  const all = Object.entries(responses);
  const toRows = (shown: typeof all) => shown.map(([status, response]) => <ResponseRow {...{ status, response }} />);
  const sample = components.examples[nameOf(responses[200]?.content?.["application/json"]?.schema)]?.value;
  return (
    <section id={operationId} aria-labelledby={`${operationId}-title`}>
      <h3 id={`${operationId}-title`}>{summary}</h3>
      <pre>
        <code>
          <b>GET</b> {path}
        </code>
      </pre>
      {description && <Text text={description} />}
      <pre>
        <code>{`curl '${root === "/" ? defaultRoot : root}${fill(path, parameters)}'`}</code>
      </pre>
      {/* A script reveals it. */}
      <form data-path={path} aria-label={`Try: ${summary}`} hidden>
        {parameters.map((parameter) => (
          <p>
            <label for={`${operationId}-${parameter.name}`}>
              {parameter.name}
              {parameter.schema.type === "array" ? " (one in each line)" : ""}
            </label>
            <Field id={`${operationId}-${parameter.name}`} parameter={parameter} />
          </p>
        ))}
        <button type="submit">Send request</button>
        <div class="response" role="status" />
      </form>
      {parameters.length > 0 && (
        <Table head={["Parameter", "Type", "Notes"]} label={`Parameters: ${summary}`}>
          {parameters.map(({ name, schema, description: notes }) => (
            <Row name={<code>{name}</code>} type={<Type schema={schema} />} notes={notes} />
          ))}
        </Table>
      )}
      <Table head={["Status", "Body", "When"]} label={`Responses: ${summary}`}>
        {toRows(all.filter(([status]) => !routine.includes(status)))}
      </Table>
      <details>
        <summary>Not modified, precondition failed, too many requests</summary>
        <Table head={["Status", "Body", "When"]} label={`Further responses: ${summary}`}>
          {toRows(all.filter(([status]) => routine.includes(status)))}
        </Table>
      </details>
      <details>
        <summary>Sample response</summary>
        <pre tabindex={0}>{JSON.stringify(sample, null, 2)}</pre>
      </details>
    </section>
  );
}

/** The default address of the service; the script shows the page's own origin. */
const defaultRoot = "http://127.0.0.1:3000";

function fill(path: string, parameters: readonly Parameter[]): string {
  let filled = path;
  const query = new URLSearchParams();
  for (const { name, in: place, example } of parameters) {
    if (place === "path") filled = filled.replace(`{${name}}`, encodeURIComponent(`${example}`));
    else for (const value of example as string[]) query.append(name, value);
  }
  return query.size === 0 ? filled : `${filled}?${query}`;
}

function Field({ id, parameter: { name, in: place, schema, example } }: { id: string; parameter: Parameter }) {
  const common = { id, name, "data-in": place, required: true };
  if (schema.enum !== undefined) {
    return (
      <select {...common}>
        {schema.enum.map((value) => (
          <option selected={value === example}>{value}</option>
        ))}
      </select>
    );
  }
  if (schema.type !== "array") {
    // Browsers would remove such a segment.
    const segment = place === "path" && {
      pattern: "(?!\\.{1,2}$).*",
      title: "A URL path cannot contain . or .. alone.",
    };
    return <input {...common} {...segment} value={`${example}`} autocomplete="off" spellcheck={false} />;
  }
  return (
    <textarea {...common} rows={2} spellcheck={false}>
      {(example as string[]).join("\n")}
    </textarea>
  );
}

function ResponseRow({ status, response: { content = {}, description } }: { status: string; response: Response }) {
  const bodies = Object.entries(content).map(([type, { schema }]) => (
    <div>
      <Type schema={schema} /> <small>{type}</small>
    </div>
  ));
  return <Row name={status} type={bodies} notes={description} />;
}

const Row = ({ name, type, notes }: { name: Child; type: Child; notes: string }) => (
  <tr>
    <th scope="row">{name}</th>
    <td>{type}</td>
    <td>
      <Text text={notes} />
    </td>
  </tr>
);

/** Scrolls on narrow screens; focusable, so that it can be scrolled by keyboard. */
const Table = ({ head, label, children }: { head: string[]; label: string; children?: Child }) => (
  <section class="table" tabindex={0} aria-label={label}>
    <table>
      <thead>
        <tr>
          {head.map((title) => (
            <th scope="col">{title}</th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </section>
);

const nameOf = (schema: Schema | undefined) => schema?.$ref?.split("/").at(-1) ?? "";

function Type({ schema }: { schema: Schema }): Child {
  if (schema.$ref !== undefined) return <a href={`#${nameOf(schema)}`}>{nameOf(schema)}</a>;
  if (schema.enum !== undefined) return <code>{schema.enum.map((value) => JSON.stringify(value)).join(" or ")}</code>;
  const [first, ...others] = schema.anyOf ?? [];
  if (first !== undefined) return [<Type schema={first} />, others.map((other) => [" or ", <Type schema={other} />])];
  if (schema.items !== undefined) return ["list of ", <Type schema={schema.items} />];
  const types = [schema.type].flat().join(" or ");
  return schema.format === undefined ? types : `${types}, ${schema.format}`;
}

/** Formats `code` in a description. */
const Text = ({ text }: { text: string }) => (
  <span>{text.split("`").map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</span>
);
