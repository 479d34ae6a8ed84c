import { durationInWords, relativeTime } from "../base/format.ts";
import type { PushState } from "../catalog/push/state.ts";
import type { Problem } from "./problems.ts";

/** A delivered product that is read later than this is a problem. */
const maxUnreadS = 300;

export function listPushProblems(
  { queue, subscribed, uninstalledAt }: Omit<PushState, "deliveries">,
  now: number,
): Problem[] {
  const problems: Problem[] = [];
  if (uninstalledAt !== undefined) {
    const when = relativeTime(Date.parse(uninstalledAt), now);
    problems.push({
      since: uninstalledAt,
      text: `The shop removed the app ${when}, so products are no longer updated. Install it, and set its new credentials.`,
    });
  }
  if (subscribed !== undefined && subscribed.missing.length > 0) {
    problems.push({
      text:
        `The platform no longer delivers ${subscribed.missing.join(", ")} to ${subscribed.address}, because deliveries failed too often. ` +
        "Until then changes arrive with catalog-sync. Run: pds platform subscribe.",
    });
  }
  if (queue.oldestS > maxUnreadS) {
    problems.push({
      since: new Date(now - queue.oldestS * 1000).toISOString(),
      text: `A delivered change has waited for ${durationInWords(queue.oldestS)}. See the log for reads of the platform that fail.`,
    });
  }
  return problems;
}
