/** Adds the reader's local time to times, which the pages show in UTC. */
const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
const format = new Intl.DateTimeFormat("en-US", {
  dateStyle: "medium",
  timeStyle: "medium",
  hourCycle: "h23",
});
/** It depends on the instant: London is on UTC only in winter. */
const isUtc = (instant) => instant.getTimezoneOffset() === 0;

/** @param root a document, which may not be shown yet */
export function addLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const instant = new Date(time.dateTime);
    if (isUtc(instant)) continue;
    const text = `${format.format(instant)} ${timeZone}`;
    if (!time.classList.contains("exact")) {
      time.title = time.title === "" ? text : `${time.title}\n${text}`;
      continue;
    }
    const local = root.createElement("span");
    local.className = "local";
    local.textContent = text;
    time.append(local);
  }
}

addLocalTimes(document);
