/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import type { PageRequest } from "../../http/page.ts";
import type { ActionName } from "../../operators/actions/index.ts";
import { urlWithQuery } from "../urls.ts";

/** Whether to show links to actions. The server also checks each request. */
export const mayOperate = ({ viewer }: PageRequest) => viewer?.role === "operate";

const destructive: readonly ActionName[] = ["cancel", "force", "remove-brand"];

export const isDestructive = (action: string) => destructive.some((name) => name === action);

interface ActionLinkProps {
  /** The name of the action in `src/operators/actions`. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string | number | undefined>>;
  /** The subject of the action, for screen readers, which may read the link without its row. */
  readonly of?: string;
  readonly children?: Child;
}

export const ActionLink = ({ action, fields, of, children }: ActionLinkProps) => (
  <a class={isDestructive(action) ? "action destructive" : "action"} href={urlWithQuery(`/actions/${action}`, fields)}>
    {children}
    {of !== undefined && <span class="visually-hidden"> {of}</span>}
  </a>
);

export const ActionLinks = ({ children }: { readonly children?: Child }) => <p class="actions">{children}</p>;
