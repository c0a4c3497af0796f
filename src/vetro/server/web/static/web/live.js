// Keeps a page as it is on the server: <div data-live="/v2/events?…" data-after data-kinds data-target>.
// Events say only that something happened; the parts of the page (elements with data-part) are then fetched anew.
// A cut connection is taken up again where it ended (Last-Event-ID); a hidden tab holds no connection.
const box = document.querySelector("[data-live]");
const PAUSE = 250, RETRY = 2000;
let source = null, after = box?.dataset.after ?? "", timer = 0, asked = 0, done = 0, last = 0;
const shown = new Map();

function state(on) {
  const place = document.getElementById("connection");
  if (!place) return;
  place.textContent = on === null ? "" : on ? place.dataset.on : place.dataset.off;
  place.dataset.connection = on === null ? "closed" : on ? "open" : "lost";
}

function note(event) {
  if (event.lastEventId) after = event.lastEventId;
}

function open() {
  if (source || document.hidden || box.dataset.final !== undefined) return;
  const url = new URL(box.dataset.live, location.href);
  if (after !== "") url.searchParams.set("after", after);
  source = new EventSource(url);
  source.addEventListener("open", () => state(true));
  source.addEventListener("error", () => {
    state(false);
    // A browser gives up for good when the answer is no stream (a proxy's error page): then it is up to us.
    if (source?.readyState === EventSource.CLOSED) {
      close();
      setTimeout(() => {
        open();
        soon(); // leads to the login page if that was the reason
      }, RETRY);
    }
  });
  source.addEventListener("begin", (event) => {
    if (after !== "") soon(); // something may have been missed
    note(event);
  });
  source.addEventListener("end", () => location.reload());
  for (const kind of box.dataset.kinds.split(" ")) {
    source.addEventListener(kind, (event) => {
      note(event);
      soon();
    });
  }
}

function close() {
  source?.close();
  source = null;
}

function soon() {
  asked += 1;
  if (!timer) timer = setTimeout(refresh, Math.max(PAUSE, last + PAUSE * 3 - Date.now()));
}

// Somebody who has a menu open or types is not to lose it.
function occupied(part) {
  if (part.querySelector(".dropdown-menu.show")) return true;
  const focus = document.activeElement;
  return part.contains(focus) && focus.matches("input:not([type=radio]):not([type=checkbox]), textarea, select");
}

async function refresh() {
  const upto = asked;
  try {
    // In this order: the lines that belong to an end are there when the end is.
    await parts();
    await lines();
    done = upto;
  } catch {
    state(false);
    asked += 1;
    await new Promise((go) => setTimeout(go, RETRY));
  }
  last = Date.now();
  timer = 0;
  if (asked > done && !document.hidden) timer = setTimeout(refresh, PAUSE);
}

async function parts() {
  const response = await fetch(location.href, {
    headers: { "HX-Request": "true", "HX-Target": box.dataset.target }, cache: "no-store",
  });
  const target = response.headers.get("HX-Redirect");
  if (target) return location.assign(target);
  // The environment is gone: the page says so.
  if (response.status === 404) return location.reload();
  if (!response.ok) throw new Error(String(response.status));
  const html = new DOMParser().parseFromString(await response.text(), "text/html");
  let waiting = false;
  for (const fresh of html.querySelectorAll("[data-part]")) {
    const old = document.getElementById(fresh.id);
    const text = fresh.innerHTML.replace(/name="csrfmiddlewaretoken" value="[^"]*"/g, "");
    if (!old || shown.get(fresh.id) === text) continue;
    if (occupied(old)) {
      waiting = true;
      continue;
    }
    shown.set(fresh.id, text);
    replace(old, fresh);
    if (fresh.dataset.final !== undefined) finish();
  }
  if (waiting) setTimeout(soon, RETRY);
}

function replace(old, fresh) {
  const focus = old.contains(document.activeElement) ? document.activeElement : null;
  const wanted = focus && (focus.id ? `#${CSS.escape(focus.id)}` : focus.getAttribute("href") ? `a[href="${CSS.escape(focus.getAttribute("href"))}"]` : null);
  for (const details of old.querySelectorAll("details[id][open]")) {
    fresh.querySelector(`#${CSS.escape(details.id)}`)?.setAttribute("open", "");
  }
  old.replaceWith(fresh);
  if (wanted) fresh.querySelector(wanted)?.focus({ preventScroll: true });
  window.htmx?.process(fresh);
  fresh.dispatchEvent(new CustomEvent("htmx:afterSwap", { bubbles: true }));
  fresh.dispatchEvent(new CustomEvent("vetro:live", { bubbles: true }));
}

function finish() {
  box.dataset.final = "";
  close();
  state(null);
}

// The log of a task.
const log = document.getElementById("log");
const follow = document.getElementById("follow");

// What the person chose; else the browser's.
const timeZone = document.documentElement.dataset.zone;

function clocks(root) {
  for (const time of root.querySelectorAll("[data-clock]")) {
    const date = new Date(time.dataset.clock);
    time.textContent = date.toLocaleTimeString(document.documentElement.lang, { hour12: false, timeZone });
    time.title = date.toLocaleString(document.documentElement.lang, { timeZone });
  }
}

async function lines() {
  if (!log || !box.dataset.lines) return;
  for (;;) {
    const url = new URL(box.dataset.lines, location.href);
    url.search = location.search;
    url.searchParams.set("after", log.querySelector("li:last-child")?.dataset.seq ?? "0");
    const response = await fetch(url, { headers: { "HX-Request": "true" }, cache: "no-store" });
    if (!response.ok) throw new Error(String(response.status));
    const html = new DOMParser().parseFromString(`<ol>${await response.text()}</ol>`, "text/html");
    const fresh = [...html.querySelectorAll("li[data-seq]")];
    if (!fresh.length) return;
    log.append(...fresh);
    clocks(log);
    document.getElementById("log-empty").hidden = true;
    if (follow.checked) log.scrollTop = log.scrollHeight;
  }
}

if (log) {
  clocks(log);
  document.getElementById("follow-box").hidden = box.dataset.final !== undefined;
  if (box.dataset.final === undefined) log.scrollTop = log.scrollHeight;
  follow.addEventListener("change", () => {
    if (follow.checked) log.scrollTop = log.scrollHeight;
  });
  // Whoever scrolls up wants to read; at the end it follows again.
  log.addEventListener("scroll", () => {
    follow.checked = log.scrollTop + log.clientHeight >= log.scrollHeight - 30;
  });
  document.getElementById("log-filter").addEventListener("change", (event) => event.currentTarget.requestSubmit());
}

if (box) {
  for (const part of document.querySelectorAll("[data-part]")) {
    shown.set(part.id, part.innerHTML.replace(/name="csrfmiddlewaretoken" value="[^"]*"/g, ""));
  }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return close();
    open();
    soon();
  });
  addEventListener("online", () => {
    close();
    open();
    soon();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => {
    if (event.persisted) {
      open();
      soon();
    }
  });
  open();
}
