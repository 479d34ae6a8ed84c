/** @jsxImportSource hono/jsx */
import type { PushState } from "../../database/push-state.ts";
import { durationInWords, pluralize } from "../../format.ts";
import { Section, Time } from "./elements.tsx";

interface PushProps {
  readonly push: PushState;
  readonly now: number;
}

/** The queue of delivered changes, and where the platform delivers to. */
export const Push = ({ push: { queue, subscribed }, now }: PushProps) => (
  <Section id="push" title="Notifications" isLive>
    <p>
      {queue.products === 0 ? "No delivered changes are waiting." : `${pluralize(queue.products, "product")} to read. `}
      {queue.oldestS === 0 ? "" : `The oldest delivery has waited for ${durationInWords(queue.oldestS)}.`}
    </p>
    {subscribed === undefined ? (
      ""
    ) : (
      <p class="muted">
        Delivered to {subscribed.address}; checked <Time at={subscribed.checkedAt} now={now} />.
      </p>
    )}
  </Section>
);
