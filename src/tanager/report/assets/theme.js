// The data of the page, colours from the style sheet, and one way to draw a chart.
const data = JSON.parse(document.getElementById("report-data").textContent);
const byId = (id) => document.getElementById(id);
const drawers = [];

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function colourScale() {
  return [0, 1, 2, 3, 4].map((step) => [step / 4, colour(`scale-${step}`)]);
}

// Draw now, and again when the colours of the page change.
function drawAndFollow(draw) {
  drawers.push(draw);
  draw();
}

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawers.forEach((draw) => draw()));

// Names are data: plotly must not treat them as markup.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function short(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function ticks(labels, length = 16, most = 40) {
  const step = Math.ceil(labels.length / most);
  const shown = labels.map((label, k) => [k, plain(short(label, length))]).filter(([k]) => k % step === 0);
  return { tickmode: "array", tickvals: shown.map(([k]) => k), ticktext: shown.map(([, label]) => label), ticklabeloverflow: "allow" };
}

// Labels below columns are horizontal if they fit, otherwise slanted so that each ends at its column, and thinned out so
// that they do not overlap.
const SLANTED = 28; // pixels from one label to the next

function columnTicks(labels, width, length = 16, most = 24) {
  const found = ticks(labels, length, Math.max(Math.min(most, Math.floor(width / SLANTED)), 1));
  const longest = Math.max(...labels.map((label) => Math.min(label.length, length)));
  return { ...found, tickangle: longest * 7 * found.tickvals.length > width ? -40 : 0 };
}

function axis(extra) {
  const common = { gridcolor: colour("faint"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true };
  return { ...common, ...extra };
}

function plot(element, traces, layout, label) {
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

function unpack(text, bytes) {
  const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  if (bytes === 1) return { numbers: raw, top: 255 };
  const view = new DataView(raw.buffer);
  return { numbers: Uint16Array.from({ length: raw.length / 2 }, (_, k) => view.getUint16(2 * k, true)), top: 65535 };
}

function svgElement(name, attributes, parent) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.appendChild(element);
  return element;
}

function fillSelect(select, options) {
  select.replaceChildren(...options.map(([value, label]) => new Option(label, value)));
}

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
