// Search over everything (Ctrl-K) as a combobox with a list, and help for the page in a drawer. Both are links without it.
const dialog = document.getElementById("palette");
const field = document.getElementById("palette-text");
const list = document.getElementById("palette-list");
const told = document.getElementById("palette-told");
const PAUSE = 120;
let timer = 0, chosen = -1, running = null, opener = null;

const options = () => [...list.querySelectorAll("[role=option]")];

function choose(number) {
  const found = options();
  chosen = found.length ? (number + found.length) % found.length : -1;
  found.forEach((option, at) => option.setAttribute("aria-selected", String(at === chosen)));
  if (chosen < 0) return field.removeAttribute("aria-activedescendant");
  field.setAttribute("aria-activedescendant", found[chosen].id);
  found[chosen].scrollIntoView({ block: "nearest" });
}

async function look() {
  running?.abort();
  running = new AbortController();
  const address = `/app/search?${new URLSearchParams({ q: field.value })}`;
  try {
    const answer = await fetch(address, { headers: { "HX-Request": "true", "HX-Target": "palette-list" }, signal: running.signal });
    const login = answer.headers.get("HX-Redirect");
    if (login) return location.assign(login);
    if (!answer.ok) return;
    list.innerHTML = await answer.text();
  } catch {
    return; // typed on, or cut off: what stands there stays
  }
  const number = options().length;
  field.setAttribute("aria-expanded", String(number > 0));
  told.textContent = number ? told.dataset.some.replace("{n}", number) : told.dataset.none;
  choose(0);
}

function open() {
  if (!dialog || dialog.open) return;
  opener = document.activeElement;
  dialog.showModal();
  field.select();
  look();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable], .xterm");
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && !event.target.closest?.(".xterm")) {
    event.preventDefault();
    open();
  } else if (event.key === "?" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const link = document.querySelector("[data-help]");
    if (link) help(link, event);
  }
});
document.querySelector("[data-palette]")?.addEventListener("click", (event) => {
  event.preventDefault();
  open();
});
document.querySelector("[data-palette-close]")?.addEventListener("click", () => dialog.close());
dialog?.addEventListener("close", () => opener?.focus?.());
dialog?.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close(); // beside it
});
field?.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(look, PAUSE);
});
field?.addEventListener("keydown", (event) => {
  const moves = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in moves) {
    event.preventDefault();
    choose(chosen + moves[event.key]);
  } else if (event.key === "Enter") {
    event.preventDefault();
    go(options()[chosen], event.ctrlKey || event.metaKey);
  }
});
list?.addEventListener("click", (event) => go(event.target.closest("[role=option]"), event.ctrlKey || event.metaKey));

function go(option, beside) {
  if (!option) return;
  if (beside) return window.open(option.dataset.url, "_blank", "noopener");
  dialog.close();
  location.assign(option.dataset.url);
}

// -- help

async function help(link, event) {
  if (!window.bootstrap) return; // the link leads there
  event.preventDefault();
  const answer = await fetch(link.dataset.help, { headers: { "HX-Request": "true" } });
  if (!answer.ok) return location.assign(link.href);
  document.getElementById("help-text").innerHTML = await answer.text();
  bootstrap.Offcanvas.getOrCreateInstance("#help-drawer").show();
}
document.querySelector("[data-help]")?.addEventListener("click", (event) => help(event.currentTarget, event));
