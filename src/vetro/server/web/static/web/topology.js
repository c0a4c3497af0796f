// The picture of an environment's objects, drawn by Cytoscape where the server has placed them. The table is the same.
const box = document.getElementById("topology");
const canvas = document.getElementById("canvas");
const chosen = document.getElementById("chosen");
const found = document.getElementById("found");
const find = document.getElementById("find");
// `whole`: the view shows everything, and is to do so when the window changes.
let graph = null, version = "", whole = true, turned = false;

const COLOURS = { deployed: "#2f855a", new: "#3182ce", changed: "#805ad5", working: "#0d8fb5", failed: "#c53030" };

function style() {
  const look = getComputedStyle(document.body);
  const text = look.getPropertyValue("--bs-body-color").trim();
  const back = look.getPropertyValue("--vetro-surface").trim();
  const line = look.getPropertyValue("--bs-secondary-color").trim();
  return [
    { selector: "node", style: {
      shape: "round-rectangle", width: turned ? 132 : 172, height: 44, "background-color": back, "border-width": 3,
      "border-color": "data(colour)", color: text, label: "data(short)", "font-size": 13, "text-valign": "center",
      "text-halign": "center", "text-wrap": "ellipsis", "text-max-width": turned ? 120 : 156, "font-family": look.fontFamily, "min-zoomed-font-size": 6 } },
    { selector: "node[kind = 'environment']", style: { "border-width": 5, "font-weight": "bold" } },
    { selector: "node[kind = 'resource']", style: { shape: "ellipse", height: 40, "border-style": "double", "border-width": 4 } },
    { selector: "edge", style: { width: 1.5, "line-color": line, "curve-style": "straight", "target-arrow-shape": "none", opacity: 0.65 } },
    { selector: "edge[kind = 'uses']", style: { "line-style": "dashed", "target-arrow-shape": "triangle", "target-arrow-color": line } },
    { selector: "node:selected", style: { "background-color": "data(colour)", color: "#fff" } },
    { selector: ".dim", style: { opacity: 0.2 } },
  ];
}

const cut = (text) => (text.length > 21 ? `${text.slice(0, 20)}…` : text);

// On a phone levels stand beside each other, and what is on one level below each other: names stay large enough to read.
const ACROSS = 1.56, DOWN = 0.32;
const narrow = () => canvas.clientWidth < 560;
const place = ({ x, y }) => (turned ? { x: y * ACROSS, y: x * DOWN } : { x, y });

function turn() {
  if (turned === narrow()) return;
  turned = narrow();
  graph.batch(() => graph.nodes().forEach((node) => { node.position(place(node.data())); }));
  graph.style(style());
}

function elements(data) {
  return [
    ...data.nodes.map((node) => ({
      group: "nodes", data: { ...node, colour: COLOURS[node.state] ?? COLOURS.deployed, short: cut(node.label) },
      position: place(node),
    })),
    ...data.edges.map((edge, place) => ({ group: "edges", data: { ...edge, id: `e${place}` } })),
  ];
}

async function load() {
  const response = await fetch(box.dataset.source, { cache: "no-store" });
  if (!response.ok || response.redirected) return;
  const text = await response.text();
  if (text === version) return;
  version = text;
  const data = JSON.parse(text);
  box.hidden = !data.nodes.length;
  if (box.hidden) return;
  if (!graph) return draw(data);
  const selected = graph.$("node:selected").map((node) => node.id());
  graph.batch(() => {
    graph.elements().remove();
    graph.add(elements(data));
    for (const id of selected) graph.getElementById(id).select();
  });
  if (whole) fit();
  search();
}

function draw(data) {
  turned = narrow();
  const many = data.nodes.length > 300;
  graph = globalThis.cytoscape({
    container: canvas, elements: elements(data), style: style(), layout: { name: "preset", fit: true, padding: 24 },
    minZoom: 0.03, maxZoom: 2.5, autoungrabify: true, boxSelectionEnabled: false, selectionType: "single",
    textureOnViewport: many, hideEdgesOnViewport: false, pixelRatio: many ? 1 : "auto",
  });
  canvas.graph = graph;
  fit();
  graph.on("scrollzoom pinchzoom dragpan", () => { whole = false; });
  graph.on("select", "node", (event) => tell(event.target));
  graph.on("dbltap", "node", (event) => visit(event.target));
  box.dataset.drawn = "";
}

function fit() {
  whole = true;
  graph.fit(undefined, turned ? 8 : 24);
  if (graph.zoom() > 1.2) graph.zoom(1.2);
  graph.center();
}

const middle = () => ({ x: canvas.clientWidth / 2, y: canvas.clientHeight / 2 });

function tell(node) {
  chosen.replaceChildren();
  const name = document.createElement(node.data("href") ? "a" : "strong");
  name.textContent = node.data("label");
  if (node.data("href")) name.href = node.data("href");
  chosen.append(name, ` · ${node.data("type")} · ${node.data("state")}`);
}

function visit(node) {
  if (node.data("href")) location.assign(node.data("href"));
}

function pick(node) {
  graph.$("node:selected").unselect();
  node.select();
  const at = node.renderedPosition();
  const inside = at.x > 40 && at.y > 30 && at.x < canvas.clientWidth - 40 && at.y < canvas.clientHeight - 30;
  if (inside) return;
  whole = false;
  graph.animate({ center: { eles: node }, duration: 150 });
}

// The nearest object in a direction; sideways counts double.
function nearest(from, dx, dy) {
  const at = from.position();
  let best = null, least = Infinity;
  graph.nodes().forEach((node) => {
    const x = node.position("x") - at.x, y = node.position("y") - at.y;
    const ahead = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
    if (ahead <= 1) return;
    if (ahead + 2 * aside < least) {
      least = ahead + 2 * aside;
      best = node;
    }
  });
  return best;
}

function zoom(how) {
  if (how === "fit") return fit();
  whole = false;
  graph.zoom({ level: graph.zoom() * (how === "in" ? 1.3 : 1 / 1.3), renderedPosition: middle() });
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function search() {
  const words = find.value.trim().toLowerCase();
  const hit = words ? graph.nodes().filter((node) => `${node.data("label")} ${node.data("type")}`.toLowerCase().includes(words)) : null;
  graph.batch(() => {
    graph.elements().removeClass("dim");
    if (hit) graph.elements().not(hit).addClass("dim");
  });
  found.textContent = !hit ? "" : hit.length ? String(hit.length) : found.dataset.none;
  return hit;
}

if (box) {
  load();
  canvas.addEventListener("keydown", (event) => {
    if (!graph || event.ctrlKey || event.metaKey || event.altKey) return;
    const selected = graph.$("node:selected").first();
    if (ARROWS[event.key]) {
      const next = selected.nonempty() ? nearest(selected, ...ARROWS[event.key]) : graph.nodes().first();
      if (next) pick(next);
    } else if (event.key === "+" || event.key === "=") zoom("in");
    else if (event.key === "-") zoom("out");
    else if (event.key === "0") zoom("fit");
    else if (event.key === "Enter" && selected.nonempty()) visit(selected);
    else return;
    event.preventDefault();
  });
  box.addEventListener("click", (event) => {
    const how = event.target.closest("[data-zoom]")?.dataset.zoom;
    if (how && graph) zoom(how);
  });
  find.addEventListener("input", () => graph && search());
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !graph) return;
    const hit = search();
    if (hit?.length) pick(hit.first());
  });
  document.addEventListener("vetro:live", load);
  new ResizeObserver(() => {
    if (!graph) return;
    graph.resize();
    turn();
    if (whole) fit();
  }).observe(canvas);
  new MutationObserver(() => graph?.style(style())).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
}
