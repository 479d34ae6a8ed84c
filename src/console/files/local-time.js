/** Adds the reader's local time to times, which the pages show in UTC. */
const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
const format = new Intl.DateTimeFormat("en-US", {
  dateStyle: "medium",
  timeStyle: "medium",
  hourCycle: "h23",
});
const isUtc = new Date().getTimezoneOffset() === 0;

/** @param root a document, which may be one that is not shown yet */
export function addLocalTimes(root) {
  if (isUtc) return;
  for (const time of root.querySelectorAll("time[datetime]")) {
    const text = `${format.format(new Date(time.dateTime))} ${timeZone}`;
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
