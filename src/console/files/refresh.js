/**
 * Refreshes the page in place, so that focus, selection, and open details stay. It waits while the
 * reader uses a `data-live` section, so that nothing moves away under the pointer.
 */
import { Idiomorph } from "/console/idiomorph.js";
import { addLocalTimes } from "/console/local-time.js";

const choices = [
  [5, "every 5 seconds"],
  [15, "every 15 seconds"],
  [60, "every minute"],
  [0, "never"],
];
const storageKey = "pds-refresh-seconds";
const hiddenSeconds = 60;
/** How long after the last movement or key a section counts as used. */
const usedMs = 5000;
const checkMs = 1000;
/** Attributes that the reader may have changed by opening, typing, or choosing. */
const readerState = ["open", "value", "checked", "selected"];

const status = document.querySelector("[data-refreshed]");
let seconds = readSeconds();
let isOver = false;
let usedUntil = 0;
let usedSection = "";
let dueAt = performance.now() + seconds * 1000;
let timer;

function readSeconds() {
  try {
    const stored = Number(localStorage.getItem(storageKey) ?? choices[0][0]);
    return choices.some(([value]) => value === stored) ? stored : choices[0][0];
  } catch {
    return choices[0][0];
  }
}

/** Takes over the content, title, and icon of another page. Elements are matched by id, wherever they are. */
function update(page) {
  const { activeElement } = document;
  document.title = page.title;
  const [icon, newIcon] = [document, page].map((each) => each.querySelector('link[rel="icon"]'));
  // Setting the same icon again may make the browser load it again.
  if (icon.href !== newIcon.href) icon.href = newIcon.href;
  const around = [...document.querySelectorAll("[tabindex]")].filter((element) => element.contains(activeElement));
  Idiomorph.morph(document.querySelector("main"), page.querySelector("main"), {
    callbacks: { beforeAttributeUpdated: (name) => !readerState.includes(name) },
  });
  if (document.activeElement === activeElement) return;
  // The row with the focus is gone. Without this, the keyboard would start over at the top of the page.
  around.findLast(({ isConnected }) => isConnected)?.focus({ preventScroll: true });
}

async function refresh() {
  try {
    const url = new URL(location.href);
    // The server reads the data once for all such requests.
    url.searchParams.set("refresh", "shared");
    const response = await fetch(url, { headers: { Accept: "text/html" } });
    if (response.status === 401) {
      status.textContent = "Your session has ended. This page is out of date; load it again to sign in. ";
      return;
    }
    if (!response.ok) {
      status.textContent = "This page could not be refreshed. It may be out of date. ";
      return;
    }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    addLocalTimes(page);
    update(page);
    // The page of a finished run no longer changes.
    isOver = page.querySelector('script[src="/console/refresh.js"]') === null;
    status.textContent = `Refreshed at ${new Date().toISOString().slice(11, 19)} UTC. `;
  } catch {
    status.textContent = "The service is not responding. This page may be out of date. ";
  }
}

async function check() {
  clearTimeout(timer);
  const now = performance.now();
  if (seconds > 0 && now >= dueAt) {
    if (now < usedUntil) {
      status.textContent = `Refresh waits while you use ${usedSection}. `;
    } else {
      await refresh();
      dueAt = performance.now() + 1000 * (document.hidden ? hiddenSeconds : seconds);
    }
  }
  clearTimeout(timer);
  if (!isOver) timer = setTimeout(check, checkMs);
}

function noteUse({ target }) {
  const section = target.closest?.("[data-live]");
  if (section == null) return;
  usedUntil = performance.now() + usedMs;
  usedSection = section.querySelector("h2")?.textContent ?? "this page";
}

for (const event of ["pointermove", "pointerdown", "focusin", "keydown"]) {
  document.addEventListener(event, noteUse, { passive: true });
}
document.addEventListener("pointerout", ({ relatedTarget }) => {
  // The pointer has left all sections.
  if (relatedTarget?.closest?.("[data-live]") == null) usedUntil = 0;
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  dueAt = 0;
  check();
});

const label = document.createElement("label");
const select = document.createElement("select");
label.append("Refresh ", select);
for (const [value, text] of choices) select.append(new Option(text, value, false, value === seconds));
select.addEventListener("change", () => {
  seconds = Number(select.value);
  try {
    localStorage.setItem(storageKey, `${seconds}`);
  } catch {
    // Without storage, the choice lasts until the page is left.
  }
  dueAt = 0;
  status.textContent = seconds === 0 ? "Refresh is off. " : "";
  check();
});
status.after(label);
if (seconds === 0) status.textContent = "Refresh is off. ";
check();
