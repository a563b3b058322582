// Learning curves, confusion matrix, calibration and importance of the features.
import { axis, byId, byImportance, colour, colourScale, columnTicks, data, drawAndFollow, heightOf, labelLength, lineTicks, percent, plain, plot, plotWidth } from "./theme.js";

const MOST_IMPORTANT = 25;

function drawCurve(name, format, label) {
  const y = data.history[name];
  const trace = { type: "scatter", mode: y.length > 1 ? "lines" : "markers", x: y.map((_, k) => k + 1), y, line: { color: colour("accent"), width: 2 },
    hovertemplate: `epoch %{x}: %{y:${format}}<extra></extra>` };
  const layout = { xaxis: axis({ title: { text: "epoch", standoff: 4 }, fixedrange: true }),
    yaxis: axis({ tickformat: name === "error" ? ".1%" : "", rangemode: name === "loss" ? "normal" : "tozero", fixedrange: true }) };
  plot(byId(`history-${name}`), [trace], layout, label);
}

export function startHistory() {
  const hasSearch = data.history.entropy.some((value) => value > 0);
  byId("history-entropy-panel").hidden = !hasSearch;
  drawAndFollow(() => {
    drawCurve("loss", ".4g", "Line chart: loss by epoch");
    drawCurve("error", ".2%", "Line chart: error on training rows by epoch");
    if (hasSearch) drawCurve("entropy", ".3f", "Line chart: entropy of the parent distribution by epoch");
  });
}

export function drawConfusion() {
  const { confusion } = data.evaluation;
  const { classes } = data;
  const share = confusion.map((row) => {
    const total = row.reduce((sum, count) => sum + count, 0) || 1;
    return row.map((count) => count / total);
  });
  const text = confusion.map((row, t) => row.map((count, p) => `true ${plain(classes[t])}, predicted ${plain(classes[p])}<br>${count} rows, ${percent(share[t][p])}`));
  const trace = { type: "heatmap", z: share, text, zmin: 0, zmax: 1, colorscale: colourScale(), showscale: false, xgap: 1, ygap: 1, hovertemplate: "%{text}<extra></extra>" };
  const host = byId("confusion");
  const isSmall = classes.length <= 16;
  // A digit takes 7 pixels, and each number needs some space around it.
  const digits = String(Math.max(...confusion.flat())).length;
  const hasRoom = plotWidth(host, classes, 20) / classes.length >= 7 * digits + 6;
  byId("confusion-numbers").hidden = !hasRoom;
  const annotations = hasRoom ? confusion.flatMap((row, t) => row.map((count, p) => ({
    x: p, y: t, text: count ? String(count) : "", showarrow: false, font: { size: 12, color: share[t][p] > 0.5 ? colour("surface") : colour("ink") } }))) : [];
  const columns = columnTicks(classes, plotWidth(host, classes, 20), labelLength(host));
  host.style.height = isSmall ? "" : heightOf(classes, columns);
  const layout = { annotations,
    xaxis: axis({ ...columns, title: { text: "predicted", standoff: 4 }, showgrid: false, zeroline: false, fixedrange: true }),
    yaxis: axis({ ...lineTicks(host, classes), title: { text: "true", standoff: 4 }, showgrid: false, zeroline: false, autorange: "reversed", fixedrange: true }) };
  plot(host, [trace], layout, "Heat map: rows by true class and predicted class");
}

export function drawCalibration() {
  const { confidence, accuracy, n_rows: nRows } = data.evaluation;
  const traces = [
    { type: "bar", x: confidence, y: nRows, yaxis: "y2", width: confidence.map(() => 0.03), marker: { color: colour("line") }, hovertemplate: "%{y} rows<extra></extra>" },
    { type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], line: { color: colour("muted"), dash: "dash", width: 1 }, hoverinfo: "skip" },
    { type: "scatter", mode: "lines+markers", x: confidence, y: accuracy, line: { color: colour("accent"), width: 2 }, marker: { size: nRows.map((count) => 5 + 9 * Math.sqrt(count / Math.max(...nRows))) },
      hovertemplate: "probability %{x:.3f}<br>correct %{y:.3f}<extra></extra>" },
  ];
  const layout = {
    xaxis: axis({ anchor: "y2", range: [0, 1.03], title: { text: "probability of the predicted class", standoff: 4 }, fixedrange: true }),
    yaxis: axis({ range: [0, 1.03], domain: [0.24, 1], title: { text: "fraction correct" }, fixedrange: true }),
    yaxis2: axis({ domain: [0, 0.18], title: { text: "rows" }, fixedrange: true, nticks: 3 }),
  };
  plot(byId("calibration"), traces, layout, "Calibration curve: fraction of correct predictions by probability of the predicted class");
}

function drawImportanceBars(value, order) {
  const host = byId("importance-chart");
  const shown = order.slice(0, MOST_IMPORTANT);
  host.style.height = `${24 * shown.length + 60}px`;
  const trace = { type: "bar", orientation: "h", x: shown.map((i) => value[i]), y: shown.map((_, k) => k), text: shown.map((i) => plain(data.features[i])), textposition: "none",
    marker: { color: colour("accent") }, hovertemplate: "%{text}: %{x:.2%}<extra></extra>" };
  const layout = { bargap: 0.25, xaxis: axis({ rangemode: "tozero", tickformat: ".0%", fixedrange: true }),
    yaxis: axis({ ...lineTicks(host, shown.map((i) => data.features[i])), autorange: "reversed", showgrid: false, zeroline: false, fixedrange: true }) };
  plot(host, [trace], layout, `Bar chart: importance of the ${shown.length} most important features`);
}

function drawImportanceImage(value) {
  const [rows, columns] = data.image;
  const cut = (list) => Array.from({ length: rows }, (_, r) => list.slice(r * columns, (r + 1) * columns));
  Object.assign(byId("importance-chart").style, { height: "420px", maxWidth: "540px" });
  const trace = { type: "heatmap", z: cut(value), text: cut(data.features.map(plain)), colorscale: colourScale(), zmin: 0, zmax: Math.max(...value) || 1, colorbar: { thickness: 12, len: 0.8, outlinewidth: 0, tickformat: ".1%" },
    hovertemplate: "%{text}: %{z:.2%}<extra></extra>" };
  const layout = { xaxis: axis({ visible: false, scaleanchor: "y", constrain: "domain", fixedrange: true }), yaxis: axis({ visible: false, autorange: "reversed", constrain: "domain", fixedrange: true }) };
  plot(byId("importance-chart"), [trace], layout, "Image: importance of each pixel");
}

export function startImportance() {
  const value = data.importance;
  const order = byImportance();
  drawAndFollow(() => (data.image ? drawImportanceImage(value) : drawImportanceBars(value, order)));
  const body = byId("importance-table").querySelector("tbody");
  for (const i of order) {
    const line = body.insertRow();
    line.insertCell().textContent = data.features[i];
    line.insertCell().textContent = percent(value[i], 2);
  }
}
