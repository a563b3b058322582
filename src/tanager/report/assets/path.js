// How the parent distribution sharpened: edges of all candidates, whose widths change with the epoch, or a matrix if there
// are too many. An ensemble has a single snapshot, whose widths are fractions of members.
import { LINE, addNode, addPixels, edgeWidth, gridEdge, listen, startGrid } from "./network.js";
import { jointName } from "./tables.js";
import { axis, byId, colour, colourScale, columnTicks, data, drawAndFollow, fillSelect, labelLength, lineColours, lineTicks, plain, plot, plotWidth, short, svgElement, ticks, unpack } from "./theme.js";
const MOST_ARCS = 48;
const MOST_EDGES = 20000;
const FAINTEST = 0.01;

const path = data.path ? { ...data.path, ...unpack(data.path.probability, data.path.bytes), at: data.path.epochs.length - 1 } : null;
const isSearch = path !== null && path.epochs.length > 1;

function pathProbability(moment, candidate) {
  return path.numbers[moment * path.child.length + candidate] / path.top;
}

function candidatesOf(feature) {
  return path.child.flatMap((child, e) => (child === feature ? [e] : []));
}

// No parent, one, or a pair.
function membersOf(candidate) {
  return [path.parent[candidate], path.second[candidate]].filter((parent) => parent >= 0);
}

function nameOfParent(candidate) {
  return jointName(membersOf(candidate)) || "no parent";
}

function startArcs(host) {
  const position = new Map(path.order.map((feature, k) => [feature, k]));
  const y = (feature) => LINE * (position.get(feature) + 0.5);
  const widest = Math.max(...data.features.map((name) => short(name, 18).length)) * 7.2 + 18;
  const reach = Math.max(Math.min(host.clientWidth - widest - 24, 16 * data.features.length), 60);
  const svg = svgElement("svg", { class: "arcs", width: widest + reach + 20, height: LINE * data.features.length, role: "group",
    "aria-label": "Candidate parents as arcs between features" });
  path.edges = path.child.map((child, e) => membersOf(e).map((parent) => {
    const far = widest + 1.33 * reach * (Math.abs(position.get(child) - position.get(parent)) / data.features.length) ** 0.7; // a curve reaches 3/4 of it
    const kind = position.get(parent) < position.get(child) ? "" : "back";
    return svgElement("path", { d: `M${widest} ${y(parent)} C${far} ${y(parent)}, ${far} ${y(child)}, ${widest} ${y(child)}`, class: `edge ${kind}` }, svg);
  }));
  data.features.forEach((name, i) => {
    const node = addNode(svg, i, "", name);
    svgElement("rect", { x: 0, y: y(i) - 12, width: widest - 10, height: 24, rx: 6, class: "area" }, node);
    svgElement("circle", { cx: widest, cy: y(i), r: 5, class: "mark" }, node);
    svgElement("text", { x: widest - 14, y: y(i) + 4.5, "text-anchor": "end" }, node).textContent = short(name, 18);
  });
  host.replaceChildren(svg);
}

function startPathGrid(host) {
  const svg = startGrid("Candidate parents of the pixels");
  addPixels(svg, (i) => data.features[i], () => "");
  path.edges = path.child.map((child, e) => membersOf(e).map((parent) =>
    svgElement("path", { d: gridEdge(parent, child, 3), class: "edge", style: "pointer-events: none" }, svg)));
  host.replaceChildren(svg);
}

function updateEdges() {
  path.edges.forEach((edges, e) => edges.forEach((edge) => {
    const probability = pathProbability(path.at, e);
    edge.style.display = probability < FAINTEST ? "none" : "";
    edge.setAttribute("stroke-width", edgeWidth(probability));
    edge.setAttribute("opacity", (0.12 + 0.88 * probability).toFixed(3));
  }));
}

function drawMatrix(host) {
  const n = data.features.length;
  const names = [...data.features, "no parent"];
  const z = data.features.map(() => new Float32Array(n + 1));
  path.child.forEach((child, e) => {
    const columns = path.parent[e] < 0 ? [n] : membersOf(e);
    columns.forEach((column) => { z[child][column] += pathProbability(path.at, e); });
  });
  host.style.height = "560px";
  const trace = { type: "heatmap", z, zmin: 0, zmax: 1, colorscale: colourScale(), showscale: false,
    hovertemplate: "child %{y}<br>parent %{x}<br>%{z:.3f}<extra></extra>" };
  const layout = { xaxis: axis({ ...columnTicks(names, plotWidth(host, data.features, 20)), title: { text: "parent" }, showgrid: false, fixedrange: true }),
    yaxis: axis({ ...ticks(data.features, labelLength(host), 30), title: { text: "child" }, showgrid: false, autorange: "reversed", fixedrange: true }) };
  plot(host, [trace], layout, "Heat map: probability of each parent (columns) of each feature (rows)");
}

function drawCandidates(feature) {
  const host = byId("path-lines");
  const last = path.epochs.length - 1;
  const found = candidatesOf(feature).sort((a, b) => pathProbability(last, b) - pathProbability(last, a)).slice(0, 8);
  if (!isSearch) {
    host.style.height = `${34 * found.length + 70}px`;
    const trace = { type: "bar", orientation: "h", y: found.map((_, k) => k), x: found.map((e) => pathProbability(0, e)), marker: { color: colour("accent") },
      text: found.map((e) => plain(nameOfParent(e))), textposition: "none", hovertemplate: "%{text}: %{x:.0%}<extra></extra>" };
    const layout = { xaxis: axis({ range: [0, 1], tickformat: ".0%", title: { text: "fraction of members" }, fixedrange: true }),
      yaxis: axis({ ...lineTicks(host, found.map(nameOfParent)), autorange: "reversed", fixedrange: true }) };
    return plot(host, [trace], layout, `Bar chart: parents of ${data.features[feature]} by fraction of members`);
  }
  const traces = found.map((e, k) => ({
    type: "scatter", mode: "lines", x: path.epochs, y: path.epochs.map((_, s) => pathProbability(s, e)), name: plain(short(nameOfParent(e), 22)),
    line: { color: lineColours()[k], width: k === 0 ? 3 : 1.8, dash: path.parent[e] < 0 ? "dot" : "solid" }, hovertemplate: "%{y:.3f}",
  }));
  const layout = {
    showlegend: true, legend: { orientation: "h", y: -0.2, yanchor: "top", x: 0 }, hovermode: "x unified",
    xaxis: axis({ title: { text: "epoch", standoff: 4 }, fixedrange: true }),
    yaxis: axis({ range: [-0.02, 1.02], title: { text: "probability" }, fixedrange: true }),
    shapes: [{ type: "line", x0: path.epochs[path.at], x1: path.epochs[path.at], yref: "paper", y0: 0, y1: 1, line: { color: colour("muted"), width: 1, dash: "dash" } }],
  };
  return plot(host, traces, layout, `Line chart: probability of each candidate parent of ${data.features[feature]} by epoch`);
}

function choosePathFeature(feature) {
  path.feature = feature;
  byId("path-feature").value = String(feature);
  drawCandidates(feature);
  if (!path.edges) return;
  byId("path-view").querySelectorAll(".node").forEach((node) => {
    const isChosen = Number(node.dataset.feature) === feature;
    node.classList.toggle("is-chosen", isChosen);
    node.setAttribute("tabindex", isChosen ? 0 : -1);
  });
}

// While the pointer is on a feature, only the edges that lead to it are highlighted.
function highlight(host) {
  const svg = host.querySelector("svg");
  host.addEventListener("pointerover", (event) => {
    const node = event.target.closest(".node");
    svg.classList.toggle("dim", Boolean(node));
    if (node) path.edges.forEach((edges, e) => edges.forEach((edge) => edge.classList.toggle("is-own", path.child[e] === Number(node.dataset.feature))));
  });
  host.addEventListener("pointerleave", () => svg.classList.remove("dim"));
}

function showMoment(moment) {
  path.at = moment;
  const text = `epoch ${path.epochs[moment]} of ${path.epochs[path.epochs.length - 1]}`;
  byId("path-slider").value = moment;
  byId("path-slider").setAttribute("aria-valuetext", text);
  byId("path-epoch").textContent = text;
  if (path.edges) updateEdges();
  else drawMatrix(byId("path-view"));
  const x = path.epochs[moment];
  Plotly.relayout(byId("path-lines"), { "shapes[0].x0": x, "shapes[0].x1": x });
}

function startSlider() {
  const slider = byId("path-slider");
  const button = byId("path-play");
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
    button.setAttribute("aria-pressed", "false");
  };
  slider.max = path.epochs.length - 1;
  slider.addEventListener("input", () => { stop(); showMoment(Number(slider.value)); });
  button.addEventListener("click", () => {
    if (timer) return stop();
    if (path.at === path.epochs.length - 1) showMoment(0);
    button.textContent = "Pause";
    button.setAttribute("aria-pressed", "true");
    timer = setInterval(() => (path.at < path.epochs.length - 1 ? showMoment(path.at + 1) : stop()), 180);
    return undefined;
  });
}

export function startPath() {
  const host = byId("path-view");
  const canDraw = path.child.length <= MOST_EDGES && (data.image || data.features.length <= MOST_ARCS);
  if (canDraw && data.image) startPathGrid(host);
  else if (canDraw) startArcs(host);
  const arcs = host.querySelector(".back") ? "Blue arcs lead from a parent down to its child, red ones up." : "Arcs lead from a parent down to its child.";
  const width = isSearch ? "The width of an edge is its probability." : "";
  byId("path-legend").textContent = canDraw ? width : "Stronger colours mean more probable parents.";
  const point = `Point at a ${data.image ? "pixel" : "feature"} to see the edges that lead to it.`;
  byId("path-caption").textContent = canDraw ? `${data.image ? "" : arcs} ${point}` : "Rows are children, columns their parents.";
  fillSelect(byId("path-feature"), data.features.map((name, i) => [i, name]));
  byId("path-feature").addEventListener("change", (event) => choosePathFeature(Number(event.target.value)));
  const last = path.epochs.length - 1;
  const gain = new Float64Array(data.features.length).fill(-1);
  path.child.forEach((child, e) => {
    gain[child] = isSearch ? Math.max(gain[child], pathProbability(last, e) - pathProbability(0, e)) : gain[child] + 1;
  });
  drawAndFollow(() => choosePathFeature(path.feature ?? gain.indexOf(Math.max(...gain))));
  if (canDraw) { updateEdges(); highlight(host); listen(host, choosePathFeature, () => path.order); }
  else drawAndFollow(() => drawMatrix(host));
  if (isSearch) { startSlider(); showMoment(last); }
}
