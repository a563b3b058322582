// The what-if panel: values are set or left unknown, and the probabilities and contributions follow at once.
import { encodeCell } from "./cells.js";
import { Classifier } from "./classifier.js";
import { element, showContributions, showProbabilities } from "./bars.js";
import { byId, byImportance, data, fillSelect, percent } from "./theme.js";

const MOST_SETTINGS = 20; // shown before "all features" is asked for
const MOST_SHARES = 5;

export const classifier = data.classifier ? new Classifier({ ...data.classifier, features: data.features, classes: data.classes }) : null;

const setting = { codes: [], controls: [] };

function isNumeric(i) {
  return Boolean(classifier.columns[i].cuts);
}

// What the code of a feature stands for; for a number the number itself if it is known.
export function describeValue(i, code, cell) {
  if (code >= classifier.cards[i]) return cell === undefined || cell === null ? "unknown" : `${cell} (unknown)`;
  return isNumeric(i) && typeof cell === "number" ? shortNumber(cell) : data.values[i][code];
}

// Six digits of a number that is too long to read; the control has all of them.
function shortNumber(number) {
  const text = String(number);
  return text.length <= 10 ? text : String(Number(number.toPrecision(6)));
}

// Labels and contributions of the class prior and of all known features.
export function contributionsOf(codes, first, second, cells = []) {
  const contributions = classifier.contributions(codes, first, second);
  const known = data.features.map((_, i) => i).filter((i) => codes[i] < classifier.cards[i]);
  const prior = ["Start (class prior)", classifier.prior[first] - classifier.prior[second]];
  return [prior, ...known.map((i) => [`${data.features[i]}: ${describeValue(i, codes[i], cells[i])}`, contributions[i]])];
}

function numberControl(i) {
  const input = element("input");
  Object.assign(input, { type: "number", step: "any", placeholder: "unknown", id: `whatif-${i}` });
  input.addEventListener("input", () => {
    const number = input.value === "" ? undefined : Number(input.value);
    setValue(i, encodeCell(classifier.columns[i], number, data.features[i]));
  });
  const show = (code, cell) => { input.value = typeof cell === "number" && code < classifier.columns[i].missing ? cell : ""; };
  if (classifier.columns[i].missing === classifier.cards[i]) return { parts: [input], show };
  const button = element("button", "small", "missing");
  button.type = "button";
  button.addEventListener("click", () => {
    const isSet = button.getAttribute("aria-pressed") === "true";
    input.value = "";
    setValue(i, isSet ? classifier.cards[i] : classifier.columns[i].missing);
  });
  const press = (code) => button.setAttribute("aria-pressed", String(code === classifier.columns[i].missing));
  return { parts: [input, button], show, press };
}

function categoryControl(i) {
  const select = element("select");
  select.id = `whatif-${i}`;
  fillSelect(select, [[classifier.cards[i], "unknown"], ...data.values[i].map((label, code) => [code, label])]);
  select.addEventListener("change", () => setValue(i, Number(select.value)));
  return { parts: [select], show: (code) => { select.value = String(code); } };
}

function addSetting(i) {
  const made = element("div", "setting");
  made.dataset.feature = i;
  const label = element("label", "", data.features[i]);
  label.htmlFor = `whatif-${i}`;
  const control = isNumeric(i) ? numberControl(i) : categoryControl(i);
  const place = element("span", "control");
  place.append(...control.parts);
  const bin = element("small", "bin");
  made.append(label, place, bin);
  setting.controls[i] = { ...control, bin, element: made };
  byId("whatif-settings").append(made);
}

function setValue(i, code) {
  setting.codes[i] = code;
  setting.cells = undefined;
  markSetting(i);
  update();
}

function markSetting(i) {
  const { bin, press, element: line } = setting.controls[i];
  const code = setting.codes[i];
  line.classList.toggle("is-set", code < classifier.cards[i]);
  bin.textContent = isNumeric(i) && code < classifier.cards[i] ? data.values[i][code] : "";
  if (press) press(code);
}

function chosenPair() {
  const pair = [byId("whatif-first").value, byId("whatif-second").value].map(Number);
  return pair[0] >= 0 && pair[0] !== pair[1] ? pair : classifier.mostProbable(setting.codes);
}

function update() {
  const { codes } = setting;
  showProbabilities(byId("whatif-classes"), data.classes, classifier.posterior(codes));
  const nKnown = codes.filter((code, i) => code < classifier.cards[i]).length;
  byId("whatif-known").textContent = nKnown ? `${nKnown} of ${codes.length} values are known` : "all values are unknown";
  if (classifier.combine === "probability" || data.classes.length < 2) return;
  const [first, second] = chosenPair();
  byId("whatif-pair-text").textContent = `Bars to the right speak for ${data.classes[first]}, bars to the left for ${data.classes[second]}.`;
  showContributions(byId("whatif-contributions"), contributionsOf(codes, first, second, setting.cells));
}

// Set all values at once; cells are the numbers as they were given, if there are any.
export function setRow(codes, cells = []) {
  setting.codes = [...codes];
  setting.cells = cells;
  codes.forEach((code, i) => {
    setting.controls[i].show(code, cells[i]);
    markSetting(i);
  });
  update();
}

function filterSettings() {
  const text = byId("whatif-filter").value.trim().toLowerCase();
  const isAll = byId("whatif-all").checked;
  setting.order.forEach((i, place) => {
    const isFound = text ? data.features[i].toLowerCase().includes(text) : isAll || place < MOST_SETTINGS;
    setting.controls[i].element.hidden = !isFound;
  });
}

function mostFrequent() {
  const order = data.classes.map((_, c) => c).sort((a, b) => data.shares[b] - data.shares[a]);
  const shown = order.slice(0, MOST_SHARES).map((c) => `${data.classes[c]}: ${percent(data.shares[c], 1)}`);
  return shown.join(", ") + (order.length > MOST_SHARES ? ", ..." : "");
}

export function startWhatIf() {
  setting.order = byImportance();
  setting.order.forEach(addSetting);
  const names = data.classes.map((name, c) => [c, name]);
  const isPair = data.classes.length === 2;
  fillSelect(byId("whatif-first"), isPair ? names : [[-1, "(the most probable class)"], ...names]);
  fillSelect(byId("whatif-second"), isPair ? names : [[-1, "(the next)"], ...names]);
  byId("whatif-first").value = isPair ? "1" : "-1";
  byId("whatif-second").value = isPair ? "0" : "-1";
  byId("whatif-pair").hidden = classifier.combine === "probability" || data.classes.length < 2;
  byId("whatif-more").hidden = data.features.length <= MOST_SETTINGS;
  for (const id of ["whatif-first", "whatif-second"]) byId(id).addEventListener("change", update);
  byId("whatif-filter").addEventListener("input", filterSettings);
  byId("whatif-shares").textContent = `Frequencies of the classes in the data: ${mostFrequent()}`;
  byId("whatif-all").addEventListener("change", filterSettings);
  byId("whatif-clear").addEventListener("click", () => setRow(classifier.cards));
  filterSettings();
  const first = data.examples?.kinds["at random"][0];
  if (first === undefined) setRow(classifier.cards);
  else setRow(data.examples.codes[first], data.examples.cells[first]);
}
