// Two classes: ROC, precision and recall, and gains, with a threshold that can be dragged.
import { element } from "./bars.js";
import { axis, byId, colour, data, drawers, fillSelect, percent, plot } from "./theme.js";

const state = { positive: 1, at: 0, points: [] };

// For each threshold, from the highest down: rows that are flagged and have the class or not, and those that are not flagged.
function pointsOf(positive) {
  const { threshold, positive: own, negative: other } = data.threshold[positive];
  const [p, n] = [own.at(-1), other.at(-1)];
  return threshold.map((t, k) => ({ threshold: t, tp: own[k], fp: other[k], fn: p - own[k], tn: n - other[k], p, n }));
}

const ratio = (a, b) => (b ? a / b : NaN);

function measuresOf({ tp, fp, fn, tn, p, n }) {
  const flagged = tp + fp;
  return { flagged, precision: ratio(tp, flagged), recall: ratio(tp, p), specificity: ratio(tn, n), accuracy: (tp + tn) / (p + n),
    f1: ratio(2 * tp, 2 * tp + fp + fn), lift: ratio(ratio(tp, flagged), p / (p + n)), share: flagged / (p + n) };
}

function curve(host, x, y, names, reference, label) {
  const { points, at } = state;
  const measures = points.map(measuresOf);
  const text = points.map((point) => `from ${percent(point.threshold, 1)} on`);
  const traces = [
    { type: "scatter", mode: "lines", x: reference[0], y: reference[1], line: { color: colour("muted"), dash: "dash", width: 1 }, hoverinfo: "skip" },
    { type: "scatter", mode: "lines", x: measures.map(x), y: measures.map(y), text, line: { color: colour("accent"), width: 2 }, hovertemplate: `%{text}<br>${names[0]} %{x:.3f}<br>${names[1]} %{y:.3f}<extra></extra>` },
    { type: "scatter", mode: "markers", x: [x(measures[at])], y: [y(measures[at])], marker: { color: colour("second"), size: 12, line: { color: colour("surface"), width: 2 } }, hoverinfo: "skip" },
  ];
  const layout = { xaxis: axis({ title: { text: names[0], standoff: 4 }, range: [-0.02, 1.02], fixedrange: true }), yaxis: axis({ title: { text: names[1] }, range: names[2], fixedrange: true }) };
  plot(byId(host), traces, layout, label);
}

function drawCurves() {
  const { p, n } = state.points[0];
  const rate = p / (p + n);
  const lifts = state.points.map((point) => measuresOf(point).lift).filter(Number.isFinite);
  curve("roc", (m) => 1 - m.specificity, (m) => m.recall, ["false positive rate", "true positive rate", [-0.02, 1.02]], [[0, 1], [0, 1]], "ROC curve");
  curve("precision-recall", (m) => m.recall, (m) => m.precision, ["recall", "precision", [-0.02, 1.02]], [[0, 1], [rate, rate]], "Precision and recall");
  curve("lift", (m) => m.share, (m) => m.lift, ["share of rows", "lift", [0, 1.05 * Math.max(...lifts, 1)]], [[0, 1], [1, 1]], "Lift by share of rows");
}

function showMeasures() {
  const point = state.points[state.at];
  const measures = measuresOf(point);
  byId("threshold-value").textContent = percent(point.threshold, 1);
  byId("threshold-slider").setAttribute("aria-valuetext", percent(point.threshold, 1));
  const share = (value) => (Number.isFinite(value) ? percent(value, 1) : "–");
  const cells = [
    ["Flagged", measures.flagged.toLocaleString("en")], ["Of them right", point.tp.toLocaleString("en")], ["Wrong", point.fp.toLocaleString("en")], ["Missed", point.fn.toLocaleString("en")],
    ["Precision", share(measures.precision)], ["Recall", share(measures.recall)], ["Specificity", share(measures.specificity)],
    ["Accuracy", share(measures.accuracy)], ["F1", measures.f1.toFixed(3)], ["Lift", Number.isFinite(measures.lift) ? measures.lift.toFixed(2) : "–"],
  ];
  byId("threshold-measures").replaceChildren(...cells.flatMap(([name, value]) => {
    const pair = element("div");
    pair.append(element("dt", "", name), element("dd", "", value));
    return pair;
  }));
}

function choosePositive(positive) {
  state.positive = positive;
  state.points = pointsOf(positive);
  byId("threshold-slider").max = state.points.length - 1;
  const above = state.points.findLastIndex((point) => point.threshold >= 0.5);
  moveTo(Math.max(above, 0));
}

function moveTo(at) {
  state.at = at;
  byId("threshold-slider").value = at;
  showMeasures();
  drawCurves();
}

export function startThreshold() {
  fillSelect(byId("threshold-positive"), data.classes.map((name, c) => [c, name]));
  byId("threshold-positive").value = "1";
  byId("threshold-positive").addEventListener("change", (event) => choosePositive(Number(event.target.value)));
  byId("threshold-slider").addEventListener("input", (event) => moveTo(Number(event.target.value)));
  choosePositive(1);
  drawers.push(drawCurves);
}
