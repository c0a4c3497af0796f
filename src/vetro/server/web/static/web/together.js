// Rows of a list that are ticked: all of them at once, how many, and buttons for them. What is ticked stays so when the
// list is loaded anew. Without this script the form works as it is.
const form = document.getElementById("together");
if (form) {
  const bar = document.querySelector(".together");
  const words = bar?.querySelector("[data-ticked]");
  const text = words?.textContent;
  const every = bar?.querySelector("[data-all]");
  const all = every?.querySelector("input");
  const ticked = new Set();
  // Of a list in which each row has forms of its own, boxes and buttons name the form that they are for.
  const boxes = () => [...form.elements].filter((one) => one.name === "id" && !one.disabled);
  if (every) every.hidden = false;
  const count = () => {
    const found = boxes();
    const number = found.filter((box) => box.checked).length;
    if (all) {
      all.checked = number > 0 && number === found.length;
      all.indeterminate = number > 0 && !all.checked;
    }
    if (words) words.textContent = number ? `${text} (${number})` : text;
    for (const button of form.elements) if (button.name === "what") button.disabled = !number;
  };
  const keep = () => {
    for (const box of boxes()) box.checked ? ticked.add(box.value) : ticked.delete(box.value);
    count();
  };
  all?.addEventListener("change", () => {
    for (const box of boxes()) box.checked = all.checked;
    keep();
  });
  document.addEventListener("change", (event) => {
    if (event.target.form === form && event.target.name === "id") keep();
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const box of boxes()) box.checked = ticked.has(box.value);
    count();
  });
  keep();
}
