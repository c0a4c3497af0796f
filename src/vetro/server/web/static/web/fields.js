// Fields of forms: checks before anything is sent, drawers for objects in objects, searching choices, showing secrets.
// Everything here makes a form nicer; the server checks all of it again, and reading needs none of it.
import { csrf } from "./csrf.js";
import { awakenFiles, useFiles, waitsForFiles, wrongFile } from "./files.js";
import { evaluate, typesOf } from "./schema.js";

const form = document.getElementById("form");
const TEXTS = JSON.parse(form?.dataset.texts ?? "{}");
/** How numbers are typed. */
const NUMBERS = {
  integer: /^[+-]?[0-9]{1,4000}$/,
  number: /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?$/,
};

const field = (input) => input.closest(".field");
const inputs = () => [...form.querySelectorAll("input[id$='-i'], select[id$='-i'], textarea[id$='-i'], [data-v-key]")];

/** What a problem is called: in the author's words, else in the page's. */
function words(schema, { code, message, limit, exclusive }) {
  if (limit !== undefined && typesOf(schema).includes("integer")) {
    // "At least 8" is easier to read than "more than 7".
    limit = code === "minimum" ? (exclusive ? Math.floor(limit) + 1 : Math.ceil(limit)) : exclusive ? Math.ceil(limit) - 1 : Math.floor(limit);
    exclusive = false;
  }
  const own = message ?? schema.messages?.[code] ?? (limit === undefined ? schema.messages?.invalid : undefined);
  return (own ?? TEXTS[exclusive ? `exclusive_${code}` : code]).replace("{limit}", limit);
}

/** What is wrong with a text for a value of `schema`; undefined where nothing is. */
function problemOf(schema, text) {
  const kind = typesOf(schema).find((type) => type in NUMBERS);
  if (!kind) return evaluate(schema, text)[0];
  const trimmed = text.trim();
  if (!NUMBERS[kind].test(trimmed)) return { code: kind };
  const largest = Number.MAX_VALUE; // beyond it JSON has no number
  return evaluate(schema, Math.max(-largest, Math.min(largest, Number(trimmed))))[0];
}

/** What is wrong with one input, in words; "" where nothing is. */
function wrong(input) {
  const data = input.dataset;
  if (input.disabled || input.readOnly || input.type === "checkbox") return "";
  if (data.vUpload !== undefined) return wrongFile(input);
  const text = input.value;
  const schema = JSON.parse(data.vSchema ?? "{}");
  if (data.vKey !== undefined) {
    const keys = [...document.getElementById(data.vKey).querySelectorAll(`[data-v-key="${data.vKey}"]`)];
    return keys.some((other) => other !== input && other.value === text && keys.indexOf(other) < keys.indexOf(input)) ? TEXTS.unique : "";
  }
  if (data.vConfirms) {
    const first = [...form.elements].find((other) => other.name?.endsWith(`.${data.vConfirms}`) && other.type !== "hidden");
    if (first && first.value !== text) return words(schema, { code: "confirms" });
  }
  if (text === "") return input.required ? (schema.messages?.required ?? TEXTS[input.tagName === "SELECT" ? "choose" : "required"]) : "";
  const problem = problemOf(schema, text);
  return problem ? words(schema, problem) : "";
}

/** Says at a field what is wrong with it; "" takes it back. */
function say(input, text) {
  const around = field(input);
  if (input.dataset.vKey !== undefined) {
    input.setCustomValidity(text);
    input.toggleAttribute("aria-invalid", Boolean(text));
    input.title = text;
    return;
  }
  const place = document.getElementById(`${around.id}-error`);
  around.classList.toggle("wrong", Boolean(text));
  if (place) {
    place.textContent = text;
    place.hidden = !text;
    const ids = new Set((input.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean));
    ids[text ? "add" : "delete"](place.id);
    if (ids.size) input.setAttribute("aria-describedby", [...ids].join(" "));
    else input.removeAttribute("aria-describedby");
  }
  if (text) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

/** Checks the whole form; the first wrong input gets the focus. */
function check() {
  const found = inputs().map((input) => [input, field(input).closest("[hidden]") ? "" : wrong(input)]);
  for (const [input, text] of found) say(input, text);
  const first = found.find(([, text]) => text);
  if (first) reveal(first[0]);
  return !first;
}

/** Opens whatever hides an element, and puts the focus there. */
function reveal(target) {
  for (let around = target.parentElement; around; around = around.parentElement) {
    if (around.localName === "details") around.open = true;
  }
  const around = [];
  for (let drawer = target.parentElement?.closest("dialog"); drawer; drawer = drawer.parentElement.closest("dialog")) around.unshift(drawer);
  for (const drawer of around) if (!drawer.open) drawer.showModal();
  target.focus();
  target.scrollIntoView({ block: "center" });
}

/** Puts a new password into an input and the one that confirms it, and shows it: nobody has seen it yet. */
async function generate(button) {
  const input = document.getElementById(button.dataset.vGenerate);
  const data = new FormData();
  data.set("path", button.dataset.path);
  data.set("csrfmiddlewaretoken", csrf(form));
  const url = new URL(form.dataset.choices, location.href);
  url.pathname = url.pathname.replace(/choices$/, "password");
  button.disabled = true;
  try {
    const answer = await fetch(url, { method: "POST", body: data, headers: { "HX-Request": "true" } });
    if (!answer.headers.get("Content-Type")?.startsWith("application/json")) return say(input, TEXTS.no_password);
    const { password } = await answer.json();
    const name = input.name.slice(input.name.indexOf(".") + 1);
    const again = [...form.elements].filter((other) => other.dataset?.vConfirms && other.dataset.vConfirms === name);
    for (const one of [input, ...again]) {
      one.value = password;
      say(one, "");
      show(one, true);
      one.dispatchEvent(new Event("input", { bubbles: true }));
    }
  } catch {
    say(input, TEXTS.no_password);
  } finally {
    button.disabled = false;
    input.focus();
  }
}

/** Shows what stands in a secret input, or hides it. */
function show(input, visible) {
  input.type = visible ? "text" : "password";
  const button = document.querySelector(`[data-v-reveal="${input.id}"]`);
  button?.setAttribute("aria-pressed", String(visible));
}

/** Puts into use what only scripts can do. */
function awaken(root) {
  for (const element of root.querySelectorAll("[data-v-open][hidden], [data-v-reveal][hidden], [data-v-generate][hidden], vetro-search[hidden]")) element.hidden = false;
  awakenFiles(root);
}

const input_of = (place) => place.matches("input, select, textarea") ? place : place.querySelector("[id$='-i'], button") ?? place;

/** The element that a link of the summary leads to. */
function follow(hash) {
  const place = hash.length > 1 && document.getElementById(hash.slice(1));
  if (!place || !form?.contains(place)) return false;
  reveal(input_of(place));
  return true;
}

/** What in a drawer has to be filled in still, said on its card. */
function missing(drawer) {
  const card = document.querySelector(`[data-v-missing="${drawer.id}"]`);
  if (!card) return;
  const empty = [...drawer.querySelectorAll("[id$='-i'][required]")].filter((input) => input.type !== "checkbox" && input.value === "" && !field(input).closest("[hidden]"));
  const names = empty.map((input) => [...(input.labels ?? [])].map((label) => label.firstChild?.textContent.trim()).find(Boolean) ?? input.getAttribute("aria-label"));
  card.textContent = names.length ? `${TEXTS.missing} ${names.join(", ")}` : "";
  const around = drawer.parentElement.closest("dialog");
  if (around) missing(around);
}

class Search extends HTMLElement {
  connectedCallback() {
    const input = this.querySelector("input");
    let timer;
    input.addEventListener("input", (event) => {
      event.stopPropagation();
      clearTimeout(timer);
      timer = setTimeout(() => this.look(input.value), 200);
    });
    input.addEventListener("change", (event) => event.stopPropagation());
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault();
      if (event.key === "ArrowDown" || event.key === "Enter") this.select().focus();
    });
  }

  select() {
    return document.getElementById(this.getAttribute("for"));
  }

  async look(words) {
    const status = this.querySelector("[role=status]");
    const url = new URL(form.dataset.choices, location.href);
    url.searchParams.set("path", this.dataset.path);
    url.searchParams.set("what", this.dataset.what);
    url.searchParams.set("q", words);
    if (form.dataset.plain !== undefined) url.searchParams.set("plain", "1");
    status.textContent = TEXTS.searching;
    this.asked = words;
    let found;
    try {
      found = await (await fetch(url, { headers: { "HX-Request": "true" } })).json();
    } catch {
      status.textContent = "";
      return;
    }
    if (this.asked !== words) return;
    const select = this.select();
    const kept = [...select.options].filter((option) => option.selected || option.value === "").map((o) => [o.value, o.label, o.selected]);
    const known = new Set(kept.map(([value]) => value));
    select.replaceChildren(...kept.map(([value, label, selected]) => new Option(label, value, selected, selected)));
    const groups = new Map();
    for (const item of found.items) {
      if (known.has(item.value)) continue;
      const option = new Option(item.label, item.value);
      option.disabled = item.disabled;
      if (!item.group) select.append(option);
      else {
        if (!groups.has(item.group)) {
          const group = document.createElement("optgroup");
          group.label = item.group;
          groups.set(item.group, group);
          select.append(group);
        }
        groups.get(item.group).append(option);
      }
    }
    status.textContent = found.more ? TEXTS.more : found.items.length ? "" : TEXTS.nothing;
  }
}

if (form) {
  customElements.define("vetro-search", Search);
  form.noValidate = true;
  useFiles(form, TEXTS, say);
  awaken(form);
  document.addEventListener("htmx:afterSwap", (event) => awaken(event.target));
  form.addEventListener("close", (event) => event.target.localName === "dialog" && missing(event.target), true);
  // Old browsers' bubbles cannot reach inputs in closed drawers: we say it ourselves.
  form.addEventListener("submit", (event) => {
    const what = event.submitter?.value ?? "next";
    if ((what !== "leave" && waitsForFiles(event.submitter)) || (what === "next" && !check())) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  });
  form.addEventListener("focusout", (event) => {
    if (event.target.matches?.("[id$='-i'], [data-v-key]") && event.target.value !== "") say(event.target, wrong(event.target));
  });
  form.addEventListener("input", (event) => {
    if (event.target.matches("[id$='-i']") && field(event.target).classList.contains("wrong")) say(event.target, wrong(event.target));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-v-open], [data-v-close], [data-v-reveal], [data-v-generate], #summary a");
    if (!button) return;
    if (button.dataset.vOpen) document.getElementById(button.dataset.vOpen).showModal();
    else if (button.dataset.vClose !== undefined) button.closest("dialog").close();
    else if (button.dataset.vGenerate) generate(button);
    else if (button.dataset.vReveal) {
      const input = document.getElementById(button.dataset.vReveal);
      show(input, input.type === "password");
    } else if (follow(button.hash)) event.preventDefault();
  });
  const summary = document.getElementById("summary");
  const bad = form.querySelector("[aria-invalid=true]");
  if (bad) reveal(bad);
  else if (summary) summary.focus();
  else follow(location.hash);
}
