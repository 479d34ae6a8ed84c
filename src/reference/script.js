// Fills the forms with what the service has, sends their requests, and shows the responses as text.

/** Longer bodies would make the page slow. */
const shownCharacters = 100_000;

function urlOf(form) {
  let path = form.dataset.path;
  const query = [];
  for (const { name, value, dataset } of form.elements) {
    if (dataset.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    if (dataset.in !== "query") continue;
    const values = value.split("\n").map((line) => line.trim());
    query.push(...values.filter((line) => line !== "").map((line) => `${name}=${encodeURIComponent(line)}`));
  }
  return query.length === 0 ? path : `${path}?${query.join("&")}`;
}

/** In a shell, the quotes must stay closed. */
function showCommand(form) {
  form.previousElementSibling.textContent = `curl '${location.origin}${urlOf(form).replaceAll("'", "%27")}'`;
}

function addText(parent, name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  // Scrolls, so that the keyboard must reach it.
  if (name === "pre") element.tabIndex = 0;
  parent.append(element);
}

/** Indents JSON, and keeps numbers as they are: IDs may be beyond 2^53. */
function format(text) {
  if (JSON.rawJSON === undefined) return text;
  const exact = (_, value, { source }) => (typeof value === "number" ? JSON.rawJSON(source) : value);
  try {
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
  }
}

const shorten = (text) => (text.length > shownCharacters ? `${text.slice(0, shownCharacters)}\n…` : text);

/** The last request of each form: an earlier one may respond later. */
const requests = new WeakMap();

async function send(form) {
  const shown = form.querySelector(".response");
  const request = {};
  requests.set(form, request);
  shown.replaceChildren();
  try {
    const url = urlOf(form);
    addText(shown, "p", `GET ${url}`);
    const response = await fetch(url);
    const text = await response.text();
    if (requests.get(form) !== request) return;
    if (response.redirected) addText(shown, "p", `Redirected to ${new URL(response.url).pathname}`);
    addText(shown, "p", `${response.status} ${response.statusText}`.trim());
    addText(shown, "pre", [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n"));
    if (text !== "") addText(shown, "pre", shorten(format(text)));
  } catch (error) {
    if (requests.get(form) !== request) return;
    addText(shown, "p", `The request failed: ${error.message}`);
  }
}

for (const form of document.querySelectorAll("form")) {
  form.hidden = false;
  showCommand(form);
  form.addEventListener("input", () => showCommand(form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(form);
  });
}

/** Replaces the sample brand's values in fields that nobody has changed yet. */
async function fillIn() {
  const { examples = {} } = await (await fetch("/", { headers: { Accept: "application/json" } })).json();
  for (const field of document.querySelectorAll("form input, form textarea")) {
    const example = examples[field.name];
    if (example === undefined || field.value !== field.defaultValue) continue;
    field.value = example;
    showCommand(field.form);
  }
}

void fillIn();
