/**
 * Refreshes the page's `data-live` sections every few seconds. A section in use, with the focus, a
 * selection, or an open table, keeps its content until it no longer is.
 */
const intervalMs = 5000;
const hiddenIntervalMs = 60_000;

const status = document.querySelector("[data-refreshed]");
const button = document.createElement("button");
let isPaused = false;
let timer;

function isInUse(section) {
  const selection = getSelection();
  return (
    section.contains(document.activeElement) ||
    section.querySelector("details[open]") !== null ||
    (selection !== null && !selection.isCollapsed && selection.containsNode(section, true))
  );
}

function replaceSections(page) {
  for (const section of document.querySelectorAll("[data-live]")) {
    const fresh = page.querySelector(`[data-live="${section.dataset.live}"]`);
    if (fresh !== null && !isInUse(section) && !fresh.isEqualNode(section)) {
      section.replaceWith(document.importNode(fresh, true));
    }
  }
}

async function refresh() {
  clearTimeout(timer);
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok) throw new Error(`status ${response.status}`);
    replaceSections(new DOMParser().parseFromString(await response.text(), "text/html"));
    status.textContent = `Refreshed at ${new Date().toISOString().slice(11, 19)} UTC. `;
  } catch {
    status.textContent = "The service is not responding. This page may be out of date. ";
  }
  scheduleRefresh();
}

function scheduleRefresh() {
  clearTimeout(timer);
  if (!isPaused) timer = setTimeout(refresh, document.hidden ? hiddenIntervalMs : intervalMs);
}

button.type = "button";
button.textContent = "Pause refresh";
button.addEventListener("click", () => {
  isPaused = !isPaused;
  button.textContent = isPaused ? "Resume refresh" : "Pause refresh";
  if (isPaused) clearTimeout(timer);
  else refresh();
});
status.after(button);
document.addEventListener("visibilitychange", () => {
  if (isPaused) return;
  if (document.hidden) scheduleRefresh();
  else refresh();
});
scheduleRefresh();
