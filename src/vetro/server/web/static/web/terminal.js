// A terminal in a server, drawn by xterm.js. One request is the shell's life and brings what it writes; keys go out in
// requests of their own, one after the other. What the server writes is for the terminal and never becomes part of the page.
const box = document.getElementById("terminal");
const state = document.getElementById("terminal-state");
const end = document.getElementById("terminal-end");
const again = document.getElementById("terminal-again");
const headers = { "Content-Type": "application/json", ...JSON.parse(document.body.getAttribute("hx-headers")) };
const MOST = 48 * 1024;

// xterm.js writes style elements and attributes, which the page's security policy forbids: sheets made by a script are
// none. Instead of such an element it gets one that nobody sees, whose text becomes a sheet.
const create = document.createElement.bind(document);
document.createElement = (name, options) => {
  const made = create(name === "style" ? "template" : name, options);
  if (name === "style") {
    const sheet = new CSSStyleSheet();
    document.adoptedStyleSheets.push(sheet);
    Object.defineProperty(made, "textContent", { set: (text) => sheet.replaceSync(text), get: () => "" });
    const remove = made.remove.bind(made);
    made.remove = () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
      remove();
    };
  } else {
    const set = made.setAttribute.bind(made);
    made.setAttribute = (key, value) => { if (key === "style") made.style.cssText = value; else set(key, value); };
  }
  return made;
};

function theme() {
  const look = getComputedStyle(document.body);
  const of = (name) => look.getPropertyValue(name).trim();
  const text = of("--bs-body-color");
  return { background: of("--bs-body-bg"), foreground: text, cursor: text, cursorAccent: of("--bs-body-bg"), selectionBackground: "#3182ce66" };
}

const narrow = matchMedia("(max-width: 47.99rem)").matches;
const terminal = new globalThis.Terminal({
  theme: theme(), minimumContrastRatio: 4.5, fontSize: narrow ? 12 : 14, scrollback: 5000, cursorBlink: false,
  fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace",
  linkHandler: { activate() {} },  // a server's links lead nowhere
});
const fit = new globalThis.FitAddon.FitAddon();
terminal.loadAddon(fit);
terminal.open(box);
fit.fit();
new MutationObserver(() => { terminal.options.theme = theme(); })
  .observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });

// `open`: what is under way: {abort, id, keys, size, sending}.
let open = null;
const say = (text) => { state.textContent = text; };
const size = () => ({ columns: terminal.cols, rows: terminal.rows });

function encoded(bytes) {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

async function send(shell) {
  if (shell.sending || !shell.id) return;
  shell.sending = true;
  while (shell === open && (shell.keys.length || shell.size)) {
    const part = shell.keys.slice(0, MOST), wanted = shell.size;
    const answer = await fetch(`${box.dataset.input}${shell.id}/input`, {
      method: "POST", headers, body: JSON.stringify({ data: encoded(part), terminal: wanted }),
    }).catch(() => null);
    if (answer?.status === 429 || answer?.status === 503) {  // nothing of it was taken
      say(answer.status === 429 ? box.dataset.full : box.dataset.busy);
      await new Promise((resolve) => setTimeout(resolve, 300));
    } else if (answer?.ok) {
      if ([box.dataset.full, box.dataset.busy].includes(state.textContent)) say(box.dataset.open);
      shell.keys = shell.keys.slice(part.length);
      if (shell.size === wanted) shell.size = null;
    } else {
      // The shell has ended, or nobody knows whether it got them: what is sent again could be done twice.
      if (shell === open && shell.keys.length && answer?.status !== 404) say(box.dataset.dropped);
      shell.keys = [];
      shell.size = null;
    }
  }
  shell.sending = false;
}

function type(bytes) {
  if (!open) return;
  open.keys = open.keys.concat(Array.from(bytes));
  send(open);
}

terminal.onData((text) => type(new TextEncoder().encode(text)));
terminal.onBinary((text) => type(Uint8Array.from(text, (char) => char.charCodeAt(0))));
terminal.onResize(() => { if (open) { open.size = size(); send(open); } });
terminal.attachCustomKeyEventHandler((event) => {
  if (event.type !== "keydown" || event.key !== "F6" || !event.ctrlKey) return true;
  (open ? end : again).focus();
  return false;
});
new ResizeObserver(() => fit.fit()).observe(box);

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const kind = /^event: (.*)$/m.exec(part), data = /^data: (.*)$/m.exec(part);
      if (kind && data) yield [kind[1], JSON.parse(data[1])];
    }
  }
}

async function follow(shell) {
  const answer = await fetch(box.dataset.commands, {
    method: "POST", headers, body: JSON.stringify({ terminal: size() }), signal: shell.abort.signal,
  });
  if (!answer.ok) {
    const error = (await answer.json().catch(() => null))?.error;
    return error ? [error.message, error.hint].filter(Boolean).join(" ") : `${answer.status}`;
  }
  for await (const [kind, data] of events(answer.body)) {
    if (kind === "begin") {
      shell.id = data.id;
      end.disabled = false;
      box.dataset.state = "open";
      say(box.dataset.open);
      send(shell);
    } else if (kind === "stdout" || kind === "stderr") {
      const bytes = Uint8Array.from(atob(data.data), (char) => char.charCodeAt(0));
      await new Promise((resolve) => terminal.write(bytes, resolve));  // no faster than it is drawn
    } else if (kind === "exit") return `${box.dataset.ended} (${data.code})`;
    else if (kind === "end") return data.reason;
  }
  return box.dataset.lost;
}

async function begin() {
  const shell = open = { abort: new AbortController(), id: "", keys: [], size: null, sending: false };
  again.hidden = true;
  box.dataset.state = "opening";
  say(box.dataset.opening);
  terminal.reset();
  terminal.focus();
  const why = await follow(shell).catch(() => (shell.abort.signal.aborted ? box.dataset.ended : box.dataset.lost));
  open = null;
  say(why);
  box.dataset.state = "ended";
  end.disabled = true;
  again.hidden = false;
}

end.addEventListener("click", () => { open?.abort.abort(); again.focus(); });
again.addEventListener("click", begin);
begin();
