// Keeps what is typed on the server, and shows what the server makes of it: only what looks different is replaced, and
// nothing that somebody is typing just then.
import { csrf } from "./csrf.js";

const form = document.getElementById("form");
const texts = JSON.parse(form.dataset.texts);
const depends = JSON.parse(form.dataset.depends);
const kept = document.getElementById("kept");
//: Nothing is kept of this form: it is sent as a whole, and only its look follows what is chosen.
const whole = form.dataset.whole !== undefined;
//: Milliseconds after typing, and after choosing something that other fields depend on.
const CALM = 900, SOON = 60;
let timer, running = false, again = false, leaving = false;
const notices = document.getElementById("notices");

const marks = () => Object.fromEntries([...form.querySelectorAll("[data-mark]")].map((e) => [e.id, e.dataset.mark]));
const value = (input) => (input.type === "checkbox" ? input.checked : input.value);
//: What a person enters: also a file, which a script puts into a hidden input.
const typed = (input) => input.type !== "hidden" || input.dataset.vGiven !== undefined;
//: Boxes of one list have one name.
const key = (input) => input.name + input.type + (input.type === "checkbox" ? input.value : "");
const values = () => new Map([...form.elements].filter((e) => e.name && typed(e) && e.localName !== "button").map((e) => [key(e), value(e)]));
const path = (input) => "/" + input.name.slice(input.name.indexOf(".") + 1);

function matters(input) {
  return depends.includes("") || depends.some((one) => path(input) === one);
}

async function send(what) {
  const data = new FormData(form);
  data.set("do", what);
  data.set("csrfmiddlewaretoken", csrf(form));
  data.set("have", JSON.stringify(marks()));
  const before = values();
  kept.textContent = texts.saving;
  let answer;
  try {
    answer = await fetch(form.action, { method: "POST", body: data, headers: { "HX-Request": "true" } });
  } catch {
    kept.textContent = texts.unsaved;
    plan(5000);
    return;
  }
  const target = answer.headers.get("HX-Redirect");
  if (target && new URL(target, location.href).pathname === "/app/login") return signedOut(what);
  if (target) return go(target);
  leaving = false;
  if (!answer.headers.get("Content-Type")?.startsWith("application/json")) {
    forget();
    notices.insertAdjacentHTML("beforeend", await answer.text());
    if (notices.lastElementChild) notices.lastElementChild.dataset.said = "";
    if (what !== "keep") notices.scrollIntoView({ block: "center" });
    kept.textContent = "";
    return;
  }
  const found = await answer.json();
  if (found.reload) return go(location.href.split("#")[0]);
  forget();
  apply(found.parts, before);
  kept.textContent = texts.saved;
}

// What was said of the last attempt is no news any more.
function forget() {
  for (const old of notices.querySelectorAll(":scope > [data-said]")) old.remove();
}

// The web session has ended: what is typed stays here, and is kept once somebody is signed in again, in another tab.
function signedOut(what) {
  kept.textContent = texts.unsaved;
  if (!notices.querySelector(":scope > [data-said=out]")) {
    forget();
    const link = Object.assign(document.createElement("a"), { href: "/app/login", target: "_blank", rel: "opener", textContent: texts.sign_in, className: "alert-link" });
    const box = Object.assign(document.createElement("div"), { className: "alert alert-warning" });
    box.dataset.said = "out";
    box.append(texts.signed_out, " ", link);
    notices.append(box);
  }
  if (what !== "keep") notices.scrollIntoView({ block: "center" });
  plan(5000);
}

// A page that comes again, with what is wrong on it, is no new step on the way back.
function go(target) {
  leaving = true;
  const url = new URL(target, location.href);
  if (url.pathname === location.pathname) location.replace(url.pathname);
  else location.assign(url);
}

function apply(parts, before) {
  const open = [...form.querySelectorAll("dialog[open]")].map((drawer) => drawer.id);
  const all = new Set([...form.querySelectorAll("dialog")].map((drawer) => drawer.id));
  const active = document.activeElement;
  const at = active?.name && { name: active.name, id: active.id, start: active.selectionStart, end: active.selectionEnd };
  const focused = active?.id;
  for (const [id, html] of Object.entries(parts)) {
    const old = document.getElementById(id);
    if (!old) continue;
    const entered = new Map([...old.querySelectorAll("input, select, textarea")].filter((e) => e.name && typed(e) && before.get(key(e)) !== value(e)).map((e) => [key(e), value(e)]));
    old.outerHTML = html;
    const fresh = document.getElementById(id);
    for (const input of fresh.querySelectorAll("input, select, textarea")) {
      const was = entered.get(key(input));
      if (was === undefined) continue;
      if (input.type === "checkbox") input.checked = was;
      else input.value = was;
    }
    fresh.dispatchEvent(new CustomEvent("htmx:afterSwap", { bubbles: true }));
  }
  for (const id of open) {
    const drawer = document.getElementById(id);
    if (drawer && !drawer.open) drawer.showModal();
  }
  const fresh = [...form.querySelectorAll("dialog")].find((drawer) => !all.has(drawer.id));
  if (fresh) fresh.showModal();
  else if (document.activeElement !== active || !active?.isConnected) refocus(at, focused);
}

function refocus(at, id) {
  const next = (at && [...form.elements].find((e) => e.name === at.name && e.type !== "hidden" && e.id === at.id)) || (id && document.getElementById(id));
  if (!next) return;
  next.focus({ preventScroll: true });
  if (at && at.start !== null && next.setSelectionRange && /^(text|search|password|url|tel)$/.test(next.type)) next.setSelectionRange(at.start, at.end);
}

// One request at a time: what comes meanwhile goes with the next one.
async function keep(what = "keep") {
  clearTimeout(timer);
  if (leaving) return;
  if (running) {
    again = again === false || what !== "keep" ? what : again;
    return;
  }
  running = true;
  form.setAttribute("aria-busy", "true");
  try {
    await send(what);
  } finally {
    running = false;
    form.removeAttribute("aria-busy");
  }
  if (again !== false) {
    const next = again;
    again = false;
    await keep(next);
  }
}

function plan(delay) {
  clearTimeout(timer);
  timer = setTimeout(keep, delay, "keep");
}

form.addEventListener("input", (event) => {
  if (event.target.name && !whole) plan(CALM);
});
form.addEventListener("change", (event) => {
  const input = event.target;
  if (!input.name) return;
  const structure = /^r[?!]*\./.test(input.name);
  if (structure || matters(input)) plan(SOON);
  else if (!whole) plan(CALM);
});

form.addEventListener("submit", async (event) => {
  const button = event.submitter;
  const what = button?.value ?? "next";
  if (event.defaultPrevented || (whole && !what.startsWith("{"))) return;
  event.preventDefault();
  const said = what.startsWith("{") ? JSON.parse(what).do : what;
  if (!["add", "remove", "up", "down"].includes(said)) return keep(what);
  const around = button.closest(".field").closest("li, .entry, .field") ?? form;
  const list = button.closest("fieldset");
  await keep(what);
  const holder = document.getElementById(list?.closest(".field")?.id ?? "");
  if (said === "add" && holder) {
    const added = [...holder.querySelectorAll(":scope > .field-main > fieldset > .items > .item, :scope > .field-main > fieldset > .entries > .item")].at(-1);
    (added?.querySelector("input:not([type=hidden]), select, textarea, button") ?? holder).focus();
  } else if (holder && !holder.contains(document.activeElement)) {
    const id = around.id || "";
    (document.getElementById(`${holder.id}-add`) ?? document.getElementById(id) ?? holder.querySelector("button"))?.focus();
  }
});

// What somebody typed before this script was there, on a slow network.
function touched(input) {
  if (input.type === "checkbox" || input.type === "radio") return input.checked !== input.defaultChecked;
  if (input.localName === "select") {
    const marked = [...input.options].findIndex((option) => option.defaultSelected);
    return input.selectedIndex !== (marked < 0 ? [...input.options].findIndex((option) => !option.disabled) : marked);
  }
  return input.value !== (input.localName === "textarea" ? input.defaultValue : input.defaultValue.replace(/[\r\n]/g, ""));
}

const early = [...form.elements].filter((e) => e.name && /^(input|select|textarea)$/.test(e.localName) && e.type !== "hidden" && touched(e));
if (early.some(matters)) plan(SOON);
else if (early.length && !whole) plan(CALM);

// A tab that is closed loses nothing that was typed a moment before.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && notices.querySelector(":scope > [data-said=out]")) plan(SOON);
  if (document.visibilityState === "hidden" && timer && !leaving && !whole) {
    clearTimeout(timer);
    const data = new FormData(form);
    data.set("do", "keep");
    navigator.sendBeacon(form.action, data);
  }
});
// Coming back from the browser's memory: the server knows better what was answered since.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
