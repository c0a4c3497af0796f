// Files that people give: each goes to the service in parts as soon as it is chosen, and the form is sent once all are
// there; it only says what the service calls them. The service looks at that again.
import { csrf } from "./csrf.js";

//: How often a part is sent before somebody is told that the connection is lost, and milliseconds between.
const ATTEMPTS = 3, PAUSE = 1000;
//: What goes on, or went wrong, by the id of the field: the field itself may be replaced meanwhile.
const under = new Map();
let form, texts, say, pressed = null;

//: What browsers have digests a whole file at once, and nothing over plain HTTP. It is loaded when a file is given.
const digester = async () => (await import("../vendor/noble/sha2.js")).sha256.create();
const hex = (bytes) => Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");

class Refused extends Error {}

const at = (id, what) => document.getElementById(`${id}-${what}`);
const told = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

function size(bytes) {
  const units = ["KB", "MB", "GB", "TB"];
  let value = bytes / 1024, unit = 0;
  for (; value >= 1024 && unit < 3; unit += 1) value /= 1024;
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  return `${value.toLocaleString(document.documentElement.lang, digits)}\u00a0${units[unit]}`;
}

/** Calls /v2 until it answers: what was sent already may come again. */
async function ask(method, url, body, upload) {
  const headers = { "X-CSRFToken": csrf(form) };
  if (body) headers["Content-Type"] = "application/octet-stream";
  for (let attempt = 1; ; attempt += 1) {
    let answer = null;
    try {
      answer = await fetch(url, { method, body, headers, signal: upload.abort.signal });
    } catch (error) {
      if (upload.abort.signal.aborted) throw error;
    }
    if (answer?.ok) return answer.json();
    if (answer && answer.status < 500) throw new Refused(await reason(answer, upload));
    if (attempt === ATTEMPTS) throw new Refused(told(texts.file_lost, { sent: size(upload.sent), size: size(upload.file.size) }));
    await new Promise((resolve) => setTimeout(resolve, PAUSE * attempt));
  }
}

async function reason(answer, upload) {
  if (answer.status === 413) return told(texts.file_room, { most: size(upload.most) });
  if (answer.status === 404) {
    Object.assign(upload, { there: null, sent: 0, digest: null });
    return texts.file_gone;
  }
  const known = { 401: texts.file_out, 429: texts.file_many }[answer.status];
  if (known) return known;
  const found = await answer.json().catch(() => null);
  return found?.error?.message ?? `${answer.status}`;
}

/** Sends what has not been sent yet. */
async function send(id, upload) {
  const { file, to } = upload;
  Object.assign(upload, { busy: true, problem: "", abort: new AbortController() });
  show(id);
  say(at(id, "i"), "");
  try {
    upload.there ??= await ask("POST", to, undefined, upload);
    upload.digest ??= await digester();
    while (upload.sent < file.size) {
      let data;
      try {
        data = new Uint8Array(await file.slice(upload.sent, upload.sent + upload.there.part).arrayBuffer());
      } catch {
        throw new Refused(texts.file_unread);
      }
      if (!data.length) throw new Refused(texts.file_unread);
      await ask("PUT", `${to}/${upload.there.file}?offset=${upload.sent}`, data, upload);
      upload.digest.update(data);
      upload.sent += data.length;
      show(id);
    }
  } catch (error) {
    if (under.get(id) !== upload) return; // another one was chosen, or it was taken away
    upload.busy = false;
    upload.problem = error instanceof Refused ? error.message : String(error);
    pressed = null;
    show(id);
    at(id, "error").setAttribute("role", "alert"); // nobody is at the field just then
    say(at(id, "i"), upload.problem);
    return;
  }
  if (under.get(id) !== upload) return;
  under.delete(id);
  const value = {
    "?": { type: "io.vetro.std.StoredFile" }, file: upload.there.file, filename: file.name || "file",
    mimeType: file.type || "application/octet-stream", size: file.size, sha256: hex(upload.digest.digest()),
  };
  put(id, JSON.stringify(value));
  at(id, "status").textContent = told(texts.file_given, { name: file.name, size: size(file.size) });
  show(id);
  goOn();
}

/** Gives the form a value, which is kept with the other answers. */
function put(id, value) {
  const input = at(id, "value");
  input.value = value;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Presses the button once more that somebody pressed while files were under way. */
function goOn() {
  if (!pressed || [...under.values()].some((upload) => upload.busy)) return;
  const button = pressed;
  pressed = null;
  if (button.isConnected) form.requestSubmit(button);
}

/** Shows how far the file of a field is. */
function show(id) {
  const upload = under.get(id), bar = at(id, "bar"), status = at(id, "status");
  if (!bar) return;
  bar.hidden = !upload?.busy;
  if (upload) {
    bar.max = upload.file.size || 1;
    bar.value = upload.sent;
    const text = upload.busy ? texts[pressed ? "file_waits" : "file_sending"] : "";
    const said = told(text, { name: upload.file.name, size: size(upload.file.size) });
    if (status.textContent !== said) status.textContent = said; // or readers would hear it again at each part
  }
  at(id, "again").hidden = !upload?.problem;
  at(id, "drop").hidden = !upload && !at(id, "value").value;
}

function drop(id) {
  under.get(id)?.abort?.abort();
  under.delete(id);
  at(id, "i").value = "";
  at(id, "status").textContent = "";
  say(at(id, "i"), "");
  put(id, "");
  show(id);
  at(id, "i").focus();
}

function choose(input) {
  const id = input.id.slice(0, -2), file = input.files[0], most = Number(input.dataset.most);
  if (!file) return; // the choice was cancelled: what was given stays
  under.get(id)?.abort?.abort();
  const upload = { file, most, to: input.dataset.vUpload, there: null, sent: 0, digest: null };
  under.set(id, upload);
  at(id, "value").value = ""; // it is no more what the form would say
  if (file.size <= most) return void send(id, upload);
  under.delete(id);
  put(id, "");
  at(id, "status").textContent = "";
  show(id);
  say(input, told(texts.file_large, { size: size(file.size), most: size(most) }));
}

/** What is wrong with the file of a field, in words. */
export function wrongFile(input) {
  const id = input.id.slice(0, -2), upload = under.get(id);
  if (upload) return upload.problem;
  return input.required && !at(id, "value").value ? texts.file : "";
}

/** Whether a form has to wait for files; it is sent as `button` would when they are there. */
export function waitsForFiles(button) {
  const busy = [...under].filter(([, upload]) => upload.busy);
  if (!busy.length) return false;
  pressed = button;
  for (const [id] of busy) show(id);
  return true;
}

/** Puts inputs of files into use. */
export function awakenFiles(root) {
  for (const input of root.querySelectorAll("[data-v-upload]")) {
    input.hidden = false;
    input.required = input.dataset.required === "";
    const id = input.id.slice(0, -2), problem = under.get(id)?.problem;
    at(id, "unscripted").hidden = true;
    show(id);
    if (problem) say(input, problem);
  }
}

/** `sayAt`: says at an input what is wrong with it. */
export function useFiles(theForm, theTexts, sayAt) {
  [form, texts, say] = [theForm, theTexts, sayAt];
  form.addEventListener("change", (event) => event.target.dataset.vUpload && choose(event.target));
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-v-again], [data-v-drop]");
    if (button?.dataset.vDrop) drop(button.dataset.vDrop);
    else if (button) send(button.dataset.vAgain, under.get(button.dataset.vAgain));
  });
  window.addEventListener("beforeunload", (event) => [...under.values()].some((upload) => upload.busy) && event.preventDefault());
}
