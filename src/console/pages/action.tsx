/** @jsxImportSource hono/jsx */
import type { PageRequest } from "../../http/page.ts";
import { typedField } from "../../operators/actions/action.ts";
import { isDestructive, mayOperate } from "../components/actions.tsx";
import { Facts } from "../components/elements.tsx";
import { TextField } from "../components/fields.tsx";
import { FormToken } from "../components/form-token.tsx";
import type { ConsoleContext, PageContent } from "../context.ts";

/** `GET /actions/:action`: what an action would do, and the form that confirms it. */
export async function actionPage({ confirm }: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const name = request.parameter("action");
  const { title, facts, consequences, fields, typed, button } = await confirm(name, request.url.searchParams);
  return {
    title,
    body: (
      <>
        <Facts facts={facts} />
        <section class="notice" aria-label="Consequences">
          <ul>
            {consequences.map((sentence) => (
              <li>{sentence}</li>
            ))}
          </ul>
        </section>
        {mayOperate(request) ? (
          <form class="filter" method="post" action={`/actions/${encodeURIComponent(name)}`}>
            <FormToken viewer={request.viewer} />
            {Object.entries(fields).map(([field, value]) => (
              <input type="hidden" name={field} value={value} />
            ))}
            {typed !== undefined && (
              <TextField
                name={typedField}
                label={[typed.label, ": ", <strong>{typed.value}</strong>]}
                class="wide"
                required
              />
            )}
            <button type="submit" class={isDestructive(name) ? "destructive" : "primary"}>
              {button}
            </button>
            <a href="/actions">Back</a>
          </form>
        ) : (
          <p>This needs a token with the role operate.</p>
        )}
      </>
    ),
  };
}
