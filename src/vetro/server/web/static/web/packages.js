// Import by drag and drop, with progress. Without this script the forms work as they are.
const form = document.querySelector("form[data-import]");
if (form) {
  const drop = form.querySelector("[data-drop]");
  const input = form.querySelector("input[type=file]");
  const list = form.querySelector("[data-files]");
  const box = form.querySelector("[data-progress]");
  const bar = box.querySelector("progress");
  const told = box.querySelector("[data-progress-words]");
  const report = document.getElementById("report");
  const uploading = told.textContent;
  let request = null;

  const show = () => {
    list.replaceChildren(...[...input.files].map((file) => {
      const item = document.createElement("li");
      item.textContent = `${file.name} · ${Math.max(1, Math.round(file.size / 1024))} KiB`;
      return item;
    }));
  };
  if (drop) {
    input.addEventListener("change", show);
    for (const name of ["dragenter", "dragover"]) {
      drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
    }
    for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      const files = new DataTransfer();
      for (const file of event.dataTransfer.files) files.items.add(file);
      input.files = files.files;
      show();
    });
  }

  const busy = (on) => {
    box.hidden = !on;
    for (const button of form.querySelectorAll("button[name=what]")) button.disabled = on;
  };
  const answer = (html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const part = page.querySelector("[data-report]") ?? page.querySelector(".alert, main");
    report.replaceChildren(...(part ? [document.importNode(part, true)] : [broken()]));
    window.htmx?.process(report); // what a version would change is found out meanwhile
    report.firstElementChild.focus?.();
    report.scrollIntoView({ block: "nearest" });
  };
  const broken = () => {
    const note = document.createElement("div");
    note.className = "alert alert-danger";
    note.setAttribute("role", "alert");
    note.textContent = report.dataset.broken;
    return note;
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (request) return;
    const body = new FormData(form, event.submitter);
    request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("HX-Request", "true");
    bar.value = 0;
    told.textContent = uploading;
    request.upload.addEventListener("progress", (step) => { if (step.lengthComputable) bar.value = 100 * step.loaded / step.total; });
    // Examining takes as long as it takes: a bar without a value moves by itself.
    request.upload.addEventListener("load", () => { bar.removeAttribute("value"); told.textContent = told.dataset.examining; });
    request.addEventListener("loadend", () => {
      const away = request.getResponseHeader("HX-Redirect");
      const { status, responseText } = request;
      request = null;
      busy(false);
      if (away) location.assign(away);
      else if (status) answer(responseText);
      else report.replaceChildren(broken());
    });
    busy(true);
    request.send(body);
  });
  box.querySelector("[data-abort]").addEventListener("click", () => request?.abort());
}
