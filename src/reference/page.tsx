/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import type { Handler } from "../http/endpoint.ts";
import { fileHandler } from "../http/static-file.ts";
import { openApiDocument } from "./openapi.ts";
import script from "./script.js" with { type: "text" };
import style from "./style.css" with { type: "text" };
import { type Parameter, TryForm } from "./try-form.tsx";

const policy = [
  "default-src 'none'",
  ...["style-src 'self'", "script-src 'self'", "connect-src 'self'", "img-src data:", "form-action 'self'"],
  ...["frame-ancestors 'none'", "base-uri 'none'"],
];

export const pageHeaders = { "Content-Security-Policy": policy.join("; ") };

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
export const getReference: Handler = fileHandler(() => ({
  type: "text/html; charset=utf-8",
  body: `<!doctype html>${<Reference document={openApiDocument()} />}`,
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
  readonly pattern?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly (Parameter & { readonly description: string; readonly schema: Schema })[];
  readonly responses: Readonly<Record<string, { description: string; content?: Record<string, { schema: Schema }> }>>;
}

function Reference({ document }: { document: Document }) {
  const operations: [string, Operation][] = Object.entries(document.paths).map(([path, { get }]) => [path, get]);
  const schemas = Object.entries(document.components.schemas) as [string, Schema][];
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{document.info.title}: reference</title>
        {/* Prevents a request for /favicon.ico. */}
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/docs/style.css" />
        <script type="module" src="/docs/script.js" />
      </head>
      <body>
        <nav aria-label="Contents">
          <h2>Operations</h2>
          <ul>
            {operations.map(([, { operationId, summary }]) => (
              <li>
                <a href={`#${operationId}`}>{summary}</a>
              </li>
            ))}
          </ul>
          <h2>Objects</h2>
          <ul>
            {schemas.map(([name]) => (
              <li>
                <a href={`#${name}`}>{name}</a>
              </li>
            ))}
          </ul>
        </nav>
        <main>
          <h1>
            {document.info.title} <small>{document.info.version}</small>
          </h1>
          <p>{document.info.description}</p>
          <p>
            Machine-readable version: <a href="/openapi.json">OpenAPI {document.openapi}</a>.
          </p>
          {operations.map(([path, operation]) => (
            <OperationSection path={path} operation={operation} />
          ))}
          <h2>Objects</h2>
          {schemas.map(([name, schema]) => (
            <ObjectSection name={name} schema={schema} />
          ))}
        </main>
      </body>
    </html>
  );
}

function OperationSection({ path, operation }: { path: string; operation: Operation }) {
  const { operationId, summary, description, parameters = [], responses } = operation;
  return (
    <section id={operationId} aria-labelledby={`${operationId}-title`}>
      <h2 id={`${operationId}-title`}>{summary}</h2>
      <pre>
        <code>
          <b>GET</b> {path}
        </code>
      </pre>
      {description ? <Text text={description} /> : ""}
      {parameters.length === 0 ? (
        ""
      ) : (
        <Table head={["Parameter", "Type", "Notes"]} label={`Parameters: ${summary}`}>
          {parameters.map((parameter) => (
            <tr>
              <th scope="row">
                <code>{parameter.name}</code>
              </th>
              <td>
                <Type schema={parameter.schema} />
              </td>
              <td>
                <Text text={parameter.description} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Table head={["Status", "Body", "When"]} label={`Responses: ${summary}`}>
        {Object.entries(responses).map(([status, response]) => (
          <tr>
            <th scope="row">{status}</th>
            <td>
              {Object.entries(response.content ?? {}).map(([type, { schema }]) => (
                <div>
                  <Type schema={schema} /> <small>{type}</small>
                </div>
              ))}
            </td>
            <td>
              <Text text={response.description} />
            </td>
          </tr>
        ))}
      </Table>
      <TryForm operationId={operationId} summary={summary} path={path} parameters={parameters} />
    </section>
  );
}

function ObjectSection({ name, schema }: { name: string; schema: Schema }) {
  return (
    <section id={name} aria-labelledby={`${name}-title`}>
      <h3 id={`${name}-title`}>{name}</h3>
      {schema.description ? <Text text={schema.description} /> : ""}
      <Table head={["Field", "Type", "Notes"]} label={`Fields of ${name}`}>
        {Object.entries(schema.properties ?? {}).map(([field, property]) => (
          <tr>
            <th scope="row">
              <code>{field}</code>
            </th>
            <td>
              <Type schema={property} />
            </td>
            <td>{property.description ? <Text text={property.description} /> : ""}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

/** Scrolls on narrow screens. It is focusable so that the keyboard can scroll it. */
function Table({ head, label, children }: { head: string[]; label: string; children?: Child }) {
  return (
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
}

function Type({ schema }: { schema: Schema }): Child {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return <a href={`#${name}`}>{name}</a>;
  }
  if (schema.anyOf !== undefined) {
    return schema.anyOf.map((of, index) => (
      <>
        {index > 0 ? " or " : ""}
        <Type schema={of} />
      </>
    ));
  }
  if (schema.enum !== undefined) return <code>{schema.enum.map((value) => JSON.stringify(value)).join(" or ")}</code>;
  if (schema.items !== undefined) {
    return (
      <>
        list of <Type schema={schema.items} />
      </>
    );
  }
  const types = [schema.type].flat().join(" or ");
  return schema.format === undefined ? types : `${types}, ${schema.format}`;
}

/** A description with its `code` formatted. */
function Text({ text }: { text: string }) {
  return <span>{text.split("`").map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</span>;
}
