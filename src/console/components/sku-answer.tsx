/** @jsxImportSource hono/jsx */
import { personalizationPath } from "../../contract/personalization.ts";
import type { Explanation } from "../explain-sku.ts";
import { Section } from "./elements.tsx";

interface SkuAnswerProps {
  readonly explanation: Explanation;
  readonly sku: string;
  /** Base URL of the public API. */
  readonly endpoint: string;
}

export function SkuAnswer({ explanation: { isOffered, answer, findings }, sku, endpoint }: SkuAnswerProps) {
  const isFine = isOffered && findings.every(({ kind }) => kind === "offered" || kind === "cached");
  return (
    <Section id="answer" title={answer} class={isFine ? "notice ok" : "notice"}>
      <ul>
        {findings.map(({ sentence }) => (
          <li>{sentence.map((part) => (typeof part === "string" ? part : <a href={part.url}>{part.text}</a>))}</li>
        ))}
      </ul>
      <p>
        <a href={`${endpoint}${personalizationPath(sku)}`}>View response of the public API</a>
      </p>
    </Section>
  );
}
