// The data of the page, colours from the style sheet, and one way to draw a chart.
export const data = JSON.parse(document.getElementById("report-data").textContent);
export const byId = (id) => document.getElementById(id);
export const drawers = [];

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export function colourScale() {
  return [0, 1, 2, 3, 4].map((step) => [step / 4, colour(`scale-${step}`)]);
}

// Draw now, and again when the colours of the page change.
export function drawAndFollow(draw) {
  drawers.push(draw);
  draw();
}

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawers.forEach((draw) => draw()));

// Names are data: plotly must not treat them as markup.
export function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

export function short(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

export function ticks(labels, length = 16, most = 40) {
  const step = Math.ceil(labels.length / most);
  const shown = labels.map((label, k) => [k, plain(short(label, length))]).filter(([k]) => k % step === 0);
  return { tickmode: "array", tickvals: shown.map(([k]) => k), ticktext: shown.map(([, label]) => label), ticklabeloverflow: "allow" };
}

// Labels below columns are horizontal if they fit, otherwise slanted so that each ends at its column, or upright where columns
// are narrow; where even that is too tight, they are thinned out so that they do not overlap.
const SLANTED = 20; // pixels from one label to the next
const UPRIGHT = 13;

export function columnTicks(labels, width, length = 16, most = 40) {
  const longest = Math.max(...labels.map((label) => Math.min(label.length, length)));
  const step = width / labels.length;
  if (labels.length <= most && longest * 7 <= step) return { ...ticks(labels, length, most), tickangle: 0 };
  const isTight = labels.length > most || step < UPRIGHT;
  const found = ticks(labels, length, isTight ? Math.max(Math.min(most, Math.floor(width / SLANTED)), 1) : most);
  return { ...found, tickangle: isTight || step >= SLANTED ? -40 : -90 };
}

// Characters of a label beside the lines of a chart.
export function labelLength(host) {
  return Math.max(14, Math.min(30, Math.floor(host.clientWidth / 24)));
}

// Pixels that a chart has for its columns beside the labels of its lines.
export function plotWidth(host, labels, more = 0) {
  const longest = Math.max(...labels.map((label) => Math.min(label.length, labelLength(host))));
  return host.clientWidth - 7 * longest - 50 - more;
}

// Labels of lines of a heat map, and the height that the chart requires for them.
export function lineTicks(host, labels) {
  return ticks(labels, labelLength(host), 60);
}

export function heightOf(labels, columns) {
  return `${Math.min(Math.max(16 * labels.length, 60), 960) + (columns.tickangle ? 130 : 60)}px`;
}

export function axis(extra) {
  const common = { gridcolor: colour("faint"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true };
  return { ...common, ...extra };
}

export function plot(element, traces, layout, label) {
  const common = {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("ink"), family: getComputedStyle(document.body).fontFamily, size: 12 },
    margin: { l: 12, r: 12, t: 12, b: 12 },
    hoverlabel: { bgcolor: colour("surface"), bordercolor: colour("line"), font: { color: colour("ink") } },
    showlegend: false,
    dragmode: false,
  };
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", label);
  return Plotly.react(element, traces, { ...common, ...layout }, { displayModeBar: false, responsive: true, scrollZoom: false });
}

export function unpack(text, bytes) {
  const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  if (bytes === 1) return { numbers: raw, top: 255 };
  const view = new DataView(raw.buffer);
  return { numbers: Uint16Array.from({ length: raw.length / 2 }, (_, k) => view.getUint16(2 * k, true)), top: 65535 };
}

export function svgElement(name, attributes, parent) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.appendChild(element);
  return element;
}

export function fillSelect(select, options) {
  select.replaceChildren(...options.map(([value, label]) => new Option(label, value)));
}

export function percent(share, digits = share < 0.1 ? 1 : 0) {
  return `${(100 * share).toFixed(digits)} %`;
}

// Numbers of the features, the most important first.
export function byImportance() {
  return data.features.map((_, i) => i).sort((a, b) => data.importance[b] - data.importance[a]);
}

// One for each of up to eight lines.
export function lineColours() {
  return [colour("accent"), colour("second"), colour("third"), "#a06cd5", "#d19a1f", "#2aa3b8", "#d4589b", "#8a8f99"];
}
