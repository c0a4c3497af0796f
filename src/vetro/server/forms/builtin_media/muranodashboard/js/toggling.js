// Shows fields only while the box on which they depend says so. A field is found by the end of its name, as pages of
// different age prefix the names of inputs with those of the step.

function inputs(name) {
  return [...document.querySelectorAll("input, select, textarea")].filter(
    (input) => input.name === name || input.name.endsWith(`-${name}`) || input.name.endsWith(`.${name}`),
  );
}

function row(input) {
  return input.closest("[data-field], .field, .form-group") ?? input.parentElement;
}

function show(names, visible) {
  for (const input of names.flatMap(inputs)) {
    row(input).hidden = !visible;
    // A hidden input keeps its value and is still sent: the server decides what counts.
    input.setAttribute("aria-hidden", String(!visible));
  }
}

// `when`: whether the fields `names` are shown while the box `box` is ticked, or while it is not.
export function toggle(box, names, { when }) {
  const update = () => {
    const boxes = inputs(box).filter((input) => input.type === "checkbox");
    if (boxes.length) show(names, boxes.some((input) => input.checked) === when);
  };
  document.addEventListener("change", (event) => {
    if (inputs(box).includes(event.target)) update();
  });
  document.addEventListener("htmx:afterSwap", update);
  update();
}
