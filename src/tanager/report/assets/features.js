// One feature at a time: how frequent its values are in each class, and what they say about the class.
import { axis, byId, byImportance, colourScale, colour, columnTicks, data, drawers, fillSelect, heightOf, lineColours, lineTicks, plain, plot, plotWidth, short, unpack } from "./theme.js";
import { classifier } from "./whatif.js";

const MOST_LINES = 4; // classes that are drawn as lines or bars; more are a heat map

let frequencies = null;
let feature = 0;

// p(x | c) in the data, or null where it is not known.
function frequencyOf(i) {
  if (!data.frequencies) return null;
  frequencies = frequencies || unpack(data.frequencies.packed, 2);
  const start = data.frequencies.start[i] * data.classes.length;
  return (x, c) => frequencies.numbers[start + x * data.classes.length + c] / frequencies.top;
}

function valueAxis(i, width) {
  return axis({ ...columnTicks(data.values[i], width), showgrid: false, zeroline: false, fixedrange: true });
}

function heatMapByClass(host, i, z, colours, label) {
  const columns = valueAxis(i, plotWidth(host, data.classes, 60));
  host.style.height = heightOf(data.classes, columns);
  const text = data.classes.map((name) => data.values[i].map((value) => `class ${plain(name)}<br>${plain(data.features[i])}: ${plain(value)}`));
  const trace = { type: "heatmap", z, text, ...colours, xgap: 1, ygap: 1, colorbar: { thickness: 10, outlinewidth: 0, len: 0.9 }, hovertemplate: "%{text}<br>%{z:.3f}<extra></extra>" };
  const layout = { xaxis: columns, yaxis: axis({ ...lineTicks(host, data.classes), showgrid: false, zeroline: false, autorange: "reversed", fixedrange: true }) };
  plot(host, [trace], layout, label);
}

function legendBelow(count) {
  return { showlegend: count > 1, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 } };
}

function drawFrequencies(i) {
  const host = byId("feature-frequencies");
  const frequency = frequencyOf(i);
  byId("feature-frequencies-panel").hidden = !frequency;
  if (!frequency) return;
  const { classes, values } = data;
  const label = `Frequencies of the values of ${data.features[i]} in each class`;
  const z = classes.map((_, c) => values[i].map((_, x) => frequency(x, c)));
  if (classes.length > MOST_LINES) {
    heatMapByClass(host, i, z, { colorscale: colourScale(), zmin: 0 }, label);
    return;
  }
  host.style.height = "320px";
  const traces = classes.map((name, c) => ({
    type: "bar", name: plain(short(name, 24)), x: values[i].map((_, x) => x), y: z[c], marker: { color: lineColours()[c] },
    text: values[i].map((value) => `${plain(data.features[i])}: ${plain(value)}, class ${plain(name)}`), textposition: "none",
    hovertemplate: "%{text}<br>%{y:.2%}<extra></extra>",
  }));
  const layout = { ...legendBelow(classes.length), bargap: 0.15, xaxis: valueAxis(i, host.clientWidth - 70), yaxis: axis({ tickformat: ".0%", rangemode: "tozero", fixedrange: true }) };
  plot(host, traces, layout, label);
}

// Contribution of each value to the log-odds of each class against the mean of all, with the parent unknown or given.
function contributionsByValue(i, parent, parentCode) {
  const nClasses = data.classes.length;
  return data.values[i].map((_, x) => {
    const codes = [...classifier.cards];
    codes[i] = x;
    if (parent >= 0) codes[parent] = parentCode;
    const terms = classifier.terms(classifier.members, codes).subarray(i * nClasses, (i + 1) * nClasses);
    const mean = terms.reduce((sum, term) => sum + term, 0) / nClasses;
    return Array.from(terms, (term) => term - mean);
  });
}

function drawContributions(i) {
  const host = byId("feature-contributions");
  const isKnown = classifier && classifier.combine === "log" && data.classes.length > 1;
  byId("feature-contributions-panel").hidden = !isKnown;
  if (!isKnown) return;
  const [parent, code] = byId("feature-given").value.split(":").map(Number);
  const found = contributionsByValue(i, parent, code);
  const { classes, values } = data;
  if (classes.length > 2) {
    const z = classes.map((_, c) => found.map((line) => line[c]));
    const top = Math.max(...z.flat().map(Math.abs), 0.01);
    const scale = [[0, colour("second")], [0.5, colour("surface")], [1, colour("accent")]];
    heatMapByClass(host, i, z, { colorscale: scale, zmin: -top, zmax: top }, `What the values of ${data.features[i]} add to the log-odds of each class`);
    byId("feature-contributions-note").textContent = "What a value adds to the log-odds of each class against the mean of all classes, in nats.";
    return;
  }
  host.style.height = "320px";
  const y = found.map((line) => line[1] - line[0]);
  const trace = { type: "bar", x: y.map((_, x) => x), y, marker: { color: y.map((value) => colour(value < 0 ? "second" : "accent")) },
    text: values[i].map((value) => `${plain(data.features[i])}: ${plain(value)}`), textposition: "none", hovertemplate: "%{text}<br>%{y:+.3f}<extra></extra>" };
  const layout = { bargap: 0.15, xaxis: valueAxis(i, host.clientWidth - 70), yaxis: axis({ zeroline: true, fixedrange: true }) };
  plot(host, [trace], layout, `What the values of ${data.features[i]} add to the log-odds`);
  byId("feature-contributions-note").textContent = `What a value adds to the log-odds, in nats: above zero it speaks for ${classes[1]}, below for ${classes[0]}.`;
}

function fillGiven(i) {
  const parents = [...new Set(classifier ? classifier.members.flatMap((member) => (member.pairs ? member.pairs[i] : [member.parents[i]])) : [])].filter((parent) => parent >= 0);
  const choices = parents.flatMap((parent) => data.values[parent].map((value, code) => [`${parent}:${code}`, `${short(data.features[parent], 24)}: ${value}`]));
  fillSelect(byId("feature-given"), [["-1:0", parents.length ? "(parent unknown)" : "(no parent)"], ...choices]);
  byId("feature-given-label").hidden = !parents.length;
}

export function showFeature(i) {
  feature = i;
  byId("feature-choice").value = String(i);
  fillGiven(i);
  drawFrequencies(i);
  drawContributions(i);
}

export function startFeatures() {
  const order = byImportance();
  fillSelect(byId("feature-choice"), order.map((i) => [i, data.features[i]]));
  byId("feature-choice").addEventListener("change", (event) => showFeature(Number(event.target.value)));
  byId("feature-given").addEventListener("change", () => drawContributions(feature));
  showFeature(order[0]);
  drawers.push(() => { drawFrequencies(feature); drawContributions(feature); });
}
