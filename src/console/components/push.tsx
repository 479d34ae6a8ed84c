/** @jsxImportSource hono/jsx */
import { durationInWords, pluralize } from "../../base/format.ts";
import type { PushState } from "../../catalog/push/state.ts";
import { Section, Time } from "./elements.tsx";
import { type Column, Table } from "./table.tsx";

interface PushProps {
  readonly push: PushState;
  readonly now: number;
}

export const Push = ({ push, now }: PushProps) => (
  <Section id="push" title="Notifications" isLive>
    <p>
      {push.queue.products === 0
        ? "No delivered changes are waiting."
        : `${pluralize(push.queue.products, "product")} to read. `}
      {push.queue.oldestS === 0 ? "" : `The oldest delivery has waited for ${durationInWords(push.queue.oldestS)}.`}
    </p>
    <Subscribed push={push} now={now} />
    <Table columns={columnsOf(push, now)} rows={push.deliveries} label="Last delivery of each topic" />
  </Section>
);

const Subscribed = ({ push: { subscribed }, now }: PushProps) =>
  subscribed === undefined ? (
    <p class="muted">
      The subscriptions were not arranged with <code>pds platform subscribe</code>, so they are not checked.
    </p>
  ) : (
    <p class="muted">
      Delivered to {subscribed.address}; checked <Time at={subscribed.checkedAt} now={now} />.
    </p>
  );

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
