// The learned structure: pixels on their grid, or a tree with a line for each feature.
// With few features, each gets more space.
import { chooseFeature, jointName, startTables } from "./tables.js";
import { byId, data, fillSelect, percent, short, svgElement } from "./theme.js";
export const LINE = Math.min(Math.max(360 / (data.features.length + 1), 26), 44);
const INDENT = LINE > 32 ? 44 : 32;
const LEAST_INDENT = 20;
const LABEL = 150; // width of a usual name with its number
const CELL = 30;
const TREES = ["describes the data", "predictions use"];
const INFORMATION = "The number of an edge is how much more probable the parent makes the value of the feature, given the class, in nats a row.";
let tree = null; // which is drawn

export function addTip(svg, id) {
  const defs = svgElement("defs", {}, svg);
  const marker = svgElement("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 11, markerHeight: 11,
    markerUnits: "userSpaceOnUse", orient: "auto" }, defs);
  svgElement("path", { d: "M0 0 L8 4 L0 8 Z", class: "tip" }, marker);
  return `url(#${id})`;
}

export function edgeWidth(probability) {
  return (0.5 + 3.3 * probability).toFixed(2);
}

export function addNode(svg, feature, kind, title) {
  const node = svgElement("g", { class: `node ${kind}`, "data-feature": feature, role: "button", tabindex: -1 }, svg);
  node.setAttribute("aria-label", title);
  svgElement("title", {}, node).textContent = title;
  return node;
}

function describeParent(i) {
  const name = data.features[i];
  const parents = [tree.parents[i], tree.second[i]].filter((parent) => parent >= 0);
  if (!parents.length) return `${name}, no parent except the class`;
  const label = edgeLabel(i);
  return `${name}, ${parents.length > 1 ? "parents" : "parent"} ${jointName(parents)}${label ? ` (${label})` : ""}`;
}

// What the edge to a feature adds; where that is not known, the probability of the parent, if there was a choice.
function edgeLabel(i) {
  const { gain, strength } = tree;
  if (gain[i] !== null) return Math.abs(gain[i]) < 5e-5 ? "0" : `${gain[i] < 0 ? "−" : "+"}${Math.abs(gain[i]).toFixed(4)}`;
  return strength.some((value) => value < 0.9995) ? percent(strength[i]) : "";
}

// From 0 to 1: what an edge adds beside what the best one adds, or the probability of the parent.
function weightOf(i) {
  const { gain, strength } = tree;
  const best = Math.max(...gain.map((value) => value || 0));
  return best > 0 ? Math.sqrt(Math.max(gain[i] || 0, 0) / best) : strength[i];
}

function linesOfTree() {
  const { row } = tree;
  return data.features.map((_, i) => i).sort((a, b) => row[a] - row[b]);
}

function drawTree(host) {
  const { parents, row, depth } = tree;
  const fitting = (host.clientWidth - LABEL) / (Math.max(...depth) + 1);
  const indent = Math.max(LEAST_INDENT, Math.min(fitting, INDENT));
  const place = (i) => [18 + indent * (depth[i] + 1), LINE * (row[i] + 1.5)];
  const svg = svgElement("svg", { role: "group", "aria-label": "Tree of the features" });
  const tip = addTip(svg, "tip-tree");
  data.features.forEach((_, i) => {
    const [x, y] = place(i);
    const isCut = parents[i] >= 0 && depth[i] === 0; // an edge that closes a cycle
    const [xAbove, yAbove] = parents[i] < 0 || isCut ? [18, LINE / 2] : place(parents[i]);
    const kind = parents[i] < 0 || isCut ? "class" : "";
    const d = `M${xAbove} ${yAbove + 7} V${y - 9} Q${xAbove} ${y} ${xAbove + 9} ${y} H${x - 7}`;
    const width = kind ? 1 : edgeWidth(weightOf(i));
    svgElement("path", { d, class: `edge ${kind} ${tree.adds[i] ? "" : "pale"}`, "stroke-width": width, ...(kind ? {} : { "marker-end": tip }) }, svg);
    if (isCut) {
      const [xp, yp] = place(parents[i]);
      const back = `M${xp - 6} ${yp} C${Math.min(x, xp) - 40} ${yp}, ${x - 40} ${y + 6}, ${x - 7} ${y + 4}`;
      svgElement("path", { d: back, class: "edge back", "stroke-width": edgeWidth(weightOf(i)) }, svg);
    }
  });
  tree.second.forEach((parent, i) => {
    if (parent < 0) return;
    const [[x, y], [xp, yp]] = [place(i), place(parent)];
    const far = Math.min(x, xp) - 34;
    svgElement("path", { d: `M${xp - 6} ${yp} C${far} ${yp}, ${far} ${y}, ${x - 7} ${y}`, class: "edge second", "stroke-width": 1.5 }, svg);
  });
  const add = (feature, x, y, kind, label, value, title) => {
    const node = addNode(svg, feature, kind, title);
    svgElement("rect", { x: x - 11, y: y - 12, width: 0, height: 24, rx: 6, class: "area" }, node);
    if (feature < 0) svgElement("rect", { x: x - 7, y: y - 7, width: 14, height: 14, rx: 3, class: "mark" }, node);
    else svgElement("circle", { cx: x, cy: y, r: 6, class: "mark" }, node);
    const text = svgElement("text", { x: x + 13, y: y + 4.5 }, node);
    text.textContent = short(label, 40);
    if (value) svgElement("tspan", { dx: 8, class: "value" }, text).textContent = value;
  };
  add(-1, 18, LINE / 2, "class", "class", "", "The class");
  linesOfTree().forEach((i) => {
    const isRoot = parents[i] < 0;
    add(i, ...place(i), isRoot ? "root" : "", data.features[i], isRoot ? "" : edgeLabel(i), describeParent(i));
  });
  host.replaceChildren(svg);
  // Boxes behind the lines, and the picture, are sized to the rendered text.
  svg.querySelectorAll(".node").forEach((node) => {
    node.querySelector(".area").setAttribute("width", 24 + node.querySelector("text").getBBox().width + 6);
  });
  const box = svg.getBBox();
  svg.setAttribute("width", Math.ceil(box.x + box.width + 4));
  svg.setAttribute("height", LINE * (data.features.length + 1) + 4);
}

function gridPlace(i) {
  return [CELL * (i % data.image[1]) + CELL / 2, CELL * Math.floor(i / data.image[1]) + CELL / 2];
}

export function startGrid(label) {
  const [rows, columns] = data.image;
  const svg = svgElement("svg", { class: "grid fluid", viewBox: `0 0 ${CELL * columns} ${CELL * rows}`, role: "group", "aria-label": label });
  (data.mean_image || []).forEach((value, i) => {
    const [x, y] = gridPlace(i);
    svgElement("rect", { x: x - CELL / 2, y: y - CELL / 2, width: CELL, height: CELL, class: "pixel", opacity: 0.4 * value }, svg);
  });
  return svg;
}

// A slightly curved line between two pixels, so that both directions of an edge can be told apart.
export function gridEdge(from, to, gap) {
  const [x0, y0] = gridPlace(from);
  const [x1, y1] = gridPlace(to);
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
  const [bx, by] = [(x0 + x1) / 2 - uy * length * 0.12, (y0 + y1) / 2 + ux * length * 0.12];
  const end = [x1 - ux * gap, y1 - uy * gap];
  return `M${x0} ${y0} Q${bx.toFixed(1)} ${by.toFixed(1)} ${end[0].toFixed(1)} ${end[1].toFixed(1)}`;
}

export function addPixels(svg, describe, kindOf) {
  data.features.forEach((_, i) => {
    const [x, y] = gridPlace(i);
    const node = addNode(svg, i, kindOf(i), describe(i));
    svgElement("rect", { x: x - CELL / 2, y: y - CELL / 2, width: CELL, height: CELL, class: "area" }, node);
    svgElement("circle", { cx: x, cy: y, r: 3, class: "mark" }, node);
  });
}

function drawGrid(host) {
  const { parents, adds } = tree;
  const svg = startGrid("Pixels of the image");
  const tip = addTip(svg, "tip-grid");
  addPixels(svg, describeParent, (i) => (parents[i] < 0 ? "root" : ""));
  parents.forEach((parent, i) => {
    if (parent < 0) return;
    const attributes = { d: gridEdge(parent, i, 6), class: `edge ${adds[i] ? "" : "pale"}`, "stroke-width": edgeWidth(weightOf(i)), "marker-end": tip };
    svgElement("path", { ...attributes, style: "pointer-events: none" }, svg);
    const other = tree.second[i];
    if (other >= 0) svgElement("path", { ...attributes, d: gridEdge(other, i, 6), class: "edge second", style: "pointer-events: none" }, svg);
  });
  host.replaceChildren(svg);
}

// Arrow keys move to a neighbour: the next pixel of an image, otherwise the next line.
function neighbour(feature, key, lines) {
  if (data.image) {
    const columns = data.image[1];
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
    return Math.min(Math.max(feature + step, 0), data.features.length - 1);
  }
  const step = key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1;
  return lines[Math.min(Math.max(lines.indexOf(feature) + step, 0), lines.length - 1)];
}

export function listen(host, choose, lines) {
  host.addEventListener("click", (event) => {
    const node = event.target.closest(".node");
    if (node) choose(Number(node.dataset.feature));
  });
  host.addEventListener("keydown", (event) => {
    const node = event.target.closest(".node");
    if (!node) return;
    const feature = Number(node.dataset.feature);
    if (event.key === "Enter" || event.key === " ") choose(feature);
    else if (event.key.startsWith("Arrow")) {
      const next = neighbour(feature, event.key, lines());
      choose(next);
      host.querySelector(`[data-feature="${next}"]`).focus();
    } else return;
    event.preventDefault();
  });
}

function drawNetwork(host) {
  if (data.image) drawGrid(host);
  else drawTree(host);
}

// If the data are described by a tree of their own, there is a choice.
function startTrees(host) {
  const { trees } = data.network;
  tree = trees[0];
  if (trees.length < 2) return;
  const ofClasses = byId("edges-text").textContent;
  const say = () => { byId("edges-text").textContent = tree === trees[0] ? INFORMATION : ofClasses; };
  byId("tree-label").hidden = false;
  fillSelect(byId("tree-choice"), TREES.map((name, k) => [k, name]));
  byId("tree-choice").addEventListener("change", (event) => {
    tree = trees[Number(event.target.value)];
    say();
    drawNetwork(host);
    chooseFeature(Number(byId("table-feature").value));
  });
  say();
}

export function startNetwork() {
  const host = byId("network-view");
  startTrees(host);
  drawNetwork(host);
  byId("network-legend").textContent = data.image
    ? "Features are pixels; red circles have no parent except the class, which is not drawn."
    : "A feature is listed below its parent. Dotted edges lead from the class to features without another parent; its other edges are not drawn.";
  if (tree.second.some((parent) => parent >= 0)) byId("network-legend").textContent += " Dashed edges come from a second parent.";
  listen(host, chooseFeature, () => [-1, ...linesOfTree()]);
  startTables();
  const strengths = tree.parents.map((parent, i) => (parent < 0 ? -1 : weightOf(i)));
  const strongest = strengths.indexOf(Math.max(...strengths));
  chooseFeature(strongest);
}
