/**
 * Keeps a page's live parts up to date: asks for the page again every few seconds and puts new parts in the place of old ones. A part
 * that holds the focus, a selection or an opened table is left as it is, and nothing moves what the person looks at.
 */
const pauseMs = 5000;
const hiddenPauseMs = 60_000;

const told = document.querySelector("[data-refreshed]");
const button = document.createElement("button");
let isPaused = false;
let timer;

function isInUse(part) {
  const selection = getSelection();
  return (
    part.contains(document.activeElement) ||
    part.querySelector("details[open]") !== null ||
    (selection !== null && !selection.isCollapsed && selection.containsNode(part, true))
  );
}

function replaceParts(page) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = page.querySelector(`[data-live="${part.dataset.live}"]`);
    if (fresh !== null && !isInUse(part) && !fresh.isEqualNode(part))
      part.replaceWith(document.importNode(fresh, true));
  }
}

async function refresh() {
  clearTimeout(timer);
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok) throw new Error(`${response.status}`);
    replaceParts(new DOMParser().parseFromString(await response.text(), "text/html"));
    told.textContent = `Refreshed at ${new Date().toISOString().slice(11, 19)} UTC. `;
  } catch {
    told.textContent = "The service does not answer; what is shown is old. ";
  }
  wait();
}

function wait() {
  clearTimeout(timer);
  if (!isPaused) timer = setTimeout(refresh, document.hidden ? hiddenPauseMs : pauseMs);
}

button.type = "button";
button.textContent = "Pause refreshing";
button.addEventListener("click", () => {
  isPaused = !isPaused;
  button.textContent = isPaused ? "Go on refreshing" : "Pause refreshing";
  if (isPaused) clearTimeout(timer);
  else refresh();
});
told.after(button);
document.addEventListener("visibilitychange", () => {
  if (isPaused) return;
  if (document.hidden) wait();
  else refresh();
});
wait();
