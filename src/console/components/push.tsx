/** @jsxImportSource hono/jsx */
import { durationInWords, pluralize } from "../../base/format.ts";
import type { PushState } from "../../catalog/push/state.ts";
import { Section, Time } from "./elements.tsx";
import { type Column, Table } from "./table.tsx";

export function Push({ push, now }: { readonly push: PushState; readonly now: number }) {
  const { queue, subscribed, deliveries } = push;
  return (
    <Section id="push" title="Notifications" isLive>
      <p>
        {queue.products === 0
          ? "No delivered changes are waiting."
          : `${pluralize(queue.products, "product")} to read. `}
        {queue.oldestS === 0 ? "" : `The oldest delivery has waited for ${durationInWords(queue.oldestS)}.`}
      </p>
      <p class="muted">
        {subscribed === undefined ? (
          <>
            The subscriptions were not arranged with <code>pds platform subscribe</code>, so they are not checked.
          </>
        ) : (
          <>
            Delivered to {subscribed.address}; checked <Time at={subscribed.checkedAt} now={now} />.
          </>
        )}
      </p>
      <Table columns={columnsOf(push, now)} rows={deliveries} label="Last delivery of each topic" />
    </Section>
  );
}

const columnsOf = ({ subscribed }: PushState, now: number): readonly Column<PushState["deliveries"][number]>[] => [
  { title: "Topic", value: ({ topic }) => topic, class: "nowrap" },
  {
    title: "Last delivery",
    cell: ({ at }) => (at === undefined ? <span class="muted">none yet</span> : <Time at={at} now={now} />),
  },
  {
    title: "Subscription",
    cell: ({ topic }) => {
      if (subscribed === undefined) return <span class="muted">not known</span>;
      return subscribed.missing.includes(topic) ? <span class="stale">no longer delivered</span> : "delivered";
    },
  },
];
