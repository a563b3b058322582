// The panel with the CPT of one feature: a heat map for each class, or one at a time if there are many.
import { element } from "./bars.js";
import { axis, byId, colour, colourScale, columnTicks, data, drawers, fillSelect, lineTicks, plain, plot, plotWidth, short, unpack } from "./theme.js";
const MOST_FACETS = 4;
const MOST_BESIDE = 20; // values of a feature whose heat maps stand side by side
const THINNEST = 8; // pixels of a cell with a gap around it
let tables = null;

function tableOf(feature) {
  const { network, values, classes } = data;
  tables = tables || unpack(network.tables, 2);
  const start = network.table_start[feature];
  if (start < 0) return null;
  const nOwn = values[feature].length;
  const nClasses = classes.length;
  return (p, x, c) => tables.numbers[start + (p * nOwn + x) * nClasses + c] / tables.top;
}

export function parentsOf(feature) {
  return [data.network.parents[feature], data.network.second[feature]].filter((parent) => parent >= 0);
}

export function jointName(parents) {
  return parents.map((parent) => data.features[parent]).join(" and ");
}

// A line for each value of the parent, for each group of values if they are grouped, or for each pair of values of two parents.
export function jointValues(parents) {
  const linesOf = (parent) => data.network.groups[parent] || data.values[parent];
  const extend = (lines, parent) => lines.flatMap((line) => linesOf(parent).map((value) => [...line, value]));
  return parents.reduce(extend, [[]]).map((line) => line.join(", "));
}

// The views of a CPT: all classes side by side, one class, or one value of the parent.
function slicesOf(feature) {
  const parents = parentsOf(feature);
  const { classes } = data;
  if (!parents.length) return [{ key: "parent:0", label: "all classes" }];
  const all = classes.length <= MOST_FACETS ? [{ key: "all", label: "all classes" }] : [];
  const ofClass = classes.map((name, c) => ({ key: `class:${c}`, label: `class ${name}` }));
  const ofParent = jointValues(parents).map((name, p) => ({ key: `parent:${p}`, label: `${short(jointName(parents), 24)}: ${name}` }));
  return [...all, ...ofClass, ...ofParent];
}

function heatMap(host, z, x, y, top, label) {
  const isSmall = x.labels.length * y.labels.length <= 49 && x.labels.length <= 7;
  const width = plotWidth(host, y.labels);
  const columns = columnTicks(x.labels, width);
  host.style.height = `${Math.min(Math.max(26 * y.labels.length, 60) + (columns.tickangle ? 100 : 55), 640)}px`;
  const text = y.labels.map((row) => x.labels.map((column) => `${plain(y.name)}: ${plain(row)}<br>${plain(x.name)}: ${plain(column)}`));
  const trace = {
    type: "heatmap", z, text, zmin: 0, zmax: top, colorscale: colourScale(), showscale: false,
    xgap: width < THINNEST * x.labels.length ? 0 : 1, ygap: 1,
    hovertemplate: "%{text}<br>probability %{z:.4f}<extra></extra>",
    ...(isSmall ? { texttemplate: "%{z:.2f}" } : {}),
  };
  const layout = {
    xaxis: axis({ ...columns, showgrid: false, zeroline: false, fixedrange: true }),
    yaxis: axis({ ...lineTicks(host, y.labels), showgrid: false, zeroline: false, autorange: "reversed", fixedrange: true }),
  };
  plot(host, [trace], layout, label);
}

function addFacet(title) {
  const box = document.createElement("div");
  const heading = document.createElement("h4");
  heading.textContent = title;
  const host = document.createElement("div");
  host.className = "chart";
  box.append(...(title ? [heading, host] : [host]));
  byId("table-charts").append(box);
  return host;
}

// The numbers of the heat maps as HTML tables, which are made when they are asked for.
let writeNumbers = () => [];

function numberTable([title, z, y], own) {
  const table = element("table", "plain");
  const head = table.createTHead().insertRow();
  head.append(...[title, ...own.labels].map((label) => element("th", "", label)));
  const body = table.createTBody();
  y.labels.forEach((label, r) => {
    const line = body.insertRow();
    line.append(element("th", "", label), ...z[r].map((value) => element("td", "number", value.toFixed(4))));
  });
  return table;
}

function showNumbers() {
  byId("table-numbers-view").replaceChildren(...(byId("table-numbers").open ? writeNumbers() : []));
}

function drawTable(feature, slice) {
  const { features, values, classes } = data;
  byId("table-charts").replaceChildren();
  byId("table-charts").classList.toggle("is-wide", feature >= 0 && values[feature].length > MOST_BESIDE);
  byId("table-note").textContent = "";
  byId("table-numbers").hidden = feature < 0;
  if (feature < 0) return drawPrior();
  const parents = parentsOf(feature);
  const isAlone = parents.length === 0;
  byId("table-title").textContent = isAlone ? `${features[feature]} given the class` : `${features[feature]} given ${jointName(parents)} and the class`;
  const table = tableOf(feature);
  if (!table) {
    byId("table-note").textContent = "This CPT is too large to be included in the page.";
    return;
  }
  const own = { name: features[feature], labels: values[feature] };
  const above = isAlone ? null : { name: jointName(parents), labels: jointValues(parents) };
  const cells = (rows, read) => rows.map((_, r) => own.labels.map((_, x) => read(r, x)));
  const kind = slice.split(":")[0];
  const number = Number(slice.split(":")[1] || 0);
  const shown = [];
  if (kind === "parent") shown.push(["", cells(classes, (c, x) => table(number, x, c)), { name: "class", labels: classes }]);
  if (kind === "class") shown.push([`Class ${classes[number]}`, cells(above.labels, (p, x) => table(p, x, number)), above]);
  if (kind === "all") classes.forEach((name, c) => shown.push([`Class ${name}`, cells(above.labels, (p, x) => table(p, x, c)), above]));
  const top = Math.max(...shown.flatMap(([, z]) => z.map((row) => Math.max(...row)))) || 1;
  byId("table-top").textContent = top < 0.1 ? top.toPrecision(2) : top.toFixed(2);
  byId("table-note").textContent = `Columns: ${own.name}. Rows: ${shown[0][2].name}.`;
  writeNumbers = () => shown.map((each) => numberTable(each, own));
  showNumbers();
  const hosts = shown.map(([title]) => addFacet(title)); // all of them first: their number determines their width
  shown.forEach(([title, z, y], k) => {
    heatMap(hosts[k], z, own, y, top, `Heat map: probability of ${own.name} by ${y.name}${title ? `, ${title}` : ""}`);
  });
}

function drawPrior() {
  byId("table-title").textContent = "Probability of the classes";
  const host = addFacet("");
  host.style.height = `${Math.min(Math.max(24 * data.classes.length + 70, 160), 640)}px`;
  const prior = data.shares;
  const text = data.classes.map(plain);
  const trace = { type: "bar", orientation: "h", x: prior, y: data.classes.map((_, c) => c), text, textposition: "none",
    marker: { color: colour("accent") }, hovertemplate: "%{text}: %{x:.4f}<extra></extra>" };
  const layout = { xaxis: axis({ title: { text: "probability" }, rangemode: "tozero", fixedrange: true }),
    yaxis: axis({ ...lineTicks(host, data.classes), autorange: "reversed", fixedrange: true }) };
  plot(host, [trace], layout, "Bar chart: probability of each class");
  byId("table-top").textContent = "1";
}

let chosenFeature = -1;

// Show the CPT of a feature, or the prior of the class (-1), and highlight it in the network.
export function chooseFeature(feature) {
  chosenFeature = feature;
  byId("table-feature").value = String(feature);
  const slices = feature < 0 ? [{ key: "all", label: "all classes" }] : slicesOf(feature);
  fillSelect(byId("table-slice"), slices.map(({ key, label }) => [key, label]));
  byId("table-slice-label").hidden = slices.length < 2;
  drawTable(feature, slices[0].key);
  document.querySelectorAll("#network-view .node").forEach((node) => {
    const isChosen = Number(node.dataset.feature) === feature;
    node.classList.toggle("is-chosen", isChosen);
    node.setAttribute("aria-pressed", isChosen);
    node.setAttribute("tabindex", isChosen ? 0 : -1);
  });
}

export function startTables() {
  const names = data.features.map((name, i) => [i, name]);
  fillSelect(byId("table-feature"), [[-1, "(the class)"], ...names]);
  byId("table-feature").addEventListener("change", (event) => chooseFeature(Number(event.target.value)));
  byId("table-slice").addEventListener("change", (event) => drawTable(chosenFeature, event.target.value));
  byId("table-numbers").addEventListener("toggle", showNumbers);
  drawers.push(() => drawTable(chosenFeature, byId("table-slice").value));
}
