// Single rows with what each feature added, the worst errors first.
import { element, showContributions } from "./bars.js";
import { byId, data, fillSelect, percent } from "./theme.js";
import { classifier, contributionsOf, describeValue, setRow } from "./whatif.js";

const className = (c) => (c < 0 ? "(not a class of the model)" : data.classes[c]);

function showRow(k) {
  const { codes, cells, truth, numbers } = data.examples;
  const probabilities = classifier.posterior(codes[k]);
  const [best, next] = classifier.mostProbable(codes[k]);
  const isWrong = truth !== null && truth[k] >= 0 && truth[k] !== best;
  const second = isWrong ? truth[k] : next;
  const told = truth === null ? "" : `, in truth ${className(truth[k])}`;
  byId("example-title").textContent = `Row ${numbers[k]}: ${data.classes[best]} (${percent(probabilities[best], 1)})${told}`;
  document.querySelectorAll("#example-list tr").forEach((line) => line.classList.toggle("is-chosen", Number(line.dataset.example) === k));
  byId("example-change").onclick = () => {
    setRow(codes[k], cells[k]);
    byId("whatif").scrollIntoView();
  };
  const values = byId("example-values");
  values.replaceChildren(...data.features.map((name, i) => {
    const line = element("tr");
    line.append(element("th", "", name), element("td", "", describeValue(i, codes[k][i], cells[k][i])));
    return line;
  }));
  if (classifier.combine === "probability" || data.classes.length < 2) return;
  byId("example-note").textContent = `Bars to the right speak for ${data.classes[best]}, bars to the left for ${data.classes[second]}.`;
  showContributions(byId("example-contributions"), contributionsOf(codes[k], best, second, cells[k]));
}

function addLine(k) {
  const { codes, truth, numbers } = data.examples;
  const probabilities = classifier.posterior(codes[k]);
  const [best] = classifier.mostProbable(codes[k]);
  const line = element("tr");
  line.dataset.example = k;
  const button = element("button", "link", String(numbers[k]));
  button.type = "button";
  button.setAttribute("aria-label", `Explain row ${numbers[k]}`);
  const cell = element("td");
  cell.append(button);
  line.append(cell);
  if (truth !== null) line.append(element("td", "", className(truth[k])));
  line.append(element("td", "", data.classes[best]), element("td", "number", percent(probabilities[best], 1)));
  if (truth !== null) line.append(element("td", "number", truth[k] < 0 ? "" : percent(probabilities[truth[k]], 1)));
  line.addEventListener("click", () => showRow(k));
  return line;
}

function showKind(kind) {
  const list = data.examples.kinds[kind];
  byId("example-list").replaceChildren(...list.map(addLine));
  byId("example-empty").hidden = list.length > 0;
  if (list.length) showRow(list[0]);
}

export function startExamples() {
  const kinds = Object.keys(data.examples.kinds);
  const heads = data.examples.truth === null ? ["Row", "Predicted", "Its probability"] : ["Row", "True", "Predicted", "Its probability", "Of the true class"];
  byId("example-head").replaceChildren(...heads.map((head) => element("th", "", head)));
  fillSelect(byId("example-kind"), kinds.map((kind) => [kind, kind]));
  byId("example-kind").addEventListener("change", (event) => showKind(event.target.value));
  const first = kinds.find((kind) => data.examples.kinds[kind].length);
  byId("example-kind").value = first;
  showKind(first);
}
